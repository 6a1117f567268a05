// The painter of the stage: the draft tree of one step as SVG, built once per step.
import { layout } from "../layout.js";
import { plain, shorten } from "../text.js";
import { h, measure, put, s, text } from "./dom.js";

const MONO = 'ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace';
const MARKS = { accepted: "✓", refused: "✗", discarded: "∅" };
// The marks as lines in a box of 10 x 10: text would cost a layout each.
const CHECK = "M1,5.4 L4,8.4 L9,1.8";
const CROSS = "M1.8,1.8 L8.2,8.2 M8.2,1.8 L1.8,8.2";
const PATHS = { accepted: CHECK, refused: CROSS, passed: CROSS, discarded: "M1.5,5 a3.5,3.5 0 1 0 7,0 a3.5,3.5 0 1 0 -7,0 M2,9 L8,1" };
const STATES = ["accepted", "refused", "bonus", "unreached", "discarded"];
const PAD = 12;

export class Tree {
  constructor(player) {
    this.player = player;
    this.heading = h("h3");
    this.note = h("span", { class: "pass" });
    this.canvas = s("g", { class: "canvas" });
    this.sweep = s("rect", { class: "sweep", rx: 6 });
    this.svg = s("svg", { class: "tree", role: "group" }, this.sweep, this.canvas);
    this.zoomBox = h("div", { class: "zoom", role: "group" });
    this.box = h("div", { class: "stage" }, this.svg);
    this.legend = h("ul", { class: "legend states" });
    this.element = h("section", { class: "panel tree-panel" },
      h("div", { class: "panel-head" }, this.heading, this.note), this.box,
      h("div", { class: "tree-foot" }, this.legend, this.zoomBox));
    this.size = { width: 520, height: 320 };
    this.key = "";
    this.layouts = new Map();
    this.zoom = 1;
    this.pan = { x: 0, y: 0 };
    this.#drag();
    this.#listen();
  }

  /** One set of listeners for all chips: they are rebuilt with every step. */
  #listen() {
    const over = (event) => {
      const g = event.target.closest?.(".chip");
      const id = g ? Number(g.getAttribute("data-node")) : null;
      return g && this.parts?.has(id) ? { g, id } : null;
    };
    const show = (event) => {
      const at = over(event);
      if (at && this.player.tooltip.owner !== at.g) this.player.tooltip.show(at.g, this.#tip(this.parts.get(at.id).item));
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
    const zoom = (factor, sign, name) => h("button", {
      type: "button", title: strings.say(`player.zoom.${name}`), "aria-label": strings.say(`player.zoom.${name}`),
      onclick: () => this.#zoomBy(factor),
    }, sign);
    put(this.zoomBox, zoom(1.25, "+", "in"), zoom(0.8, "−", "out"), zoom(0, "⤢", "fit"));
    put(this.legend, STATES.map((state) => h("li", { class: `k-${state}` },
      h("span", { class: "swatch", "aria-hidden": "true" }, state === "bonus" ? "★" : MARKS[state] ?? " "),
      strings.say(`player.state_short.${state}`))));
    this.key = "";
  }

  /** Forget cached layouts: another trace, size or type. */
  forget() {
    this.layouts.clear();
    this.key = "";
  }

  resize(width, height) {
    if (width < 20 || (Math.abs(width - this.size.width) < 1 && Math.abs(height - this.size.height) < 1)) return false;
    this.size = { width, height };
    this.forget();
    return true;
  }

  get #font() {
    return this.player.projector ? 24 : this.player.wide ? 16 : 14;
  }

