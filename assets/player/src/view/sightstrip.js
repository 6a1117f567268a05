// The text as a strip: darker where there are more letters, hatched where a head sees nothing.
import { unseen } from "../sight.js";
import { measure, s } from "./dom.js";
import { FONT, HATCH, LEAST } from "./sightrulers.js";

/** The names of the rows. */
export function names(sheet) {
  const { left, map, deep, ruler, told } = sheet.rows;
  const { narrow } = sheet;
  const names = [["text", map + deep / 2 + 4], ["true", ruler + 12], ["told", told + 9]];
  return (sheet.sight.seen ? names : names.slice(0, 2)).map(([name, y]) =>
    narrow
      ? name === "true" ? null
        : s("text", { class: "name start", x: left, y: name === "text" ? 12 : told - 6 },
            sheet.say(name === "text" ? "row.text_true" : "row.told"))
      : s("text", { class: "name", x: left - 9, y }, sheet.say(`row.${name}`)),
  ).filter(Boolean);
}

/** The text: darker where there are more letters, hatched where the head sees nothing. */
export function strip(sheet) {
  const { x } = sheet;
  const { map: y, deep } = sheet.rows;
  const { seen, count, written, prompt, end, map } = sheet.sight;
  const bottom = y + deep;
  const out = [
    s("rect", { class: "page", x: x(0), y, width: x(written) - x(0), height: deep }),
    s("rect", { class: "open", x: x(written), y, width: x(end) - x(written), height: deep }),
  ];
  const dark = new Map();
  [...(map?.cells ?? "")].forEach((figure, i) => {
    const from = x(i * map.per);
    const wide = Math.max(0.6, x(Math.min((i + 1) * map.per, prompt)) - from - 0.4);
    const bar = `M${from.toFixed(1)},${y + 2}h${wide.toFixed(1)}V${bottom - 2}h${(-wide).toFixed(1)}z`;
    if (figure > 0) dark.set(figure, (dark.get(figure) ?? "") + bar);
  });
  for (const [figure, d] of dark)
    out.push(s("path", { class: "ink", d, opacity: (0.08 + 0.085 * figure).toFixed(2) }));
  // Gaps across make lines of writing of it.
  const gaps = [1, 2, 3].map((n) => `M${x(0)},${y + 2 + (n * (deep - 4)) / 4}H${x(prompt).toFixed(1)}`);
  out.push(s("path", { class: "gaps", d: gaps.join("") }));
  if (written > prompt)
    out.push(s("rect", { class: "answered", x: x(prompt), y: y + 3, width: Math.max(1.5, x(written) - x(prompt)), height: deep - 6 }));
  for (const [from, to] of unseen(seen, count)) out.push(...hidden(sheet, x(from), x(to), to - from));
  for (const { name, from, to } of seen ?? []) {
    const wide = Math.max(LEAST, x(to) - x(from));
    out.push(s("rect", { class: `seen ${name}`, x: x(from), y: y - 1, width: wide, height: deep + 2, rx: 2 }));
  }
  out.push(...parts(sheet));
  return out;
}

function hidden(sheet, from, to, n) {
  const { map: y, deep } = sheet.rows;
  let d = "";
  for (let at = from - deep + HATCH; at < to; at += HATCH) {
    // Cut at both ends, so that no line leaves its stretch.
    const low = Math.max(at, from);
    const high = Math.min(at + deep, to);
    if (high > low) d += `M${low.toFixed(1)},${(y + deep - (low - at)).toFixed(1)}L${high.toFixed(1)},${(y + deep - (high - at)).toFixed(1)}`;
  }
  const out = [
    s("rect", { class: "veil", x: from, y, width: to - from, height: deep }),
    s("path", { class: "hatch", d }),
  ];
  if (!sheet.sight.seen) return out;
  const words = [sheet.say("unseen", { n, count: sheet.num(n) }), sheet.say("unseen_short", { n: sheet.num(n) })];
  const fits = words.find((w) => measure(w, FONT) < to - from - 16);
  if (fits) {
    const wide = measure(fits, FONT) + 14;
    const middle = (from + to) / 2;
    out.push(
      s("rect", { class: "plate", x: middle - wide / 2, y: y + 2, width: wide, height: deep - 4, rx: 7 }),
      s("text", { class: "centre", x: middle, y: y + deep / 2 + 4 }, fits),
    );
  }
  return out;
}

/** The parts of the text, named above it where there is room for the name. */
function parts(sheet) {
  const { x } = sheet;
  const { map: y, deep } = sheet.rows;
  const { prompt, written, end, map } = sheet.sight;
  const [from, to] = map?.document ?? [0, 0];
  const found = to > from
    ? [["document", from, to], ["question", to, prompt], ["answer", prompt, end]]
    : [["prompt", 0, prompt], ["answer", prompt, end]];
  let free = 0;
  return found.flatMap(([name, a, b]) => {
    const word = sheet.say(`part.${name}`);
    const wide = measure(word, FONT);
    const last = x(end);
    const at = Math.min(Math.max(x(a), free), last - wide);
    const fits = at >= free && (x(b) - x(a) > wide * 0.6 || name === "answer" || at + wide + 60 < x(prompt));
    if (fits) free = at + wide + 10;
    const shown = name === "answer" ? x(Math.max(written, a)) : x(b);
    return [
      a > 0 ? s("path", { class: "border", d: `M${x(a).toFixed(1)},${y - 4}v${deep + 8}` }) : null,
      shown > x(a) ? s("path", { class: `portion p-${name}`, d: `M${x(a).toFixed(1)},${y + deep + 2}H${shown.toFixed(1)}` }) : null,
      fits ? s("text", { class: "part-name", x: at, y: y - 5 }, word) : null,
    ].filter(Boolean);
  });
}
