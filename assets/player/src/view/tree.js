// The painter of the stage: the draft tree of one step as SVG, built once per step.
import { discountOf, proposal } from "../facts.js";
import { plain } from "../text.js";
import { Branches } from "./branches.js";
import { Chips } from "./chip.js";
import { Beyond } from "./beyond.js";
import { h, put, s, text } from "./dom.js";
import { Pan } from "./pan.js";
import { faded, PAD, Placing } from "./placing.js";

const MARKS = { accepted: "✓", refused: "✗", passed: "–", discarded: "∅" };
const STATES = ["accepted", "refused", "passed", "bonus", "unreached", "discarded"];

/** The heading of a step's picture: beside another run only which run and step it is. */
export function headed({ strings, label }, step, words) {
  return label && step >= 0 ? strings.say("player.beside.heading", { name: label, step: step + 1 }) : words;
}

export class Tree {
  constructor(player) {
    this.player = player;
    this.heading = h("h3");
    this.note = h("span", { class: "pass" });
    this.canvas = s("g", { class: "canvas" });
    this.sweep = s("rect", { class: "sweep", rx: 6 });
    this.svg = s("svg", { class: "tree", role: "group" }, this.sweep, this.canvas);
    this.zoomBox = h("div", { class: "zoom", role: "group" });
    this.beyond = new Beyond(player);
    this.waiting = h("p", { class: "waiting", role: "status", hidden: true });
    this.box = h("div", { class: "stage" }, this.svg, this.beyond.elements, this.waiting);
    this.legend = h("ul", { class: "legend states" });
    this.element = h(
      "section",
      { class: "panel tree-panel" },
      h("div", { class: "panel-head" }, this.heading, this.note, this.zoomBox),
      this.box,
      h("div", { class: "tree-foot" }, this.legend),
    );
    this.size = { width: 520, height: 320 };
    this.key = "";
    this.chips = new Chips(player);
    this.placing = new Placing(player, this.chips);
    this.branches = new Branches(player, this.chips, this.canvas);
    this.pan = new Pan(this.svg, () => player.draw());
    this.#listen();
  }

