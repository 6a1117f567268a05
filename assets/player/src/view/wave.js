// The stage of a draft that settles: rounds down, positions across, the full pass below.
import { h, put, text } from "./dom.js";
import { Cells } from "./cells.js";
import { headed } from "./tree.js";
import { confidence } from "../cividis.js";

const STATES = ["new", "changed", "same", "frozen"];
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export class Wave {
  constructor(player) {
    this.player = player;
    this.heading = h("h3");
    this.note = h("span", { class: "phase" });
    this.table = h("table", { class: "wave", role: "grid" });
    this.box = h("div", { class: "scroll wave-box", role: "group", tabindex: "0" }, this.table);
    this.legend = h("ul", { class: "legend states" });
    this.element = h(
      "section",
      { class: "panel wave-panel", hidden: true },
      h("div", { class: "panel-head" }, this.heading, this.note),
      this.box,
      h("div", { class: "tree-foot" }, this.legend),
    );
    this.cells = new Cells(player);
    this.size = { width: 700, height: 280 };
    this.key = "";
    this.#listen();
  }

  refresh() {
    const { strings } = this.player;
    const say = (key) => strings.say(`player.wave.${key}`);
    this.box.setAttribute("aria-label", say("label"));
    this.table.setAttribute("aria-label", say("label"));
    const sample = (name, sign = "") =>
      h("span", { class: `c sample ${name}`, "aria-hidden": "true" }, sign);
    const scale = h("span", { class: "scale", "aria-hidden": "true" });
    const stops = [0, 0.25, 0.5, 0.75, 1].map((p) => confidence(p).fill);
    const shades = stops.map((fill) => `color-mix(in srgb, ${fill} var(--strength), var(--bg))`);
    scale.style.setProperty("background", `linear-gradient(90deg, ${shades.join(", ")})`);
    put(
      this.legend,
      h("li", {}, "0", scale, "1 ", say("confidence")),
      STATES.map((s) => h("li", {}, sample(s), say(`state_short.${s}`))),
      h("li", {}, sample("same agree"), say("agrees")),
      h("li", {}, sample("same aged", "6"), say("age")),
    );
    this.key = "";
  }

  /** New events may tell what the final tokens are. */
  grow() {
    this.key = "";
  }

  resize(width, height) {
    const taller = !this.player.narrow && Math.abs(height - this.size.height) >= 1;
    if (width < 20 || (Math.abs(width - this.size.width) < 1 && !taller)) return false;
    this.size = { width, height };
    this.key = "";
    return true;
  }

  update(scene) {
    const { wave, place } = scene;
    this.element.hidden = !wave;
    if (!wave) {
      this.key = "";
      return;
    }
    const { strings, model, version, projector, narrow, wide } = this.player;
    const step = model.decoder.steps[place.step];
    const key = [scene.run, wave.key, version, projector, narrow, wide].join("|");
    if (key !== this.key) {
      this.key = key;
      this.cells.build(this.table, step, place.step, wave, scene.tree, this.size);
      text(
        this.heading,
        headed(
          this.player,
          place.step,
          strings.say(`player.wave.stage${wave.sequential ? "_guess" : ""}`, { step: place.step + 1 }),
        ),
      );
    }
    this.cells.show(scene);
    this.#note(step, wave, place);
  }

  #note(step, wave, { phase, at, of }) {
    const { strings } = this.player;
    const n = step.nodes.length - 1;
    const key = phase === "draft" || phase === "verify" || phase === "walk" ? phase : "emit";
    const name = wave.sequential && key !== "verify" && key !== "walk" ? `${key}_guess` : key;
    const rounds = step.evidence.rounds.length;
    const time = strings.time(step.seconds.verify);
    const params = { k: at + 1, of, n, rounds, time, depth: step.evidence.depth };
    text(this.note, strings.say(`player.wave.phase.${name}`, params));
  }

  /** One set of listeners for all cells; inside the grid the arrows go from cell to cell. */
  #listen() {
    const over = (event) => event.target.closest?.("td[data-at]");
    const show = (event) => {
      const cell = over(event);
      if (cell && this.player.tooltip.owner !== cell)
        this.player.tooltip.show(cell, this.cells.tip(cell));
    };
    const hide = (event) => {
      const cell = over(event);
      if (cell && !cell.contains(event.relatedTarget)) this.player.tooltip.hide(cell);
    };
    for (const name of ["pointerover", "focusin"]) this.table.addEventListener(name, show);
    for (const name of ["pointerout", "focusout"]) this.table.addEventListener(name, hide);
    const choose = (event) => {
      const cell = over(event);
      const node = cell ? +cell.getAttribute("data-at") + 1 : 0;
      if (node > 0 && node < this.player.scene.tree.nodes.length) this.player.choose(node);
    };
    this.table.addEventListener("click", choose);
    this.table.addEventListener("keydown", (event) => {
      const move = ARROWS[event.key];
      if (event.key === "Enter") choose(event);
      else if (!move || event.shiftKey || !over(event) || !this.cells.move(over(event), move)) return;
      event.preventDefault();
    });
  }
}
