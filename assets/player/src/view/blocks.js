// The shapes of the lanes: a block per step, and wedges where two runs differ.
import { s } from "./dom.js";

export const HEIGHT = 22;
export const GAP = 6;

/** A run as blocks that end at `stops`; `x(value)` places them, `plain`: plain decoding's. */
export function lane(stops, run, { x: at, y, from, plain }) {
  const paths = new Map();
  const labels = [];
  // Some numbers and not others would look as if the others were zero.
  const narrowest = Math.min(...stops.map((to, i) => at(to) - at(stops[i - 1] ?? from)));
  let start = from;
  stops.forEach((to, i) => {
    const x = at(start);
    const w = at(to) - x;
    const gap = w > 6 ? 1.5 : w > 3 ? 0.75 : 0;
    const emitted = run.steps[i].emitted.length;
    const shade = plain ? "plain" : `e${Math.min(emitted, 6)}`;
    const r = Math.min(3, Math.max(0, (w - gap) / 3));
    paths.set(shade, (paths.get(shade) ?? "") + block(x, y, Math.max(0.4, w - gap), HEIGHT, r));
    if (!plain && narrowest >= 14) {
      const place = { x: x + (w - gap) / 2, y: y + HEIGHT / 2 + 4.5, class: `n ${shade}` };
      labels.push(s("text", place, String(emitted)));
    }
    start = to;
  });
  const shapes = [...paths].map(([name, d]) => s("path", { class: name, d }));
  return s("g", { class: plain ? "lane base" : "lane" }, shapes, labels);
}

/** Where only one of two runs had guessed right: a wedge that points to that run. */
export function differences(other, x) {
  const d = { gained: "", lost: "" };
  for (const [i, kind] of other.differs) {
    const left = (x(i + 0.5) - 4).toFixed(1);
    if (kind === "gained") d.gained += `M${left},${HEIGHT}h8l-4,6z`;
    else d.lost += `M${left},${HEIGHT + GAP}h8l-4,-6z`;
  }
  return Object.entries(d).map(([kind, path]) => s("path", { class: `differs ${kind}`, d: path }));
}

function block(x, y, w, h, r) {
  const a = (v) => v.toFixed(2);
  return `M${a(x + r)},${y}h${a(w - 2 * r)}q${a(r)},0 ${a(r)},${a(r)}v${a(h - 2 * r)}q0,${a(r)} ${a(-r)},${a(r)}h${a(-(w - 2 * r))}q${a(-r)},0 ${a(-r)},${a(-r)}v${a(-(h - 2 * r))}q0,${a(-r)} ${a(r)},${a(-r)}z`;
}