  /** One set of listeners for all chips: they are rebuilt with every step. */
  #listen() {
    const over = (event) => {
      const g = event.target.closest?.(".chip");
      const id = g ? Number(g.getAttribute("data-node")) : null;
      return g && this.branches.parts.has(id) ? { g, id } : null;
    };
    const show = (event) => {
      const at = over(event);
      if (at && this.player.tooltip.owner !== at.g)
        this.player.tooltip.show(at.g, this.#tip(this.branches.parts.get(at.id).item));
    };
    const hide = (event) => {
      const at = over(event);
      if (at && !at.g.contains(event.relatedTarget)) this.player.tooltip.hide(at.g);
    };
    const choose = (event) => {
      const at = over(event);
      if (at && at.id >= 0) this.player.choose(at.id);
    };
    for (const name of ["pointerover", "focusin"]) this.svg.addEventListener(name, show);
    for (const name of ["pointerout", "focusout"]) this.svg.addEventListener(name, hide);
    this.svg.addEventListener("click", choose);
    this.svg.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      choose(event);
    });
  }

  refresh() {
    const { strings } = this.player;
    this.svg.setAttribute("aria-label", strings.say("player.tree_label"));
    this.zoomBox.setAttribute("aria-label", strings.say("player.zoom_label"));
    const zoom = (factor, sign, name) =>
      h(
        "button",
        {
          type: "button",
          title: strings.say(`player.zoom.${name}`),
          "aria-label": strings.say(`player.zoom.${name}`),
          onclick: () => this.pan.by(factor),
        },
        sign,
      );
    put(this.zoomBox, zoom(1.25, "+", "in"), zoom(0.8, "−", "out"), zoom(0, "⤢", "fit"));
    put(
      this.legend,
      STATES.map((state) =>
        h(
          "li",
          { class: `k-${state}` },
          h(
            "span",
            { class: "swatch", "aria-hidden": "true" },
            state === "bonus" ? "★" : (MARKS[state] ?? " "),
          ),
          strings.say(`player.state_short.${state}`),
        ),
      ),
    );
    this.key = "";
  }

  /** Forget cached layouts: another trace, size or type. */
  forget() {
    this.placing.forget();
    this.key = "";
    this.tall = 0;
  }

  resize(width, height) {
    // A phone's stage is as tall as its tree: its height is an answer, not a question.
    const taller = !this.player.narrow && Math.abs(height - this.size.height) >= 1;
    if (width < 20 || (Math.abs(width - this.size.width) < 1 && !taller)) return false;
    this.size = { width, height };
    this.forget();
    return true;
  }

  #tip(item) {
    const { strings, model } = this.player;
    const node = item.node;
    const full = plain(model.look(node.token));
    if (item.id < 0)
      return [
        full,
        strings.say("player.state.bonus"),
        strings.say("player.token_id", { id: node.token }),
      ];
    const scene = this.player.scene.tree.nodes[item.id];
    const lines = [full, strings.say(`player.state.${scene?.state ?? "drafted"}`)];
    if (item.id) {
      const source = `player.source.${node.source}`;
      lines.push(
        strings.has(source)
          ? strings.say("player.tip_source", { source: strings.say(source) })
          : node.source,
      );
      lines.push(...this.#proposed(item.id));
      if (node.score !== null)
        lines.push(strings.say("player.tip_score", { score: strings.prob(node.score) }));
      if (node.logp !== null && !["drafted", "hidden"].includes(scene?.state))
        lines.push(strings.say("player.tip_target", { p: strings.prob(Math.exp(node.logp)) }));
    }
    lines.push(strings.say("player.token_id", { id: node.token }));
    return lines;
  }

  /** Which levels of memory had a guess, with their weights, and what they say together. */
  #proposed(id) {
    const { strings, model, scene } = this.player;
    const step = model.decoder.steps[scene.place.step];
    const found = step && proposal(step, id);
    if (!found) return [];
    const share = strings.num(found.share, 2);
    const lines = found.levels.map(({ level, weight, p }) =>
      strings.say("player.tip_level", {
        level: strings.say(`player.badge.level${level}`),
        weight: strings.num(weight, 2),
        p: strings.prob(p),
      }),
    );
    lines.push(strings.say("player.tip_share", { share }));
    const discount = discountOf(model, scene.place.step, found.lookup, found.mine);
    if (discount !== null && Math.abs(discount - 1) >= 0.005)
      lines.push(strings.say("player.tip_discount", { discount: strings.num(discount, 2) }));
    return lines;
  }

  update(scene) {
    const { strings, model } = this.player;
    const { tree, place } = scene;
    this.svg.setAttribute("data-step", scene.step);
    this.svg.setAttribute("data-phase", place.phase);
    // A wave is drawn by its own painter, in the same place.
    this.element.hidden = Boolean(scene.wave);
    if (scene.wave) return;
    this.#wait(scene.live && !tree);
    if (!tree) {
      // Nothing of another run stays beside the words about this one.
      this.canvas.replaceChildren();
      text(this.note, "");
      this.sweep.style.display = "none";
      this.beyond.clear();
      this.key = "";
      const { opening } = this.player;
      const empty = opening ? "player.opening" : "player.stage_empty";
      text(this.heading, strings.say(model.decoder.header ? "player.stage_prefill" : empty, opening ?? {}));
      return;
    }
    const key = `${scene.run}|${tree.key}|${this.chips.font}`;
    const placed = this.placing.of(tree, this.size);
    if (key !== this.key) {
      this.key = key;
      this.branches.build(tree, placed);
      this.pan.rest();
      const staged = tree.nodes.length > 1 ? this.#staged() : "stage_none";
      const words = strings.say(`player.${place.step < 0 ? "stage_prefill" : staged}`, { step: place.step + 1 });
      text(this.heading, headed(this.player, place.step, words));
    }
    this.branches.show(scene);
    this.#fit(placed, scene);
    this.#pass(scene, placed);
    this.legend.lastChild.hidden = !tree.nodes.some((n) => n.state === "discarded");
  }

  /** Centre what fits; what does not is panned to where the walk stopped. */
  #fit(placed, scene) {
    const { width, height } = this.size;
    const at = placed.story;
    const k = this.pan.whole ? Math.min(placed.scale, placed.fit) : placed.scale * this.pan.zoom;
    const w = placed.w * k;
    const tall = placed.h * k;
    const along = (size, whole, centre) =>
      whole <= size - 2 * PAD
        ? (size - whole) / 2
        : clamp(size / 2 - centre * k, size - whole - PAD, PAD);
    let x =
      w <= width - 2 * PAD
        ? Math.min((width - w) / 2, width * 0.12)
        : Math.min(
            along(width, w, at.x + at.w / 2),
            Math.max(PAD - at.x * k, width - faded(this.player) - (at.x + at.w) * k),
          );
    let y = along(height, tall, at.y + at.h / 2);
    if (this.player.narrow) {
      x = PAD;
      y = PAD;
      // It only grows, so that what stands below does not jump from step to step.
      this.tall = Math.ceil(Math.max(this.tall, 240, tall + 2 * PAD + 10));
    }
    const style = this.player.narrow ? `${this.tall}px` : "";
    if (this.svg.style.height !== style) this.svg.style.height = style;
    // What is counted as out of view is what is drawn there, rounded alike.
    this.view = {
      x: +(x + this.pan.offset.x).toFixed(1),
      y: +(y + this.pan.offset.y).toFixed(1),
      k: +k.toFixed(4),
    };
    this.canvas.setAttribute(
      "transform",
      `translate(${this.view.x},${this.view.y}) scale(${this.view.k})`,
    );
    if (!this.player.narrow) this.beyond.show(placed, this.view, this.size, scene.tree);
    else this.beyond.clear();
  }

  /** A head's tree stands above its strip and has a shorter line of its own. */
  #staged() {
    return this.player.model.heads ? "sight.stage" : "stage";
  }

  #wait(on) {
    this.waiting.hidden = !on;
    const header = this.player.model.decoder.header;
    if (on)
      text(
        this.waiting,
        this.player.strings.say(header ? "player.waiting_for" : "player.waiting", {
          model: header?.model ?? "",
        }),
      );
  }

  /** The pass: a band that sweeps over all guesses at once. */
  #pass(scene, placed) {
    const { strings, model } = this.player;
    const { phase, fraction, step } = scene.place;
    const on = phase === "verify" && fraction < 1;
    this.sweep.style.display = on ? "" : "none";
    if (on) {
      this.sweep.setAttribute("x", (this.view.x - 8).toFixed(1));
      this.sweep.setAttribute("y", (this.view.y - 8).toFixed(1));
      this.sweep.setAttribute("width", (fraction * (placed.w * this.view.k + 16)).toFixed(1));
      this.sweep.setAttribute("height", (placed.h * this.view.k + 16).toFixed(1));
    }
    const step_ = model.decoder.steps[step];
    const n = scene.tree.nodes.length - 1;
    if (!step_) text(this.note, "");
    else if (phase === "draft")
      text(
        this.note,
        strings.say("player.phase.draft", { k: scene.place.at + 1, n: scene.place.of }),
      );
    else
      text(
        this.note,
        strings.say(`player.phase.${n ? phase : "own"}`, {
          n,
          time: strings.time(step_.seconds.verify),
        }),
      );
  }
}

const clamp = (v, low, high) => Math.min(Math.max(v, Math.min(low, high)), Math.max(low, high));
