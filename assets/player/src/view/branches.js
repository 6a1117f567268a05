// The drawn tree of one step: chips, edges, bundles; and what state they are in.
import { plain } from "../text.js";
import { s } from "./dom.js";

// What was not written fades while the rest flows into the text; stopped there, all is to be read.
const FADED = 0.28;

// The marks as lines in a box of 10 x 10: text would cost a layout each.
const CHECK = "M1,5.4 L4,8.4 L9,1.8";
const CROSS = "M1.8,1.8 L8.2,8.2 M8.2,1.8 L1.8,8.2";
const DASH = "M2.5,5 L7.5,5";
const CIRCLE = "M1.5,5 a3.5,3.5 0 1 0 7,0 a3.5,3.5 0 1 0 -7,0 M2,9 L8,1";
const PATHS = { accepted: CHECK, refused: CROSS, passed: DASH, discarded: CIRCLE };

export class Branches {
  constructor(player, chips, canvas) {
    this.player = player;
    this.chips = chips;
    this.canvas = canvas;
    this.parts = new Map();
    this.bundles = [];
    this.choices = [];
  }

  /** Build the elements of a tree in their boxes; all hidden until `show`. */
  build(tree, placed) {
    const { player } = this;
    const { chips: painter } = this;
    // Close rows leave no room for figures between them: the tooltip has them.
    const crowded = placed.dense || player.narrow;
    const edges = s("g", { class: "edges" });
    const chips = s("g", { class: "chips" });
    this.parts = new Map();
    this.states = new Map();
    this.focused = null;
    this.bundles = [];
    const font = painter.font;
    for (const group of placed.groups)
      if (group.w)
        this.bundles.push({
          ids: group.ids,
          rect: s("rect", {
            class: "bundle",
            x: group.x - 3,
            y: group.y - 3,
            width: group.w + 6,
            height: group.h + 6,
            rx: font * 0.6,
          }),
        });
    this.choices = placed.groups.flatMap(({ ids }) => this.#choices(ids, placed.boxes));
    chips.append(...this.bundles.map((b) => b.rect), ...this.choices.map((c) => c.path));
    const second = new Set(placed.groups.flatMap((g) => g.ids.slice(1)));
    for (const item of placed.items) {
      const box = placed.boxes.get(item.id);
      let edge = null;
      if (item.parent !== null && !second.has(item.id)) {
        edge = s("path", { d: curve(placed.boxes.get(item.parent), box, placed.lines, font) });
        edges.append(edge);
      }
      const chip = painter.draw(item, box, crowded, painter.small(placed.scale));
      chips.append(chip.g);
      this.parts.set(item.id, { ...chip, edge, item, box, shown: 1, asked: false });
    }
    this.ring = s("rect", { class: "ring", rx: font * 0.68 });
    this.pulse = s("path", { class: "pulse", pathLength: 1 });
    this.pulse.style.display = "none";
    this.width = placed.w;
    this.canvas.replaceChildren(edges, this.pulse, this.ring, chips);
  }

  /** Strokes between siblings in one row: one of them may come next, they do not follow each other. */
  #choices(ids, boxes) {
    return ids.slice(1).flatMap((id, k) => {
      const before = boxes.get(ids[k]);
      const { x, y, h } = boxes.get(id);
      if (before.y !== y) return [];
      const at = (before.x + before.w + x) / 2;
      const d = `M${at - h * 0.1},${y + h * 0.78} L${at + h * 0.1},${y + h * 0.22}`;
      return [{ id, path: s("path", { class: "or", d }) }];
    });
  }

