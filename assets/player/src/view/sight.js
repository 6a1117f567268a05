// The text as a strip: what the drafter head sees of it, and the two rulers: true and told positions.
import { plain, shorten } from "../text.js";
import { standsAt, toldAt } from "../sight.js";
import { h, put, s, text } from "./dom.js";
import { bands, reach, RIGHT, ruler, told } from "./sightrulers.js";
import { names, strip } from "./sightstrip.js";

const AROUND = 7; // tokens on each side of the one that is pointed at
const SNIPPET = 90; // glyphs

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
    const sheet = this.#sheet();
    const { height } = this.rows;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.svg.style.height = `${height * scale}px`;
    this.pointer = s("g", { class: "pointer" });
    this.svg.replaceChildren(
      ...[
        names(sheet),
        strip(sheet),
        ruler(sheet, sheet.x, this.rows.ruler, this.sight.end, "true"),
        ...(this.sight.seen ? [bands(sheet), told(sheet), reach(sheet)] : []),
        this.pointer,
      ].flat(),
    );
  }

  /** What the painters need to know. */
  #sheet() {
    const [x, t] = this.#scales();
    const { sight, rows, width } = this;
    return {
      sight, rows, width, x, t,
      narrow: this.player.narrow,
      say: (key, params) => this.#say(key, params),
      num: (value) => this.#num(value),
      figure: (value) => this.player.strings.num(value, 1),
    };
  }

  #noted() {
    const { seen, kept, count, truncated, written } = this.sight;
    if (!seen) return this.#say("note_none", { n: this.#num(written) });
    const said = this.#say("note", { kept: this.#num(kept), count: this.#num(count) });
    return truncated ? `${said} · ${this.#say("note_truncated")}` : said;
  }

  /** The picture in words. */
  #described() {
    const { seen, count, trained, distance, beyond, truncated, pure, standing } = this.sight;
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
    if (pure && !standing) said.push(this.#say("label_pure"));
    if (truncated) said.push(`${this.#say("note_truncated")}.`);
    return said.join(" ");
  }

  /** What stands at a place of the ruler that the head is told. */
  #pointTold(place) {
    const found = standsAt(this.sight, place);
    if (found.token !== undefined) return this.#point(found.token, true, found);
    this.#point(null);
    const [, t] = this.#scales();
    const { told: y } = this.rows;
    put(this.pointer, s("path", { class: "blind", d: `M${t(place).toFixed(1)},${y - 3}v15` }));
    this.player.tooltip.show(this.pointer, [this.#there(found)]);
  }

  #there({ token, depth, told }) {
    const key = token !== undefined ? "there" : depth ? "there_guess" : "there_none";
    return this.#say(key, { told: this.#num(round(told)), n: this.#num(token ?? 0), depth: this.#num(depth ?? 0) });
  }

  /** A token under the pointer, or under the arrow keys, and where the head is told it stands. */
  #point(position, tip = true, there = null) {
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
    const told = there?.told ?? toldAt(this.sight.seen, position);
    const at = x(position + 0.5).toFixed(1);
    const down = told === null ? "" : `V${bands}L${t(told + 0.5 * this.sight.spacing).toFixed(1)},${bottom + 9}`;
    put(this.pointer, s("path", { class: told === null ? "blind" : "line", d: `M${at},${map - 4}V${map + deep + 3}${down}` }));
    const [seen, words] = this.#told_(position, told);
    const where = there ? this.#there(there) : seen;
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
    const point = (event) => {
      if (!this.sight) return;
      const box = this.svg.getBoundingClientRect();
      const { left, end } = this.rows;
      const room = this.width - left - RIGHT;
      const scale = this.width / box.width;
      const share = ((event.clientX - box.left) * scale - left) / room;
      const inside = share >= 0 && share <= 1;
      // The lower ruler has its own scale.
      if (this.sight.seen && inside && (event.clientY - box.top) * scale >= end)
        return this.#pointTold(share * this.sight.told);
      const position = Math.floor(share * this.sight.end);
      this.#point(position >= 0 && position < this.sight.written ? position : null);
    };
    for (const name of ["pointermove", "pointerdown"]) this.svg.addEventListener(name, point);
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
