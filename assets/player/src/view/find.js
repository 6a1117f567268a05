// Find a token in the run: a field in the panel of the answer, and marks over the scrub bar.
import { findToken } from "../find.js";
import { h, s, text } from "./dom.js";

const GLASS = "M7,2a5,5 0 1 0 0.01,0z M10.8,10.8L15.5,15.5";

export class Find {
  constructor(player) {
    this.player = player;
    this.all = [];
    this.found = []; // what the arrows go to: all, or only where it was written
    this.open = false;
    this.input = h("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    this.said = h("span", { class: "found", role: "status" });
    this.button = h(
      "button",
      { type: "button", class: "find-button", "data-act": "find", onclick: () => this.toggle() },
      s("svg", { class: "glass", viewBox: "0 0 17 17", width: 15, height: 15, "aria-hidden": "true" }, s("path", { d: GLASS })),
    );
    const go = (by, sign) => h("button", { type: "button", class: "hop", onclick: () => this.go(by) }, sign);
    this.goes = [go(-1, "◂"), go(1, "▸")];
    this.only = h("button", { type: "button", class: "only", "aria-pressed": "false", onclick: () => this.#keep() });
    this.element = h("div", { class: "find", role: "search", hidden: true }, this.input, this.goes, this.only, this.said);
    this.input.addEventListener("input", () => this.#search());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.go(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") this.toggle(false);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  refresh() {
    const { strings } = this.player;
    const name = strings.say("player.find.name");
    this.button.setAttribute("aria-label", name);
    this.button.title = `${name} (F)`;
    this.input.setAttribute("aria-label", name);
    this.input.placeholder = strings.say("player.find.hint");
    text(this.only, strings.say("player.find.only"));
    for (const [k, key] of ["back", "next"].entries()) this.goes[k].setAttribute("aria-label", strings.say(`player.find.${key}`));
    this.#search();
  }

  grow() {
    if (this.open) this.#search();
  }

  toggle(open = !this.open) {
    this.open = open;
    this.element.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    this.#search();
    if (open) this.input.focus();
    else this.player.element.focus({ preventScroll: true });
  }

  /** Leave out the steps that only guessed it, or take them in again. */
  #keep() {
    this.only.setAttribute("aria-pressed", String(!this.#written));
    this.#search();
  }

  get #written() {
    return this.only.getAttribute("aria-pressed") === "true";
  }

  #search() {
    this.all = this.open ? findToken(this.player.model, this.input.value) : [];
    this.found = this.#written ? this.all.filter((f) => f.kind === "written") : this.all;
    this.player.transport.overview.mark(this.found.map((f) => f.step));
    this.#tell(null);
  }

  /** The next place from the step that is shown, or the one before; round the end. */
  go(by) {
    const { found, player } = this;
    if (!found.length) return;
    const here = player.scene.place.step;
    const after = by > 0 ? found.find((f) => f.step > here) : found.findLast((f) => f.step < here);
    const to = after ?? found.at(by > 0 ? 0 : -1);
    player.seekStep(to.step);
    if (to.node !== null && !player.asks) player.choose(to.node);
    this.#tell(to);
  }

  /** How often it was found; or which of these places is shown. */
  #tell(at) {
    const { strings } = this.player;
    const { all, found } = this;
    const asked = this.open && this.input.value.trim() !== "";
    const wrote = all.filter((f) => f.kind === "written").length;
    const words = !asked
      ? ""
      : !all.length
        ? strings.say("player.find.none")
        : at
          ? strings.say(`player.find.${at.step < 0 ? "first" : at.kind}`, { k: found.indexOf(at) + 1, of: found.length, step: at.step + 1 })
          : strings.say("player.find.all", { wrote: strings.num(wrote), guessed: strings.num(all.length - wrote) });
    text(this.said, words);
    for (const go of this.goes) go.disabled = !found.length;
  }
}
