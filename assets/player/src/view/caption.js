// What just happened, in one sentence, and why in another; spoken politely, not too often.
import { ceilingSentence, speedSentence } from "./header.js";
import { h, measure, put } from "./dom.js";
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
    const { version, width, projector } = this.player;
    const key = `${scene.place.beat}|${asks}|${version}|${width}|${projector}`;
    if (key === this.key) return;
    this.key = key;
    const { opening } = this.player;
    const { main, why } = opening
      ? { main: { key: "player.opening", params: { title: opening.title } }, why: null }
      : asks
      ? { main: { key: "player.caption.ask" }, why: { key: "player.caption.ask_why" } }
      : scene.caption;
    this.element.classList.toggle("asks", asks);
    put(this.main, sentence(this.player, main));
    put(this.why, why?.speed ? this.#speed() : why ? sentence(this.player, why) : "");
    const lines = this.#lines();
    this.element.classList.toggle("long", lines === 3);
    this.element.classList.toggle("longest", lines > 3);
    this.#speak();
  }

  /** How many lines both sentences need, from the widths of their words: no layout is forced. */
  #lines() {
    const { width, wide, projector } = this.player;
    const size = (projector ? 18 : 14) * (wide ? 1.14 : 1);
    const lines = (element, px) => {
      const chips = 12 * element.querySelectorAll(".tok").length;
      const words = measure(element.textContent, `${px}px system-ui, "DejaVu Sans", sans-serif`);
      return Math.ceil((words + chips) / Math.max(1, width - 4.4 * size - 20));
    };
    return lines(this.main, `680 ${size * 1.34}`) + lines(this.why, `400 ${size}`);
  }

  #speed() {
    return [speedSentence(this.player), ceilingSentence(this.player)].filter(Boolean).join(" ");
  }

  #speak() {
    clearTimeout(this.timer);
    if (this.player.lesson.on) return; // which has its own voice
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
