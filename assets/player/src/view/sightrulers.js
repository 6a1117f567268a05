// Two rulers below the strip, where entries stand and where a head is told they do, and the bands
// from the one to the other. A sheet: {sight, rows, width, narrow, x, t, say, num, figure}; x and t
// are the scales of both.
import { measure, s } from "./dom.js";

export const FONT = '600 11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
export const RIGHT = 12;
export const LEAST = 3; // px of what is too small to be seen at its scale
export const HATCH = 9;

/** Ticks at round numbers with figures below. */
export function ruler(sheet, x, y, end, name, [low, high] = [Infinity, -Infinity]) {
  const room = sheet.width / (sheet.narrow ? 62 : 78);
  const every = nice(end / room);
  let d = `M${x(0)},${y}H${x(end)}`;
  const figures = [];
  for (let n = 0; n <= end; n += every) {
    d += `M${x(n).toFixed(1)},${y}v5`;
    const anchor = n === 0 ? "from" : x(n) > sheet.width - 24 ? "to" : "tick";
    // What else is written on the line has its place to itself.
    const half = measure(sheet.num(n), FONT) / 2 + 4;
    if (x(n) + half > low && x(n) - half < high) continue;
    figures.push(s("text", { class: anchor, x: x(n), y: y + 15 }, sheet.num(n)));
  }
  return s("g", { class: `ruler ${name}` }, s("path", { class: "line", d }), figures);
}

/** From where entries stand to where the head is told that they do. */
export function bands(sheet) {
  const { x, t } = sheet;
  const { bands: top, end: bottom } = sheet.rows;
  const { seen } = sheet.sight;
  const shapes = seen.map(({ name, from, to, at, step }) => {
    const last = at + (to - from) * step;
    const a = [x(from), Math.max(x(to), x(from) + LEAST)];
    const b = [t(at), Math.max(t(last), t(at) + LEAST)];
    return { name, a, b, n: to - from, step };
  });
  const out = shapes.map(({ name, a, b }) =>
    s("path", { class: `band ${name}`, d: `M${a[0]},${top}L${a[1]},${top}L${b[1]},${bottom}L${b[0]},${bottom}z` }),
  );
  return [...out, ...bandNames(sheet, shapes)];
}

function bandNames(sheet, shapes) {
  const { bands: top, end: bottom, left } = sheet.rows;
  const { mode, spacing, pure, standing } = sheet.sight;
  const y = (top + bottom) / 2 + 2;
  const main = shapes[shapes.length - 1];
  const centre = (main.a[0] + main.a[1] + main.b[0] + main.b[1]) / 4;
  const squeezed = mode === "reindex_only" && spacing < 1;
  const alone = pure && (standing ? "band.window_abs" : "band.pure");
  const key = squeezed ? "band.squeezed" : alone ? alone : main.name === "all" && mode !== "full" ? "band.all" : `band.${mode}`;
  const word = sheet.say(key, { n: main.n, count: sheet.num(main.n), times: sheet.figure(1 / spacing) });
  const half = measure(word, FONT) / 2;
  const at = Math.min(Math.max(centre, left + half + 4), sheet.width - RIGHT - half);
  const out = [s("text", { class: "band-name", x: at, y }, word)];
  if (shapes.length > 1) {
    const [sinks] = shapes;
    const said = sheet.say("band.sinks", { n: sinks.n, count: sheet.num(sinks.n) });
    // Beside the band; below it where that goes far.
    const from = Math.max(sinks.a[1], Math.min(sinks.b[1], sinks.a[1] + 40)) + 5;
    if (from + measure(said, FONT) < at - half - 8)
      out.push(s("text", { class: "band-name start", x: from, y }, said));
  }
  return out;
}

