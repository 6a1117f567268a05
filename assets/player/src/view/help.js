// Keys, signs and words, over the player. Not modal: Tab goes on, Escape closes.
import { h, put } from "./dom.js";
import { SOURCES } from "./text.js";

const KEYS = [
  "space",
  "event",
  "step",
  "ends",
  "reject",
  "accept",
  "loop",
  "reveal",
  "node",
  "inside",
  "expert",
  "projector",
  "picture",
  "find",
  "pair",
  "share",
  "help",
];
const STATES = ["accepted", "refused", "passed", "bonus", "unreached", "discarded"];
const TERMS = [
  "overview",
  "tau",
  "acceptance",
  "speedup_decode",
  "ceiling",
  "rows",
  "passes",
  "prefill",
  "blocks",
  "level",
  "base",
  "sure",
  "weight",
  "share",
  "score",
  "written",
  "mixed",
  "coverage",
  "margin",
  "age",
  "prefix_depth",
  "depends",
  "applications",
];

export class Help {
  constructor(player) {
    this.player = player;
    this.element = h("div", { class: "help", role: "dialog", hidden: true, tabindex: "-1" });
  }

  refresh() {
    const { strings } = this.player;
    const say = (key) => strings.say(`player.${key}`);
    this.element.setAttribute("aria-label", say("help.title"));
    const pairs = (items) =>
      h("dl", {}, items.map(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]).flat());
    put(
      this.element,
      h(
        "div",
        { class: "help-head" },
        h("h3", {}, say("help.title")),
        h(
          "button",
          { type: "button", class: "close", onclick: () => this.toggle(false) },
          say("help.close"),
        ),
      ),
      h(
        "div",
        { class: "help-grid" },
        h(
          "div",
          {},
          h("h4", {}, say("help.keys")),
          pairs(KEYS.map((k) => [say(`keys.${k}.name`), say(`keys.${k}.does`)])),
        ),
        h(
          "div",
          {},
          h("h4", {}, say("help.signs")),
          h(
            "ul",
            { class: "legend states column" },
            STATES.map((state) =>
              h(
                "li",
                { class: `k-${state}` },
                h(
                  "span",
                  { class: "swatch", "aria-hidden": "true" },
                  { accepted: "✓", refused: "✗", passed: "–", bonus: "★", discarded: "∅" }[state] ?? " ",
                ),
                `${say(`state.${state}`)}: ${say(`state_why.${state}`)}`,
              ),
            ),
          ),
          h(
            "ul",
            { class: "legend origins column" },
            [...SOURCES.filter((o) => o !== "lookup"), "bonus", "own"].map((o) =>
              h(
                "li",
                {},
                h(
                  "span",
                  { class: `t sample o-${o}`, "aria-hidden": "true" },
                  strings.has(`player.badge.${o}`) ? say(`badge.${o}`) : "abc",
                ),
                " ",
                say(`origin.${o}`),
              ),
            ),
          ),
        ),
        h(
          "div",
          {},
          h("h4", {}, say("help.words")),
          pairs(TERMS.map((t) => [say(`term.${t}`), say(`define.${t}`)])),
        ),
      ),
    );
  }

  get open() {
    return !this.element.hidden;
  }

  toggle(open = !this.open) {
    if (open === this.open) return;
    const root = this.element.getRootNode();
    if (open) this.back = root.activeElement;
    this.element.hidden = !open;
    if (open) this.element.focus();
    else (this.back ?? this.player.element).focus();
  }
}
