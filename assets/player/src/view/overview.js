// The whole run at a glance, above the scrub bar: a column per step, drawn as a few paths however long
// the run is. Where steps are narrower than a column can be, one stands for the mean of several.
import { missed, outcome } from "../model.js";
import { s } from "./dom.js";

const FLOOR = 27; // px from the top to where columns stand
const TALL = 38; // of the picture, the row of marks included
const NARROW = 2.4; // px, the least room of a column
const CLEAR = 6.5; // px, from here on marks are drawn as signs

/** What a step brought: {tokens, accepted, own, guessed, missed, full}. */
function brought(step) {
  const accepted = Math.min(step.walk.length, step.emitted.length);
  return {
    tokens: step.emitted.length,
    accepted,
    own: step.emitted.length - accepted,
    guessed: step.nodes.length > 1 ? 1 : 0,
    missed: missed(step) ? 1 : 0,
    full: outcome(step) === "full" ? 1 : 0,
  };
}

const add = (a, b) => Object.fromEntries(Object.keys(a).map((k) => [k, a[k] + b[k]]));

export class Overview {
  constructor(player) {
    this.player = player;
    this.marked = []; // steps that were looked for
    this.half = 0; // px, half the room of a column
    this.paths = Object.fromEntries(
      ["accepted", "bonus", "own", "missed", "full", "found"].map((name) => [name, s("path", { class: `v-${name}` })]),
    );
    this.svg = s(
      "svg",
      { class: "overview", "aria-hidden": "true", preserveAspectRatio: "none" },
      Object.values(this.paths),
    );
  }

  /** Draw all steps over `width` px; `x(step)`: where a step's end lies. */
  draw(width, x) {
    const { steps } = this.player.model.decoder;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${TALL}`);
    const slot = steps.length > 1 ? x(1) - x(0) : Math.min(24, width / 4);
    this.per = Math.max(1, Math.ceil(NARROW / slot));
    const room = slot * this.per;
    this.half = room / 2;
    const most = steps.reduce((top, step) => Math.max(top, step.emitted.length), 2);
    const unit = (FLOOR - 1) / most;
    const d = { accepted: "", bonus: "", own: "", missed: "", full: "" };
    for (let from = 0; from < steps.length; from += this.per) {
      const part = steps.slice(from, from + this.per);
      const sum = part.map(brought).reduce(add);
      const n = part.length;
      const centre = (x(from) + x(from + n - 1)) / 2;
      this.#column(d, sum, n, { centre, unit, wide: Math.min(18, Math.max(1.6, room * 0.68)) });
      this.#mark(d, sum, n, centre, room);
    }
    for (const [name, value] of Object.entries(d)) this.paths[name].setAttribute("d", value);
    this.x = x;
    this.mark(this.marked);
  }

  /** Point from above at the columns of these steps. */
  mark(steps) {
    this.marked = steps;
    const tip = (step) => `M${this.x(step).toFixed(1)},3l-3.5,-6h7z`;
    this.paths.found.setAttribute("d", steps.filter((step) => step >= 0).map(tip).join(""));
  }

  #column(d, sum, n, { centre, unit, wide }) {
    const left = (centre - wide / 2).toFixed(1);
    const low = (sum.accepted / n) * unit;
    const high = (sum.own / n) * unit;
    if (low > 0) d.accepted += rect(left, FLOOR - low, wide, low);
    if (high <= 0) return;
    // A hollow top where there is room for a frame; a gap tells the two apart where there is none.
    const gap = low > 0 ? 1 : 0;
    d[sum.guessed * 2 >= n ? "bonus" : "own"] += rect(left, FLOOR - low - high, wide, Math.max(1, high - gap));
  }

  /** Signs where they can be told apart, else ticks at two heights. */
  #mark(d, sum, n, centre, room) {
    const c = centre.toFixed(1);
    if (room >= CLEAR) {
      if (sum.missed) d.missed += `M${(centre - 2.2).toFixed(1)},30.5l4.4,5m0,-5l-4.4,5`;
      else if (sum.full) d.full += `M${(centre - 2.8).toFixed(1)},33l2.1,2.5l3.5,-5`;
    } else {
      if (sum.missed * 2 >= n) d.missed += `M${c},34v3`;
      if (sum.full * 2 >= n) d.full += `M${c},29v4`;
    }
  }

  /** What the picture says, for those who do not see it. */
  label() {
    const { strings, model } = this.player;
    const { steps } = model.decoder;
    if (!steps.length) return "";
    const all = steps.map(brought);
    const sum = all.reduce(add);
    const best = all.reduce((top, b, i) => (b.tokens > all[top].tokens ? i : top), 0);
    const tokens = (n) => strings.say("player.count", { n });
    return strings.say("player.overview.label", {
      n: steps.length,
      tokens: tokens(sum.tokens),
      full: strings.num(sum.full),
      missed: strings.num(sum.missed),
      none: strings.num(steps.length - sum.guessed),
      most: tokens(all[best].tokens),
      step: best + 1,
    });
  }

  /** One step in words, for whoever points at its column. */
  told(index) {
    const { strings, model } = this.player;
    const step = model.decoder.steps[index];
    if (!step) return "";
    const { tokens, accepted } = brought(step);
    const kind = outcome(step);
    const name = kind === "partial" && !missed(step) ? "ended" : kind;
    return strings.say("player.overview.step", {
      step: index + 1,
      tokens: strings.say("player.count", { n: tokens }),
      accepted: strings.num(accepted),
      outcome: strings.say(`player.overview.outcome.${name}`),
    });
  }
}

const rect = (left, top, wide, tall) =>
  `M${left},${top.toFixed(1)}h${wide.toFixed(1)}v${tall.toFixed(1)}h${(-wide).toFixed(1)}z`;
