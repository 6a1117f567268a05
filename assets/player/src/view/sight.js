// The text as a strip: what the drafter head sees of it, and the two rulers: true and told positions.
import { plain, shorten } from "../text.js";
import { toldAt, unseen } from "../sight.js";
import { h, measure, put, s, text } from "./dom.js";

const FONT = '600 11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const RIGHT = 12;
const AROUND = 7; // tokens on each side of the one that is pointed at
const SNIPPET = 90; // glyphs
const LEAST = 3; // px of what is too small to be seen at its scale
const HATCH = 9;

/** Where the rows stand; a phone has the rows' names above them, everyone else beside them. */
const rows = (narrow) =>
  narrow
    ? { left: 4, map: 32, deep: 24, ruler: 60, bands: 79, end: 107, told: 126, foot: 153, height: 186 }
    : { left: 96, map: 15, deep: 20, ruler: 38, bands: 54, end: 80, told: 80, foot: 107, height: 125 };

export class SightView {
  constructor(player) {
    this.player = player;
    this.heading = h("h3");
    this.note = h("span", { class: "phase" });
    this.svg = s("svg", { class: "sight", "aria-hidden": "true" });
    this.box = h("div", { class: "sight-box", tabindex: "0", role: "slider" }, this.svg);
    this.element = h(
      "section",
      { class: "panel sight-panel", hidden: true },
      h("div", { class: "panel-head" }, this.heading, this.note),
      this.box,
    );
    this.size = 860;
    this.key = "";
    this.cursor = null;
    this.#listen();
  }

  refresh() {
    text(this.heading, this.player.strings.say("player.sight.title"));
    this.key = "";
  }

  grow() {
    this.key = "";
  }

  resize(width) {
    if (width < 20 || Math.abs(width - this.size) < 1) return false;
    this.size = width;
    this.key = "";
    return true;
  }

