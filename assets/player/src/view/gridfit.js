// How large the grid of a wave is: its type, its columns and rows, and which part of it is in view.
import { columnWidths } from "../columns.js";
import { plain } from "../text.js";
import { measure } from "./dom.js";

const MONO = 'ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace';
const GAP = 1; // px between cells
// In units of the type: the names of the rows, all rows but the rounds, a round with two lines.
const HEAD = 5.6;
const FIXED = 5.5;
const TWO_LINES = 2.06;
const SLIM = 4.6;
// Beside a token: its age and probability, the sign of its verdict, or nothing but its border.
const FIGURES = 1.9;
const VERDICT = 1.4;
const STAR = 2;
const BARE = 0.95;
// All that is checked can be read, if the grid has to be wider than its box for that. What a place
// held for some rounds only may end in dots, and is told in full when pointed at.
const READABLE = 8;
const PASSING = 4.4;

/** The least type. */
export const leastType = ({ projector, wide, narrow }) => (projector ? 18 : wide ? 14 : narrow ? 13 : 12);

/**
 * What every column needs in units of the type: {wish} for all its tokens with figures beside,
 * {checked} for the token that the pass was given, {held} for what stood there before.
 */
export function needs(step, tree, columns, look) {
  const [wish, checked, held] = Array.from({ length: 3 }, () => Array.from({ length: columns }, () => 0));
  const type = `600 100px ${MONO}`;
  const want = (needed, i, id, beside, most = Infinity) => {
    const wide = measure(plain(look(id)), type) / 100 + beside;
    needed[i] = Math.max(needed[i], Math.min(wide, most));
  };
  for (const { cells } of step.evidence.rounds)
    cells.forEach(([id], i) => {
      want(wish, i, id, FIGURES);
      want(held, i, id, BARE, PASSING);
    });
  const check = (i, id, sign) => {
    want(wish, i, id, 2);
    want(checked, i, id, sign, READABLE);
  };
  tree.nodes.slice(1).forEach((n, i) => check(i, n.token, VERDICT));
  if (tree.bonus) check(tree.bonus.parent, tree.bonus.token, STAR);
  return { wish, checked, held };
}

export class GridFit {
  /** `size`: the box in px; everything as large as all rounds and the pass leave room for. */
  constructor(player, size, rounds, { wish, checked, held }) {
    const { narrow } = player;
    const least = leastType(player);
    Object.assign(this, { size, narrow });
    const across = size.width - GAP * (wish.length + 2);
    const wanted = wish.reduce((a, b) => a + b, HEAD);
    const down = size.height / (rounds * 2.7 + FIXED);
    const font = narrow ? least : clamp(Math.min(across / wanted, down), least, 1.4 * least);
    this.font = font;
    this.head = Math.ceil(font * HEAD);
    const low = narrow ? 66 : 2.6 * font;
    const room = narrow ? 0 : across - this.head;
    const widths = (needed) =>
      columnWidths(
        wish.map((w) => w * font),
        room,
        needed.map((w) => Math.max(low, w * font)),
        narrow ? 96 : 9.5 * font,
      );
    this.widths = widths(checked);
    // Where it has to be scrolled anyway, the rounds can be read as well.
    if (this.width > size.width) this.widths = widths(held.map((w, i) => Math.max(w, checked[i])));
    this.crowded = this.width > size.width;
    const high = size.height - FIXED * font - GAP * (rounds + 4);
    this.tall = narrow ? 44 : Math.floor(clamp(high / rounds, 1.55 * font, 3.4 * font));
  }

  /** Too low for a line of figures below the token. */
  get flat() {
    return this.tall < TWO_LINES * this.font;
  }

  /** Too narrow for figures beside the token, or all room goes to the tokens. */
  slim(i) {
    return this.widths[i] < SLIM * this.font || (this.crowded && !this.narrow);
  }

  /** Where column `i` begins, from the start of the table. */
  #left(i) {
    return this.head + this.widths.slice(0, i).reduce((a, b) => a + b + GAP, 2 * GAP);
  }

  get width() {
    return this.#left(this.widths.length);
  }

  /**
   * How far the box is scrolled so that the columns from `from` up to `to` (not counted) and the
   * rounds up to `shown` are in view; where they do not fit, the first columns. Stays at `x` if it can.
   */
  scroll(from, to, shown, x) {
    const { width, height } = this.size;
    const most = Math.max(0, Math.ceil(this.width - width));
    const right = this.#left(to) - width + 2.5 * this.font;
    const left = this.#left(from) - this.head - 1.5 * this.font;
    const across = Math.min(Math.max(x, right), left);
    const rows = (shown + 1) * (this.tall + GAP) + FIXED * this.font;
    return {
      x: Math.round(clamp(across, 0, most)),
      y: this.narrow ? 0 : Math.max(0, Math.ceil(rows - height)),
    };
  }
}

const clamp = (v, low, high) => Math.min(Math.max(v, low), high);
