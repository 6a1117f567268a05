// A picture, large, over the player. Not modal: Tab goes on, Escape closes.
import { h, put } from "./dom.js";
import { named } from "../pictures.js";
import { choice } from "./pictures.js";

export class Lightbox {
  constructor(player) {
    this.player = player;
    this.element = h("div", { class: "help lightbox", role: "dialog", hidden: true, tabindex: "-1" });
  }

  refresh() {
    const { pictures } = this.player;
    if (!this.open) return;
    if (!pictures.all.length) {
      this.toggle(false);
      return;
    }
    this.#draw();
  }

  #draw() {
    const { strings, pictures } = this.player;
    const { all, current, at } = pictures;
    const title = strings.say(`player.picture.title${all.length > 1 ? "" : "_one"}`, { k: at + 1, of: all.length, name: named(current.name) });
    const held = this.element.getRootNode().activeElement;
    const value = this.element.contains(held) ? held.dataset.value : undefined;
    this.element.setAttribute("aria-label", title);
    put(
      this.element,
      h(
        "div",
        { class: "help-head" },
        h("h3", {}, title),
        h("button", { type: "button", class: "close", onclick: () => this.toggle(false) }, strings.say("player.help.close")),
      ),
      h(
        "div",
        { class: "picks" },
        all.length > 1
          ? choice(
              strings.say("player.picture.which"),
              all.map((_, i) => [i, strings.say("player.picture.number", { k: i + 1 })]),
              at,
              (i) => pictures.look(i),
            )
          : null,
        pictures.ways(true),
        pictures.probes(),
      ),
      h("div", { class: "frames large" }, pictures.figures(true)),
      h("p", { class: "line" }, pictures.sizes()),
      h("ul", { class: "notes" }, current.notes.map((note) => h("li", {}, note))),
    );
    if (value !== undefined) this.element.querySelector(`.seg[data-value="${value}"]`)?.focus();
  }

  get open() {
    return !this.element.hidden;
  }

  toggle(open = !this.open) {
    const { pictures } = this.player;
    if (open === this.open || (open && !pictures.all.length)) return;
    const root = this.element.getRootNode();
    if (open) this.back = root.activeElement?.dataset?.picture;
    this.element.hidden = !open;
    if (open) {
      this.#draw();
      this.element.focus();
      return;
    }
    // The thumbnail was drawn anew meanwhile.
    const thumb = pictures.element.querySelector(`[data-picture="${this.back}"]`);
    (thumb ?? this.player.element).focus({ preventScroll: true });
  }
}