  #say(key, params) {
    return this.player.strings.say(`player.sight.${key}`, params);
  }

  #num(value) {
    return this.player.strings.num(value, Number.isInteger(value) ? 0 : 1);
  }

  update({ sight, run }) {
    this.element.hidden = !sight;
    if (!sight) return;
    const { version, narrow, projector, wide } = this.player;
    const { key, levels, seen, end } = sight;
    const now = [run, key, levels, seen === null, end, version, narrow, projector, wide].join("|");
    if (now === this.key) return;
    this.key = now;
    this.sight = sight;
    this.#draw();
    text(this.note, this.#noted());
    this.box.setAttribute("aria-label", this.#described());
    this.#point(this.cursor, false);
  }

  /** The scales of both rulers. */
  #scales() {
    const { left } = this.rows;
    const room = this.width - left - RIGHT;
    const { end, told } = this.sight;
    return [(n) => left + (n / end) * room, (n) => left + (n / told) * room];
  }

  #draw() {
    const { narrow, projector, wide } = this.player;
    this.rows = rows(narrow);
    // Everything grows with the type, so the picture is drawn on a smaller sheet and enlarged.
    const scale = narrow ? 1 : projector ? 1.64 : wide ? 1.3 : 1;
    this.width = this.size / scale;
    const [x, t] = this.#scales();
    const { height } = this.rows;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.svg.style.height = `${height * scale}px`;
    this.pointer = s("g", { class: "pointer" });
    this.svg.replaceChildren(
      ...[
        this.#names(),
        this.#map(x),
        this.#ruler(x, this.rows.ruler, this.sight.end, "true"),
        ...(this.sight.seen ? [this.#bands(x, t), this.#told(t), this.#reach(t)] : []),
        this.pointer,
      ].flat(),
    );
  }

  #names() {
    const { left, map, deep, ruler, told } = this.rows;
    const { narrow } = this.player;
    const names = [["text", map + deep / 2 + 4], ["true", ruler + 12], ["told", told + 9]];
    return (this.sight.seen ? names : names.slice(0, 2)).map(([name, y]) =>
      narrow
        ? name === "true" ? null
          : s("text", { class: "name start", x: left, y: name === "text" ? 12 : told - 6 },
              this.#say(name === "text" ? "row.text_true" : "row.told"))
        : s("text", { class: "name", x: left - 9, y }, this.#say(`row.${name}`)),
    ).filter(Boolean);
  }

  /** The text: darker where there are more letters, hatched where the head sees nothing. */
  #map(x) {
    const { map: y, deep } = this.rows;
    const { seen, count, written, prompt, end, map } = this.sight;
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
    for (const [from, to] of unseen(seen, count)) out.push(...this.#hidden(x(from), x(to), to - from));
    for (const { name, from, to } of seen ?? []) {
      const wide = Math.max(LEAST, x(to) - x(from));
      out.push(s("rect", { class: `seen ${name}`, x: x(from), y: y - 1, width: wide, height: deep + 2, rx: 2 }));
    }
    out.push(...this.#parts(x));
    return out;
  }

  #hidden(from, to, n) {
    const { map: y, deep } = this.rows;
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
    if (!this.sight.seen) return out;
    const words = [this.#say("unseen", { n, count: this.#num(n) }), this.#say("unseen_short", { n: this.#num(n) })];
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
  #parts(x) {
    const { map: y, deep } = this.rows;
    const { prompt, written, end, map } = this.sight;
    const [from, to] = map?.document ?? [0, 0];
    const parts = to > from
      ? [["document", from, to], ["question", to, prompt], ["answer", prompt, end]]
      : [["prompt", 0, prompt], ["answer", prompt, end]];
    let free = 0;
    return parts.flatMap(([name, a, b]) => {
      const word = this.#say(`part.${name}`);
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

  /** Ticks at round numbers with figures below. */
  #ruler(x, y, end, name, [low, high] = [Infinity, -Infinity]) {
    const room = this.width / (this.player.narrow ? 62 : 78);
    const every = nice(end / room);
    let d = `M${x(0)},${y}H${x(end)}`;
    const figures = [];
    for (let n = 0; n <= end; n += every) {
      d += `M${x(n).toFixed(1)},${y}v5`;
      const anchor = n === 0 ? "from" : x(n) > this.width - 24 ? "to" : "tick";
      // What else is written on the line has its place to itself.
      const half = measure(this.#num(n), FONT) / 2 + 4;
      if (x(n) + half > low && x(n) - half < high) continue;
      figures.push(s("text", { class: anchor, x: x(n), y: y + 15 }, this.#num(n)));
    }
    return s("g", { class: `ruler ${name}` }, s("path", { class: "line", d }), figures);
  }

  /** From where entries stand to where the head is told that they do. */
  #bands(x, t) {
    const { bands: top, end: bottom } = this.rows;
    const { seen } = this.sight;
    const shapes = seen.map(({ name, from, to, at, step }) => {
      const last = at + (to - from) * step;
      const a = [x(from), Math.max(x(to), x(from) + LEAST)];
      const b = [t(at), Math.max(t(last), t(at) + LEAST)];
      return { name, a, b, n: to - from, step };
    });
    const out = shapes.map(({ name, a, b }) =>
      s("path", { class: `band ${name}`, d: `M${a[0]},${top}L${a[1]},${top}L${b[1]},${bottom}L${b[0]},${bottom}z` }),
    );
    return [...out, ...this.#bandNames(shapes)];
  }

  #bandNames(shapes) {
    const { bands: top, end: bottom, left } = this.rows;
    const { mode, spacing } = this.sight;
    const y = (top + bottom) / 2 + 2;
    const main = shapes[shapes.length - 1];
    const centre = (main.a[0] + main.a[1] + main.b[0] + main.b[1]) / 4;
    const squeezed = mode === "reindex_only" && spacing < 1;
    const still = this.sight.pure && mode !== "window_abs";
    const key = squeezed ? "band.squeezed" : still ? "band.pure" : main.name === "all" && mode !== "full" ? "band.all" : `band.${mode}`;
    const word = this.#say(key, { n: main.n, count: this.#num(main.n), times: this.player.strings.num(1 / spacing, 1) });
    const half = measure(word, FONT) / 2;
    const at = Math.min(Math.max(centre, left + half + 4), this.width - RIGHT - half);
    const out = [s("text", { class: "band-name", x: at, y }, word)];
    if (shapes.length > 1) {
      const [sinks] = shapes;
      const said = this.#say("band.sinks", { n: sinks.n, count: this.#num(sinks.n) });
      const from = Math.max(sinks.a[1], sinks.b[1]) + 5;
      if (from + measure(said, FONT) < at - half - 8)
        out.push(s("text", { class: "band-name start", x: from, y }, said));
    }
    return out;
  }

  /** The ruler that the head is told, with the range that it has learned. */
  #told(t) {
    const { told: y } = this.rows;
    const { seen, trained, told, tip, spacing, levels } = this.sight;
    const edge = t(Math.min(trained, told));
    const out = [
      s("rect", { class: "learned", x: t(0), y, width: edge - t(0), height: 9 }),
      s("rect", { class: "unlearned", x: edge, y, width: t(told) - edge, height: 9 }),
    ];
    for (const { name, from, to, at, step } of seen) {
      const wide = Math.max(LEAST, t(at + (to - from) * step) - t(at));
      out.push(s("rect", { class: `held ${name}`, x: t(at), y: y + 1.5, width: wide, height: 6 }));
    }
    out.push(s("path", { class: "hatch far", d: hatched(edge, t(told), y, 9) }));
    if (levels > 0) {
      const wide = Math.max(LEAST + 1, t(tip + levels * spacing) - t(tip));
      out.push(s("rect", { class: "guesses", x: t(tip + spacing), y: y - 1.5, width: wide, height: 12, rx: 2 }));
    }
    const root = t(tip + spacing / 2);
    out.push(s("path", { class: "root-mark", d: `M${root.toFixed(1)},${y - 3}l4,-5h-8z` }));
    const { parts, taken } = this.#edge(edge, y);
    out.push(this.#ruler(t, y + 9, told, "told", taken), ...parts);
    return out;
  }

  /** Where the trained range ends, and the room that its name takes. */
  #edge(at, y) {
    const word = this.#say("trained", { n: this.#num(this.sight.trained) });
    const wide = measure(word, FONT);
    const right = at + wide + 10 < this.width;
    const taken = right ? [at + 2, at + wide + 8] : [at - wide - 8, at];
    const parts = [
      s("path", { class: "limit", d: `M${at.toFixed(1)},${y - 8}V${y + 26}` }),
      s("text", { class: `limit-name ${right ? "" : "to"}`, x: at + (right ? 5 : -5), y: y + 24 }, word),
    ];
    return { parts, taken };
  }

  /** The greatest distance between a guess and what it sees, as a bracket below the ruler. */
  #reach(t) {
    const { foot: y, left } = this.rows;
    const { seen, distance, beyond, trained, spacing } = this.sight;
    const low = Math.min(...seen.map((p) => p.at));
    // A position is drawn as wide as one; distances go from middle to middle.
    const from = low + spacing / 2;
    const [a, b] = [t(from), Math.max(t(from + distance), t(from) + 6)];
    const { narrow } = this.player;
    const key = narrow ? "reach_short" : beyond ? "reach_beyond" : "reach";
    const word = `${beyond ? "✗" : "✓"} ${this.#say(key, { distance: this.#num(distance), trained: this.#num(trained) })}`;
    const half = measure(word, FONT) / 2;
    const inside = b - a > 2 * half + 30 || narrow;
    const middle = Math.min(Math.max((a + b) / 2, left + half), this.width - RIGHT - half);
    const at = inside ? middle : a - left > 2 * half + 14 ? a - half - 8 : b + half + 8;
    const line = `M${a.toFixed(1)},${y + 4}v8h${(b - a).toFixed(1)}v-8`;
    return [
      s("path", { class: `reach${beyond ? " beyond" : ""}`, d: line }),
      inside && !narrow ? s("rect", { class: "back", x: at - half - 6, y: y + 4, width: 2 * half + 12, height: 14 }) : null,
      s("text", { class: `reach-name${beyond ? " beyond" : ""}`, x: at, y: y + (narrow ? 27 : 16) }, word),
    ].filter(Boolean);
  }

  #noted() {
    const { seen, kept, count, truncated, written } = this.sight;
    if (!seen) return this.#say("note_none", { n: this.#num(written) });
    const said = this.#say("note", { kept: this.#num(kept), count: this.#num(count) });
    return truncated ? `${said} · ${this.#say("note_truncated")}` : said;
  }

  /** The picture in words. */
  #described() {
    const { seen, count, trained, distance, beyond, truncated, pure, mode } = this.sight;
    if (!seen) return this.#say("label_none", { n: this.#num(count) });
    const where = seen
      .map(({ name, from, to, at, step }) =>
        this.#say(`label_${name}`, {
          from: this.#num(from), to: this.#num(to - 1), at: this.#num(round(at)),
          last: this.#num(round(at + (to - 1 - from) * step)),
        }),
      )
      .join("; ");
    const range = this.#say(beyond ? "reach_beyond" : "reach", {
      distance: this.#num(distance), trained: this.#num(trained),
    });
    const said = [this.#say("label", { n: this.#num(count), where }), `${range}.`];
    if (pure && mode !== "window_abs") said.push(this.#say("label_pure"));
    if (truncated) said.push(`${this.#say("note_truncated")}.`);
    return said.join(" ");
  }

  /** A token under the pointer, or under the arrow keys, and where the head is told it stands. */
  #point(position, tip = true) {
    this.cursor = position;
    const { tooltip } = this.player;
    if (position === null || !this.sight || position >= this.sight.written) {
      this.cursor = null;
      this.pointer?.replaceChildren();
      tooltip.hide(this.pointer);
      this.box.setAttribute("aria-valuemin", 0);
      this.box.setAttribute("aria-valuemax", Math.max(0, (this.sight?.written ?? 1) - 1));
      this.box.setAttribute("aria-valuenow", 0);
      this.box.setAttribute("aria-valuetext", this.#noted());
      return;
    }
    const [x, t] = this.#scales();
    const { map, deep, bands, told: bottom } = this.rows;
    const told = toldAt(this.sight.seen, position);
    const at = x(position + 0.5).toFixed(1);
    const down = told === null ? "" : `V${bands}L${t(told + 0.5 * this.sight.spacing).toFixed(1)},${bottom + 9}`;
    put(this.pointer, s("path", { class: told === null ? "blind" : "line", d: `M${at},${map - 4}V${map + deep + 3}${down}` }));
    const [where, words] = this.#told_(position, told);
    this.box.setAttribute("aria-valuenow", position);
    this.box.setAttribute("aria-valuetext", `${where} ${words}`);
    if (tip) tooltip.show(this.pointer, [where, words]);
  }

  #told_(position, told) {
    const { model } = this.player;
    const key = !this.sight.seen ? "here" : told === null ? "here_unseen" : "here_seen";
    const where = this.#say(key, { n: this.#num(position), told: told === null ? "" : this.#num(round(told)) });
    const all = model.decoder.header.tokens;
    const id = (i) => all[i] ?? model.tokens[i - all.length]?.id;
    const near = [];
    for (let i = Math.max(0, position - AROUND); i <= position + AROUND; i++) {
      if (id(i) === undefined || i >= this.sight.written) break;
      near.push(...model.look(id(i)));
    }
    const words = plain(shorten(near.map((p) => (p.kind === "space" ? { ...p, shown: " " } : p)), SNIPPET));
    return [where, `… ${words} …`];
  }

  #listen() {
    const at = (event) => {
      const box = this.svg.getBoundingClientRect();
      const { left } = this.rows;
      const room = this.width - left - RIGHT;
      const share = (((event.clientX - box.left) / box.width) * this.width - left) / room;
      const position = Math.floor(share * this.sight.end);
      return position >= 0 && position < this.sight.written ? position : null;
    };
    for (const name of ["pointermove", "pointerdown"])
      this.svg.addEventListener(name, (event) => this.sight && this.#point(at(event)));
    this.svg.addEventListener("pointerleave", () => this.#point(null));
    this.box.addEventListener("blur", () => this.#point(null));
    this.box.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Up and down go along the text; left and right stay with time, as everywhere in the player. */
  #key(event) {
    if (!this.sight || event.ctrlKey || event.altKey || event.metaKey) return;
    const { written, seen } = this.sight;
    const far = Math.max(1, Math.round(written / 50));
    const from = this.cursor ?? seen?.at(-1).from ?? 0;
    const next = {
      ArrowUp: this.cursor === null ? from : from + 1,
      ArrowDown: this.cursor === null ? from : from - 1,
      PageUp: from + far,
      PageDown: from - far,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.#point(Math.min(Math.max(next, 0), written - 1));
  }
}

const round = (value) => Math.round(value * 10) / 10;

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