/** The ruler that the head is told, with the range that it has learned. */
export function told(sheet) {
  const { t } = sheet;
  const { told: y } = sheet.rows;
  const { seen, trained, told: last, tip, spacing, levels, low } = sheet.sight;
  // Distances are what was learned, so its range begins where the first entry seen is told to stand.
  const edge = t(Math.min(low + trained, last));
  const out = [
    s("rect", { class: "learned", x: t(low), y, width: edge - t(low), height: 9 }),
    s("rect", { class: "unlearned", x: edge, y, width: t(last) - edge, height: 9 }),
  ];
  for (const { name, from, to, at, step } of seen) {
    const wide = Math.max(LEAST, t(at + (to - from) * step) - t(at));
    out.push(s("rect", { class: `held ${name}`, x: t(at), y: y + 1.5, width: wide, height: 6 }));
  }
  out.push(s("path", { class: "hatch far", d: hatched(edge, t(last), y, 9) }));
  if (levels > 0) {
    const wide = Math.max(LEAST + 1, t(tip + levels * spacing) - t(tip));
    out.push(s("rect", { class: "guesses", x: t(tip + spacing), y: y - 1.5, width: wide, height: 12, rx: 2 }));
  }
  const root = t(tip + spacing / 2);
  out.push(s("path", { class: "root-mark", d: `M${root.toFixed(1)},${y - 3}l4,-5h-8z` }));
  const { parts, taken } = limit(sheet, edge, y);
  out.push(ruler(sheet, t, y + 9, last, "told", taken), ...parts);
  return out;
}

/** Where the trained range ends, and the room that its name takes. */
function limit(sheet, at, y) {
  const { trained, low } = sheet.sight;
  const word = sheet.say(low > 0 ? "trained_span" : "trained", { n: sheet.num(trained) });
  const wide = measure(word, FONT);
  const right = at + wide + 10 < sheet.width;
  const taken = right ? [at + 2, at + wide + 8] : [at - wide - 8, at];
  const parts = [
    s("path", { class: "limit", d: `M${at.toFixed(1)},${y - 8}V${y + 26}` }),
    s("text", { class: `limit-name ${right ? "" : "to"}`, x: at + (right ? 5 : -5), y: y + 24 }, word),
  ];
  return { parts, taken };
}

/** The greatest distance between a guess and what it sees, as a bracket below the ruler. */
export function reach(sheet) {
  const { t } = sheet;
  const { foot: y, left } = sheet.rows;
  const { distance, beyond, trained, spacing, low } = sheet.sight;
  // A position is drawn as wide as one; distances go from middle to middle.
  const from = low + spacing / 2;
  const [a, b] = [t(from), Math.max(t(from + distance), t(from) + 6)];
  const { narrow } = sheet;
  const key = narrow ? "reach_short" : beyond ? "reach_beyond" : "reach";
  const word = `${beyond ? "✗" : "✓"} ${sheet.say(key, { distance: sheet.num(distance), trained: sheet.num(trained) })}`;
  const half = measure(word, FONT) / 2;
  const inside = b - a > 2 * half + 30 || narrow;
  const middle = Math.min(Math.max((a + b) / 2, left + half), sheet.width - RIGHT - half);
  const at = inside ? middle : a - left > 2 * half + 14 ? a - half - 8 : b + half + 8;
  const line = `M${a.toFixed(1)},${y + 4}v8h${(b - a).toFixed(1)}v-8`;
  return [
    s("path", { class: `reach${beyond ? " beyond" : ""}`, d: line }),
    inside && !narrow ? s("rect", { class: "back", x: at - half - 6, y: y + 4, width: 2 * half + 12, height: 14 }) : null,
    s("text", { class: `reach-name${beyond ? " beyond" : ""}`, x: at, y: y + (narrow ? 27 : 16) }, word),
  ].filter(Boolean);
}

/** The next of 1, 2, 5, 10, 20, … */
function nice(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least) ?? 10 * power;
}

function hatched(from, to, y, tall) {
  let d = "";
  for (let at = from; at + tall <= to; at += HATCH - 1)
    d += `M${at.toFixed(1)},${y + tall}L${(at + tall).toFixed(1)},${y}`;
  return d;
}
