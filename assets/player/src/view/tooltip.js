// One tooltip for everything: glossary terms, tokens, blocks. Texts only.
import { h, put } from "./dom.js";

export class Tooltip {
  constructor(player) {
    this.player = player;
    this.element = h("div", { class: "tip", role: "tooltip", id: "tip", hidden: true });
    this.owner = null;
  }

  show(owner, lines) {
    this.owner?.removeAttribute?.("aria-describedby");
    this.owner = owner;
    put(
      this.element,
      lines.filter(Boolean).map((line, k) => h("div", { class: k ? "more" : "first" }, line)),
    );
    this.element.hidden = false;
    owner.setAttribute("aria-describedby", "tip");
    const frame = this.player.element.getBoundingClientRect();
    const at = owner.getBoundingClientRect();
    const tip = this.element.getBoundingClientRect();
    const left = Math.min(
      Math.max(8, at.left - frame.left),
      Math.max(8, frame.width - tip.width - 8),
    );
    const below = at.bottom - frame.top + 6;
    const top =
      below + tip.height > frame.height ? Math.max(4, at.top - frame.top - tip.height - 6) : below;
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  hide(owner = this.owner) {
    if (!this.owner || owner !== this.owner) return;
    this.owner.removeAttribute("aria-describedby");
    this.owner = null;
    this.element.hidden = true;
  }

  get open() {
    return this.owner !== null;
  }

  /** Show `lines()` while `element` is pointed at or has the focus. */
  attach(element, lines) {
    const show = () => this.show(element, lines());
    element.addEventListener("pointerenter", show);
    element.addEventListener("focus", show);
    element.addEventListener("click", show);
    element.addEventListener("pointerleave", () => this.hide(element));
    element.addEventListener("blur", () => this.hide(element));
    return element;
  }
}

/** A word of the glossary: a button that tells its definition. */
export function term(player, name, label, more = () => []) {
  const button = h("button", { type: "button", class: "term" }, label);
  return player.tooltip.attach(button, () => [
    player.strings.say(`player.term.${name}`),
    player.strings.say(`player.define.${name}`),
    ...more(),
  ]);
}
