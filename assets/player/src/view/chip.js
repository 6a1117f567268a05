// One node of the tree as a chip: badge of its origin, token, mark, score.
import { shorten } from "../text.js";
import { measure, s } from "./dom.js";

const MONO = 'ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace';

// A larger figure would touch the row below.
const SCORE_FITS = 0.82;

export class Chips {
  constructor(player) {
    this.player = player;
  }

  get font() {
    return this.player.projector ? 24 : this.player.wide ? 16 : 14;
  }

  /** Badges and figures, as a share of the token's own type, to be read at the scale `k`. */
  small(k) {
    const least = (this.player.projector ? 12 : 9) / (this.font * k);
    return Math.min(0.95, Math.max(this.player.projector ? 0.75 : 0.66, least));
  }

  /** What the layout needs to know of every node, the bonus token last. */
  items(tree, k = 1, most = null) {
    const { model, strings } = this.player;
    const font = this.font;
    const badgeType = `700 ${font * this.small(k)}px ${MONO}`;
    const limit = most ?? (tree.nodes.length > 40 ? 11 : 14);
    const items = tree.nodes.map((n) => {
      const pieces = shorten(model.look(n.token), limit);
      const badge = n.id ? strings.say(`player.badge.${n.source}`) : "";
      const shown = badge.startsWith("player.") ? "?" : badge;
      const cap = shown ? measure(shown, badgeType) + font * 0.5 : 0;
      const words = pieces.reduce((sum, p) => sum + this.#pieceWidth(p, font), 0);
      return {
        id: n.id,
        parent: n.parent < 0 ? null : n.parent,
        pieces,
        badge: shown,
        cap,
        words,
        width: cap + words + font * (n.id ? 1.55 : 1.2),
        node: n,
      };
    });
    if (tree.bonus) {
      const pieces = shorten(model.look(tree.bonus.token), limit);
      const words = pieces.reduce((sum, p) => sum + this.#pieceWidth(p, font), 0);
      items.push({
        id: -1,
        parent: tree.bonus.parent,
        pieces,
        badge: "★",
        cap: font * 1.3,
        words,
        width: words + font * 2.1,
        node: tree.bonus,
      });
    }
    return items;
  }

  #pieceWidth(p, font) {
    if (p.kind === "space") return font * 0.62;
    const small = p.kind !== "text" && p.kind !== "special";
    return (
      measure(p.shown, `600 ${small ? font * 0.8 : font}px ${MONO}`) +
      (p.kind === "hex" || p.kind === "control" ? font * 0.4 : 0)
    );
  }

  /** The elements of one node: {g, mark}. `crowded` leaves its figures to the tooltip. */
  draw(item, box, crowded, small) {
    const { font } = this;
    const r = font * 0.5;
    const size = font * 0.062;
    const mark =
      item.id > 0
        ? s("path", {
            class: "mark",
            transform: `translate(${(box.w - font * 0.92).toFixed(1)},${((box.h - font * 0.62) / 2).toFixed(1)}) scale(${size.toFixed(3)})`,
          })
        : null;
    const label = this.#label(item, box, crowded, small);
    const cap = item.cap
      ? s("path", {
          class: "cap",
          d: `M${r},0 h${item.cap - r} v${box.h} h${-(item.cap - r)} q${-r},0 ${-r},${-r} v${-(box.h - 2 * r)} q0,${-r} ${r},${-r} z`,
        })
      : null;
    const g = s(
      "g",
      {
        class: "chip",
        transform: `translate(${box.x.toFixed(1)},${box.y.toFixed(1)})`,
        "data-node": item.id,
        tabindex: item.id >= 0 ? "-1" : null,
        role: item.id >= 0 ? "button" : "img",
      },
      s("rect", { class: "body", width: box.w, height: box.h, rx: r }),
      cap,
      label,
      mark,
    );
    return { g, mark };
  }

  /** The pieces side by side; a blank is drawn, since few fonts hold a sign for it. */
  #label(item, box, crowded, small) {
    const { font } = this;
    const y = box.h / 2 + font * 0.35;
    let x = item.cap + font * (item.cap ? 0.34 : 0.6);
    const spans = [];
    const blanks = [];
    for (const p of item.pieces) {
      const width = this.#pieceWidth(p, font);
      const small = p.kind !== "text" && p.kind !== "special";
      spans.push(
        s(
          "tspan",
          { x: x.toFixed(1), class: `label ${p.kind}`, "font-size": small ? font * 0.8 : font },
          p.shown,
        ),
      );
      if (p.kind === "space")
        blanks.push(
          `M${(x + 1).toFixed(1)},${(y - font * 0.16).toFixed(1)}v${font * 0.2}h${(width - 3).toFixed(1)}v${-font * 0.2}`,
        );
      x += width;
    }
    if (item.cap)
      spans.push(
        s(
          "tspan",
          {
            class: "from-level",
            x: item.cap / 2,
            y: (box.h / 2 + font * (item.id < 0 ? 0.36 : 0.24)).toFixed(1),
            "font-size": item.id < 0 ? font : font * small,
          },
          item.badge,
        ),
      );
    const { score } = item.node;
    if (score !== null && score !== undefined && !crowded && small <= SCORE_FITS)
      spans.push(
        s(
          "tspan",
          { class: "score", x: box.w - 2, y: box.h + font * 0.78, "font-size": font * small },
          this.player.strings.prob(score),
        ),
      );
    const text = s("text", { y, "font-size": font }, spans);
    return blanks.length
      ? s("g", {}, text, s("path", { class: "blank", d: blanks.join("") }))
      : text;
  }
}
