// Two runs on one clock: a block per step. Drawn once; only the playhead and a clip move.
import { h, put, s, text } from "./dom.js";
import { term } from "./tooltip.js";

const AXES = ["seconds", "passes", "tokens"];
const HEIGHT = 22;
const GAP = 6;

/** Ends of the blocks of a run along an axis. */
function ends(run, axis) {
  if (axis === "seconds") return run.ends;
  if (axis === "passes") return run.steps.map((_, i) => i + 1);
  return run.counts;
}

const first = (axis) => (axis === "tokens" ? 1 : 0);

export class Lanes {
  constructor(player) {
    this.player = player;
    this.axis = "seconds";
    this.width = 800;
    this.scaleMax = 1;
    this.clip = s("rect", { x: 0, y: 0, width: 0, height: 60 });
    this.blocks = s("g", { id: "sv-blocks" });
    this.past = s("g", { "clip-path": "url(#sv-past)" });
    this.head = s(
      "g",
      { class: "playhead" },
      s("line", { x1: 0, x2: 0, y1: -2, y2: 2 * HEIGHT + GAP + 2 }),
      s("path", { d: "M-5,-7 L5,-7 L0,0 Z" }),
    );
    this.hint = s("title");
    this.absent = s("text", { class: "absent", x: 4, y: 8 + HEIGHT + GAP + HEIGHT / 2 + 4.5 });
    this.svg = s(
      "svg",
      { class: "blocks", role: "img", onpointerdown: (e) => this.#point(e), onpointermove: (e) => this.#tell(e) },
      this.hint,
      s("defs", {}, s("clipPath", { id: "sv-past" }, this.clip)),
      s("g", { class: "rest", transform: "translate(0,8)" }, this.blocks),
      s("g", { transform: "translate(0,8)" }, this.past),
      this.absent,
      s("g", { transform: "translate(0,8)" }, this.head),
    );
    this.labels = [h("div", { class: "lane-name mine" }), h("div", { class: "lane-name" })];
    this.counts = [h("div", { class: "lane-count mine" }), h("div", { class: "lane-count" })];
    this.now = h("span", { class: "now" });
    this.axisBox = h("div", { class: "axis", role: "group" });
    this.note = term(player, "prefill", "");
    this.notice = h("span", { class: "notice", role: "status" });
    this.element = h(
      "section",
      { class: "lanes" },
      h("div", { class: "lane-names" }, this.labels),
      this.svg,
      h("div", { class: "lane-counts" }, this.counts),
      h("div", { class: "lane-foot" }, this.now, this.note, this.notice, this.axisBox),
    );
  }

  /** Redraw labels and blocks: new events, another width, axis or language. */
  refresh() {
    const { strings } = this.player;
    this.svg.setAttribute("aria-label", strings.say("player.lanes_label"));
    this.axisBox.setAttribute("aria-label", strings.say("player.axis_label"));
    put(
      this.axisBox,
      AXES.map((axis) =>
        h(
          "button",
          {
            type: "button",
            class: "seg",
            "aria-pressed": String(axis === this.axis),
            "data-axis": axis,
            onclick: () => {
              this.axis = axis;
              this.refresh();
              this.axisBox.querySelector(`[data-axis=${axis}]`).focus();
              this.player.draw();
            },
          },
          strings.say(`player.axis.${axis}`),
        ),
      ),
    );
    this.grow();
  }

  /** New events: names and blocks. */
  grow() {
    const { strings, model } = this.player;
    const name = model.decoder.header?.decoder ?? "";
    const key = `player.decoder.${name}`;
    text(this.labels[0], strings.has(key) ? strings.say(key) : name);
    text(this.labels[1], strings.say("player.plain"));
    const absent = this.player.payload.live ? "player.plain_later" : "player.plain_missing";
    text(this.absent, model.baseline.header || !name ? "" : strings.say(absent));
    const lead = model.decoder.prefill?.seconds;
    this.note.hidden = lead === undefined;
    if (lead !== undefined)
      text(this.note, strings.say("player.prefill_note", { time: strings.time(lead) }));
    [model.decoder, model.baseline].forEach((run, i) => {
      const counts = run.header ? this.#widest(run.counts.at(-1) ?? 1) : "";
      this.counts[i].setAttribute("data-widest", counts);
    });
    this.#blocks();
  }

  /** The longest text of a count up to `n`: words have forms of their own for some numbers. */
  #widest(n) {
    const { strings } = this.player;
    const said = Array.from({ length: 10 }, (_, k) => strings.say("player.count", { n: Math.max(0, n - k) }));
    return said.reduce((a, b) => (b.length > a.length ? b : a));
  }

