// What just happened, in one sentence, and why in another; spoken politely, not too often.
import { speedSentence } from "./header.js";
import { h, put } from "./dom.js";
import { sentence } from "./say.js";

const SPOKEN_EVERY = 4000;

export class Caption {
  constructor(player) {
    this.player = player;
    this.main = h("p", { class: "main" });
    this.why = h("p", { class: "why" });
    this.element = h("section", { class: "caption" }, this.main, this.why);
    this.voice = h("div", { class: "voice", "aria-live": "polite", "aria-atomic": "true" });
    this.key = "";
    this.spokenAt = 0;
    this.timer = 0;
  }

  update(scene) {
    const asks = this.player.asks;
    const key = `${scene.place.beat}|${asks}|${this.player.version}`;
    if (key === this.key) return;
    this.key = key;
    const { main, why } = asks
      ? { main: { key: "player.caption.ask" }, why: { key: "player.caption.ask_why" } }
      : scene.caption;
    this.element.classList.toggle("asks", asks);
    put(this.main, sentence(this.player, main));
    put(this.why, why?.speed ? speedSentence(this.player) : why ? sentence(this.player, why) : "");
    this.#speak();
  }

  #speak() {
    clearTimeout(this.timer);
    const wait = this.player.playing
      ? Math.max(300, this.spokenAt + SPOKEN_EVERY - performance.now())
      : 300;
    this.timer = setTimeout(() => {
      this.spokenAt = performance.now();
      put(this.voice, `${this.main.textContent} ${this.why.textContent}`);
    }, wait);
  }

  destroy() {
    clearTimeout(this.timer);
  }
}