  /** Badges and figures, as a share of the token's own type. */
  get #small() {
    return this.player.projector ? 0.75 : 0.66;
  }

  #items(tree) {
    const { model, strings } = this.player;
    const font = this.#font;
    const limit = tree.nodes.length > 40 ? 11 : 14;
    const items = tree.nodes.map((n) => {
      const pieces = shorten(model.look(n.token), limit);
      const badge = n.id ? strings.say(`player.badge.${n.source}`) : "";
      const shown = badge.startsWith("player.") ? "?" : badge;
      const cap = shown ? measure(shown, `700 ${font * this.#small}px ${MONO}`) + font * 0.5 : 0;
      const words = pieces.reduce((sum, p) => sum + this.#pieceWidth(p, font), 0);
      return { id: n.id, parent: n.parent < 0 ? null : n.parent, pieces, badge: shown, cap, words, width: cap + words + font * (n.id ? 1.55 : 1.2), node: n };
    });
    if (tree.bonus) {
      const pieces = shorten(model.look(tree.bonus.token), limit);
      const words = pieces.reduce((sum, p) => sum + this.#pieceWidth(p, font), 0);
      items.push({ id: -1, parent: tree.bonus.parent, pieces, badge: "★", cap: font * 1.3, words, width: words + font * 2.1, node: tree.bonus });
    }
    return items;
  }

  #pieceWidth(p, font) {
    if (p.kind === "space") return font * 0.62;
    const small = p.kind !== "text" && p.kind !== "special";
    return measure(p.shown, `600 ${small ? font * 0.8 : font}px ${MONO}`) + (p.kind === "hex" || p.kind === "control" ? font * 0.4 : 0);
  }

  #placed(tree) {
    const key = `${tree.key}|${this.player.model.units.length && tree.key === "prefill" ? "p" : ""}`;
    let found = this.layouts.get(key);
    if (!found) {
      const items = this.#items(tree);
      const phone = this.player.narrow;
      const font = this.#font;
      const dense = tree.nodes.length > 30;
      found = layout(items, new Set([...tree.walk, -1]), {
        width: this.size.width - 2 * PAD, height: this.size.height - 2 * PAD, font, least: this.player.projector ? 18 : 9.8,
        good: this.player.projector ? 22 : 12.5, rowRatio: phone ? 2.75 : dense ? 2.15 : 2.75, down: phone, most: tree.nodes.length < 4 ? 1.5 : 1.3,
      });
      found.items = items;
      // Layouts are small; a few hundred of them are kept, older ones go.
      if (this.layouts.size > 400) this.layouts.delete(this.layouts.keys().next().value);
      this.layouts.set(key, found);
    }
    return found;
  }

  #build(tree, placed) {
    // Many guesses leave no room for figures between the rows: the tooltip has them.
    this.crowded = tree.nodes.length > 30 || this.player.narrow;
    const edges = s("g", { class: "edges" });
    const chips = s("g", { class: "chips" });
    this.parts = new Map();
    this.bundles = [];
    const font = this.#font;
    for (const group of placed.groups)
      if (group.w) this.bundles.push({ ids: group.ids, rect: s("rect", { class: "bundle", x: group.x - 3, y: group.y - 3, width: group.w + 6, height: group.h + 6, rx: font * 0.6 }) });
    chips.append(...this.bundles.map((b) => b.rect));
    const second = new Set(placed.groups.flatMap((g) => g.ids.slice(1)));
    for (const item of placed.items) {
      const box = placed.boxes.get(item.id);
      let edge = null;
      if (item.parent !== null && !second.has(item.id)) {
        edge = s("path", { d: curve(placed.boxes.get(item.parent), box, this.player.narrow, font) });
        edges.append(edge);
      }
      const chip = this.#chip(item, box, font);
      chips.append(chip.g);
      this.parts.set(item.id, { ...chip, edge, item, box });
    }
    this.ring = s("rect", { class: "ring", rx: font * 0.68 });
    this.canvas.replaceChildren(edges, this.ring, chips);
  }

  #chip(item, box, font) {
    const r = font * 0.5;
    const size = font * 0.062;
    const mark = item.id > 0 ? s("path", { class: "mark", transform: `translate(${(box.w - font * 0.92).toFixed(1)},${((box.h - font * 0.62) / 2).toFixed(1)}) scale(${size.toFixed(3)})` }) : null;
    const label = this.#label(item, box, font);
    const cap = item.cap ? s("path", { class: "cap", d: `M${r},0 h${item.cap - r} v${box.h} h${-(item.cap - r)} q${-r},0 ${-r},${-r} v${-(box.h - 2 * r)} q0,${-r} ${r},${-r} z` }) : null;
    const g = s("g", { class: "chip", transform: `translate(${box.x.toFixed(1)},${box.y.toFixed(1)})`, "data-node": item.id, tabindex: item.id >= 0 ? "-1" : null, role: item.id >= 0 ? "button" : "img" },
      s("rect", { class: "body", width: box.w, height: box.h, rx: r }), cap, label, mark);
    return { g, mark };
  }

  /** The pieces side by side; a blank is drawn, since few fonts hold a sign for it. */
  #label(item, box, font) {
    const y = box.h / 2 + font * 0.35;
    let x = item.cap + font * (item.cap ? 0.34 : 0.6);
    const spans = [];
    const blanks = [];
    for (const p of item.pieces) {
      const width = this.#pieceWidth(p, font);
      const small = p.kind !== "text" && p.kind !== "special";
      spans.push(s("tspan", { x: x.toFixed(1), class: `label ${p.kind}`, "font-size": small ? font * 0.8 : font }, p.shown));
      if (p.kind === "space") blanks.push(`M${(x + 1).toFixed(1)},${(y - font * 0.16).toFixed(1)}v${font * 0.2}h${(width - 3).toFixed(1)}v${-font * 0.2}`);
      x += width;
    }
    if (item.cap) spans.push(s("tspan", { class: "from-level", x: item.cap / 2, y: (box.h / 2 + font * (item.id < 0 ? 0.36 : 0.24)).toFixed(1), "font-size": item.id < 0 ? font : font * this.#small }, item.badge));
    const { score } = item.node;
    if (score !== null && score !== undefined && !this.crowded)
      spans.push(s("tspan", { class: "score", x: box.w - 2, y: box.h + font * 0.72, "font-size": font * this.#small }, this.player.strings.prob(score)));
    const text = s("text", { y, "font-size": font }, spans);
    return blanks.length ? s("g", {}, text, s("path", { class: "blank", d: blanks.join("") })) : text;
  }

  #tip(item) {
    const { strings, model } = this.player;
    const node = item.node;
    const full = plain(model.look(node.token));
    if (item.id < 0) return [full, strings.say("player.state.bonus"), strings.say("player.token_id", { id: node.token })];
    const scene = this.player.scene.tree.nodes[item.id];
    const lines = [full, strings.say(`player.state.${scene?.state ?? "drafted"}`)];
    if (item.id) {
      const source = `player.source.${node.source}`;
      lines.push(strings.has(source) ? strings.say("player.tip_source", { source: strings.say(source) }) : node.source);
      if (node.score !== null) lines.push(strings.say("player.tip_score", { score: strings.prob(node.score) }));
      if (node.logp !== null && !["drafted", "hidden"].includes(scene?.state)) lines.push(strings.say("player.tip_target", { p: strings.prob(Math.exp(node.logp)) }));
    }
    lines.push(strings.say("player.token_id", { id: node.token }));
    return lines;
  }

  update(scene) {
    const { strings } = this.player;
    const { tree, place } = scene;
    this.svg.setAttribute("data-step", scene.step);
    this.svg.setAttribute("data-phase", place.phase);
    if (!tree) {
      this.canvas.replaceChildren();
      this.key = "";
      text(this.heading, strings.say("player.stage_empty"));
      return;
    }
    const key = `${scene.run}|${tree.key}|${this.#font}`;
    const placed = this.#placed(tree);
    if (key !== this.key) {
      this.key = key;
      this.#build(tree, placed);
      this.pan = { x: 0, y: 0 };
      this.states = new Map();
      this.focused = null;
      text(this.heading, place.step < 0 ? strings.say("player.stage_prefill")
        : strings.say(tree.nodes.length > 1 ? "player.stage" : "player.stage_none", { step: place.step + 1 }));
    }
    this.#states(scene, tree);
    this.#fit(placed, scene);
    this.#pass(scene, placed);
    this.legend.lastChild.hidden = !tree.nodes.some((n) => n.state === "discarded");
  }

  #states(scene, tree) {
    const { strings, model } = this.player;
    for (const node of tree.nodes) this.#state(node.id, node.state, node.fresh, node.token, strings, model);
    for (const { ids, rect } of this.bundles) rect.style.display = ids.every((id) => tree.nodes[id].state === "hidden") ? "none" : "";
    if (tree.bonus) this.#state(-1, tree.bonus.shown ? "bonus" : "hidden", 1, tree.bonus.token, strings, model);
    if (this.focused !== scene.focus) {
      const part = this.parts.get(this.focused);
      part?.g.classList.remove("focus");
      part?.g.setAttribute("tabindex", "-1");
      const now = this.parts.get(scene.focus);
      now?.g.classList.add("focus");
      now?.g.setAttribute("tabindex", "0");
      this.focused = scene.focus;
      const { x, y, w, h: tall } = now?.box ?? { x: 0, y: 0, w: 0, h: 0 };
      for (const [name, value] of [["x", x - 4], ["y", y - 4], ["width", w + 8], ["height", tall + 8]]) this.ring.setAttribute(name, value.toFixed(1));
    }
  }

  #state(id, state, fresh, token, strings, model) {
    const part = this.parts.get(id);
    if (!part) return;
    if (this.states.get(id) !== state) {
      this.states.set(id, state);
      const source = id < 0 ? "bonus" : part.item.node.source;
      part.g.setAttribute("class", `chip ${state} o-${source}${id === this.focused ? " focus" : ""}`);
      part.edge?.setAttribute("class", `edge ${state} o-${source}`);
      part.mark?.setAttribute("d", PATHS[state] ?? "");
      part.g.setAttribute("aria-label", strings.say("player.chip_label", { token: plain(model.look(token)), state: strings.say(`player.state.${state === "hidden" ? "drafted" : state}`) }));
    }
    const opacity = state !== "hidden" && fresh < 1 ? (0.15 + 0.85 * fresh).toFixed(2) : null;
    if (opacity === null && !part.faded) return;
    part.faded = opacity !== null;
    for (const element of [part.g, part.edge])
      if (opacity === null) element?.removeAttribute("opacity");
      else element?.setAttribute("opacity", opacity);
  }

  /** Centre what fits; what does not is panned to where the walk stopped. */
  #fit(placed, scene) {
    const { width, height } = this.size;
    const k = placed.scale * this.zoom;
    const w = placed.w * k;
    const tall = placed.h * k;
    const at = placed.boxes.get(scene.tree.end) ?? { x: 0, y: 0, w: 0, h: 0 };
    const along = (size, whole, centre) => whole <= size - 2 * PAD ? (size - whole) / 2 : clamp(size / 2 - centre * k, size - whole - PAD, PAD);
    let x = w <= width - 2 * PAD ? Math.min((width - w) / 2, width * 0.12) : along(width, w, at.x + at.w / 2);
    let y = along(height, tall, at.y + at.h / 2);
    if (this.player.narrow) {
      x = PAD;
      y = PAD;
      const need = Math.ceil(Math.max(this.size.height, tall + 2 * PAD + 10));
      if (this.tall !== need) {
        this.tall = need;
        this.svg.style.height = `${need}px`;
      }
      if (this.fitted !== this.key) this.box.scrollTop = Math.max(0, (at.y + at.h) * k - this.size.height * 0.6);
    } else if (this.tall) {
      this.tall = 0;
      this.svg.style.height = "";
    }
    this.fitted = this.key;
    this.view = { x: x + this.pan.x, y: y + this.pan.y, k };
    this.canvas.setAttribute("transform", `translate(${this.view.x.toFixed(1)},${this.view.y.toFixed(1)}) scale(${k.toFixed(3)})`);
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
    else if (phase === "draft") text(this.note, strings.say("player.phase.draft", { k: scene.place.at + 1, n: scene.place.of }));
    else text(this.note, strings.say(`player.phase.${n ? phase : "own"}`, { n, time: strings.time(step_.seconds.verify) }));
  }

  #zoomBy(factor) {
    this.zoom = factor ? clamp(this.zoom * factor, 0.3, 4) : 1;
    this.pan = { x: 0, y: 0 };
    this.player.draw();
  }

  #drag() {
    let from = null;
    this.svg.addEventListener("pointerdown", (e) => {
      if (e.pointerType !== "touch" && !e.target.closest(".chip")) {
        from = { x: e.clientX - this.pan.x, y: e.clientY - this.pan.y };
        this.svg.setPointerCapture(e.pointerId);
      }
    });
    this.svg.addEventListener("pointermove", (e) => {
      if (!from) return;
      this.pan = { x: e.clientX - from.x, y: e.clientY - from.y };
      this.player.draw();
    });
    for (const end of ["pointerup", "pointercancel"]) this.svg.addEventListener(end, () => (from = null));
    this.svg.addEventListener("wheel", (e) => {
      // A plain wheel scrolls the page; with Ctrl it zooms, as maps do.
      if (!e.ctrlKey) return;
      e.preventDefault();
      this.#zoomBy(e.deltaY < 0 ? 1.1 : 0.9);
    }, { passive: false });
  }
}

const clamp = (v, low, high) => Math.min(Math.max(v, Math.min(low, high)), Math.max(low, high));

function curve(from, to, narrow, font) {
  const y2 = to.y + to.h / 2;
  if (narrow && to.y > from.y + 1) {
    // Down from the parent, along the gap under its row, then down to the child's row.
    const x = to.x - font * 0.6;
    const low = from.y + from.h + font * 0.35;
    return `M${from.x + Math.min(from.w / 2, font * 2)},${from.y + from.h} V${low} H${x} V${y2 - 5} Q${x},${y2} ${x + 5},${y2} H${to.x}`;
  }
  const x1 = from.x + from.w;
  const y1 = from.y + from.h / 2;
  const bend = Math.max(6, (to.x - x1) * 0.55);
  return `M${x1},${y1} C${x1 + bend},${y1} ${to.x - bend},${y2} ${to.x},${y2}`;
}