  #blocks() {
    const { model } = this.player;
    const runs = [model.decoder, model.baseline].map((run) => ends(run, this.axis));
    this.scaleMax = Math.max(...runs.map((e) => e[e.length - 1] ?? 0), first(this.axis) + 1e-9);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${2 * HEIGHT + GAP + 12}`);
    this.blocks.replaceChildren(
      this.#lane(runs[0], model.decoder, 0),
      this.#lane(runs[1], model.baseline, 1),
    );
    this.past.replaceChildren(...[...this.blocks.childNodes].map((n) => n.cloneNode(true)));
  }

  #x(value) {
    const from = first(this.axis);
    return ((value - from) / (this.scaleMax - from || 1)) * (this.width - 2) + 1;
  }

  #lane(stops, run, lane) {
    const y = lane * (HEIGHT + GAP);
    const paths = new Map();
    const labels = [];
    let from = first(this.axis);
    // Some numbers and not others would look as if the others were zero.
    const narrowest = Math.min(...stops.map((to, i) => this.#x(to) - this.#x(stops[i - 1] ?? from)));
    stops.forEach((to, i) => {
      const x = this.#x(from);
      const w = this.#x(to) - x;
      const gap = w > 6 ? 1.5 : w > 3 ? 0.75 : 0;
      const emitted = run.steps[i].emitted.length;
      const shade = lane ? "plain" : `e${Math.min(emitted, 6)}`;
      const r = Math.min(3, Math.max(0, (w - gap) / 3));
      paths.set(shade, (paths.get(shade) ?? "") + block(x, y, Math.max(0.4, w - gap), HEIGHT, r));
      if (!lane && narrowest >= 14)
        labels.push(
          s(
            "text",
            { x: x + (w - gap) / 2, y: y + HEIGHT / 2 + 4.5, class: `n ${shade}` },
            String(emitted),
          ),
        );
      from = to;
    });
    return s(
      "g",
      { class: lane ? "lane base" : "lane" },
      [...paths].map(([c, d]) => s("path", { class: c, d })),
      labels,
    );
  }

  #step(event) {
    const box = this.svg.getBoundingClientRect();
    const { decoder } = this.player.model;
    const from = first(this.axis);
    const value = from + ((event.clientX - box.left) / box.width) * (this.scaleMax - from);
    const stops = ends(decoder, this.axis);
    const found = stops.findIndex((e) => e >= value);
    return found < 0 ? stops.length - 1 : found;
  }

  #point(event) {
    const step = this.#step(event);
    if (step >= 0) this.player.seekStep(step);
  }

  /** The number that a narrow block cannot hold. */
  #tell(event) {
    const { strings, model } = this.player;
    const found = this.#step(event);
    const step = model.decoder.steps[found];
    text(
      this.hint,
      step ? strings.say("player.block", { n: step.emitted.length, step: found + 1 }) : "",
    );
  }

  resize(width) {
    if (width > 0 && Math.abs(width - this.width) > 0.5) {
      this.width = width;
      this.#blocks();
      return true;
    }
    return false;
  }

  update(scene) {
    const { strings } = this.player;
    const { clock } = scene;
    this.#notice();
    const value =
      this.axis === "seconds"
        ? clock.seconds
        : this.axis === "passes"
          ? scene.place.phase === "finish" && scene.place.fraction >= 1
            ? Math.max(clock.passes, clock.baseline?.passes ?? 0)
            : clock.passes
          : scene.place.phase === "finish"
            ? Math.max(clock.tokens, clock.baseline?.tokens ?? 0)
            : clock.tokens;
    const x = this.#x(Math.max(value, first(this.axis)));
    this.clip.setAttribute("width", Math.max(0, x + 0.5).toFixed(1));
    this.head.setAttribute("transform", `translate(${x.toFixed(1)},0)`);
    text(
      this.now,
      this.axis === "seconds"
        ? strings.say("player.now_seconds", { time: strings.time(clock.seconds) })
        : strings.say(`player.now_${this.axis}`, { n: value }),
    );
    text(this.counts[0], strings.say("player.count", { n: clock.tokens }));
    const other = clock.baseline && this.#baseline(scene, value);
    text(this.counts[1], other === null ? "" : strings.say("player.count", { n: other }));
  }

  /** Why the player stands where it stands, when that was not a person's doing. */
  #notice() {
    const { strings, notice } = this.player;
    const key = `${notice}|${strings.lang}`;
    if (key === this.noticed) return;
    this.noticed = key;
    const back = () =>
      h(
        "button",
        { type: "button", class: "from-start", onclick: () => this.player.seek(0) },
        strings.say("player.notice.start"),
      );
    put(
      this.notice,
      notice ? strings.say(`player.notice.${notice}`) : "",
      notice === "opened" ? back() : null,
    );
  }

  /** How far plain decoding was at the playhead. */
  #baseline({ clock }, value) {
    const run = this.player.model.baseline;
    if (this.axis === "seconds") return clock.baseline.tokens;
    if (this.axis === "tokens") return Math.min(value, run.counts[run.counts.length - 1] ?? 0);
    return run.counts[Math.min(value, run.counts.length) - 1] ?? (run.prefill ? 1 : 0);
  }
}

function block(x, y, w, h, r) {
  const a = (v) => v.toFixed(2);
  return `M${a(x + r)},${y}h${a(w - 2 * r)}q${a(r)},0 ${a(r)},${a(r)}v${a(h - 2 * r)}q0,${a(r)} ${a(-r)},${a(r)}h${a(-(w - 2 * r))}q${a(-r)},0 ${a(-r)},${a(-r)}v${a(-(h - 2 * r))}q0,${a(-r)} ${a(r)},${a(-r)}z`;
}