  /** Give every node the state it has in the scene. */
  show(scene) {
    const { tree } = scene;
    const { strings, model } = this.player;
    // The pass reads all guesses at once; the band that stands for it reaches them one by one.
    const swept = tree.verify > 0 && tree.verify < 1 ? tree.verify * (this.width + 16) - 8 : null;
    const fade = tree.flight === null ? 1 : 1 - (1 - FADED) * Math.min(1, 2 * tree.flight);
    for (const node of tree.nodes) {
      const part = this.parts.get(node.id);
      if (!part) continue;
      this.#state(node.id, node.state, node.token, strings, model);
      const stays = node.id === 0 || node.state === "accepted";
      this.#motion(part, node.state === "hidden" ? 1 : node.fresh, stays ? 1 : fade);
      this.#asked(part, swept !== null && part.box.x + part.box.w / 2 <= swept);
    }
    for (const { ids, rect } of this.bundles)
      rect.style.display = ids.every((id) => tree.nodes[id].state === "hidden") ? "none" : "";
    for (const { id, path } of this.choices)
      path.style.display = tree.nodes[id].state === "hidden" ? "none" : "";
    if (tree.bonus && this.parts.has(-1))
      this.#state(-1, tree.bonus.shown ? "bonus" : "hidden", tree.bonus.token, strings, model);
    this.#along(tree.pulse);
    this.#focus(scene.focus);
  }

  /** A new guess comes out of its parent: it moves from there, and its edge is drawn behind it. */
  #motion(part, fresh, fade) {
    const shown = fresh * fade;
    if (shown === 1 && part.shown === 1) return;
    if (part.shown === shown) return;
    part.shown = shown;
    const { box, edge, g } = part;
    const from = this.parts.get(part.item.parent)?.box;
    const back = from && fresh < 1 ? (1 - fresh) * (1 - fresh) : 0;
    const x = box.x - back * (from ? box.x - from.x : 0);
    const y = box.y - back * (from ? box.y - from.y : 0);
    g.setAttribute("transform", `translate(${x.toFixed(1)},${y.toFixed(1)})`);
    const opacity = fresh < 1 ? 0.15 + 0.85 * fresh : fade;
    for (const element of [g, edge])
      if (opacity === 1) element?.removeAttribute("opacity");
      else element?.setAttribute("opacity", opacity.toFixed(2));
  }

  #asked(part, on) {
    if (Boolean(part.asked) === on) return;
    part.asked = on;
    part.g.classList.toggle("asked", on);
  }

  /** The walk goes along an edge: a stroke that grows from the parent to the guess it takes. */
  #along(pulse) {
    const edge = pulse && this.parts.get(pulse.to)?.edge;
    const on = Boolean(edge) && pulse.share < 1;
    this.pulse.style.display = on ? "" : "none";
    if (!on) return;
    if (this.runs !== edge) this.pulse.setAttribute("d", edge.getAttribute("d"));
    this.runs = edge;
    this.pulse.setAttribute("class", pulse.own ? "pulse own" : "pulse");
    this.pulse.setAttribute("stroke-dasharray", `${pulse.share.toFixed(3)} 1`);
  }

  #focus(id) {
    if (this.focused !== id) {
      const part = this.parts.get(this.focused);
      part?.g.classList.remove("focus");
      part?.g.setAttribute("tabindex", "-1");
      const now = this.parts.get(id);
      now?.g.classList.add("focus");
      now?.g.setAttribute("tabindex", "0");
      this.focused = id;
      const { x, y, w, h: tall } = now?.box ?? { x: 0, y: 0, w: 0, h: 0 };
      for (const [name, value] of [
        ["x", x - 4],
        ["y", y - 4],
        ["width", w + 8],
        ["height", tall + 8],
      ])
        this.ring.setAttribute(name, value.toFixed(1));
    }
  }

  #state(id, state, token, strings, model) {
    const part = this.parts.get(id);
    if (!part) return;
    if (this.states.get(id) !== state) {
      this.states.set(id, state);
      const source = id < 0 ? "bonus" : part.item.node.source;
      part.g.setAttribute(
        "class",
        `chip ${state} o-${source}${id === this.focused ? " focus" : ""}${part.asked ? " asked" : ""}`,
      );
      part.edge?.setAttribute("class", `edge ${state} o-${source}`);
      part.mark?.setAttribute("d", PATHS[state] ?? "");
      part.g.setAttribute(
        "aria-label",
        strings.say("player.chip_label", {
          token: plain(model.look(token)),
          state: strings.say(`player.state.${state === "hidden" ? "drafted" : state}`),
        }),
      );
    }
  }
}

function curve(from, to, lines, font) {
  const y2 = to.y + to.h / 2;
  if (lines && to.y > from.y + 1) {
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
