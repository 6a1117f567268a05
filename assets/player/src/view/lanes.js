// Two runs on one clock: a block per step. Drawn once; only the playhead and a clip move.
import { otherOf } from "../beside.js";
import { h, put, s, text } from "./dom.js";
import { GAP, HEIGHT, differences, lane } from "./blocks.js";
import { term } from "./tooltip.js";

const AXES = ["seconds", "passes", "tokens"];

/** Ends of the blocks of a run along an axis. */
function ends(run, axis) {
  if (axis === "seconds") return run.ends;
  if (axis === "passes") return run.steps.map((_, i) => i + 1);
  return run.counts;
}

const decoderName = (strings, name) =>
  strings.has(`player.decoder.${name}`) ? strings.say(`player.decoder.${name}`) : name;

const first = (axis) => (axis === "tokens" ? 1 : 0);

export class Lanes {
  constructor(player) {
    this.player = player;
    this.axis = "seconds";
    this.beside = null;
    this.width = 800;
    this.scaleMax = 1;
    const half = (i) => ({ x: 0, y: i * (HEIGHT + GAP / 2), width: 0, height: HEIGHT + GAP / 2 });
    this.clips = [s("rect", half(0)), s("rect", half(1))];
    this.blocks = s("g", { id: "sv-blocks" });
    this.past = s("g", { "clip-path": "url(#sv-past)" });
    // One playhead; where two runs are held at a token it comes apart on other axes.
    this.heads = [
      s("path", { d: `M-5,-7 L5,-7 L0,0 Z M-1,-2h2v${HEIGHT + GAP / 2 + 2}h-2z` }),
      s("path", { d: `M-1,${HEIGHT + GAP / 2}h2v${HEIGHT + GAP / 2 + 2}h-2z` }),
    ];
    this.differs = s("g", { transform: "translate(0,8)" });
    this.held = s("rect", { class: "held", y: -2, height: 2 * HEIGHT + GAP + 4, rx: 3 });
    this.hint = s("title");
    this.absent = s("text", { class: "absent", x: 4, y: 8 + HEIGHT + GAP + HEIGHT / 2 + 4.5 });
    this.svg = s(
      "svg",
      { class: "blocks", role: "img", onpointerdown: (e) => this.#point(e), onpointermove: (e) => this.#tell(e) },
      this.hint,
      s("defs", {}, s("clipPath", { id: "sv-past" }, this.clips)),
      s("g", { class: "rest", transform: "translate(0,8)" }, this.blocks),
      s("g", { transform: "translate(0,8)" }, this.past),
      this.absent,
      this.differs,
      s("g", { transform: "translate(0,8)" }, this.held),
      s("g", { class: "playhead", transform: "translate(0,8)" }, this.heads),
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

  /** Two runs that are held at a token are met on the axis that counts them. */
  align(on) {
    if (on === Boolean(this.before)) return;
    const axis = on ? "tokens" : this.before;
    this.before = on ? this.axis : null;
    this.axis = axis;
  }

  /** New events: names and blocks. */
  grow() {
    const { strings, model } = this.player;
    const name = model.decoder.header?.decoder ?? "";
    const other = this.#other();
    const said = decoderName(strings, name);
    const theirs = decoderName(strings, other?.model.decoder.header?.decoder ?? name);
    const called = (label, decoder) =>
      said === theirs ? label : strings.say("player.beside.lane", { name: label, decoder });
    text(this.labels[0], other ? called(other.mine, said) : said);
    text(this.labels[1], other ? called(other.name, theirs) : strings.say("player.plain"));
    for (const label of this.labels) label.title = other ? label.textContent : "";
    const absent = this.player.payload.live ? "player.plain_later" : "player.plain_missing";
    text(this.absent, other || model.baseline.header || !name ? "" : strings.say(absent));
    const lead = model.decoder.prefill?.seconds;
    this.note.hidden = lead === undefined;
    if (lead !== undefined)
      text(this.note, strings.say("player.prefill_note", { time: strings.time(lead) }));
    [model.decoder, other ? other.model.decoder : model.baseline].forEach((run, i) => {
      const counts = run.header ? this.#widest(run.counts.at(-1) ?? 1) : "";
      this.counts[i].setAttribute("data-widest", counts);
    });
    this.#blocks();
  }

  /** The run that stands in the second lane, where it is not plain decoding. */
  #other() {
    return this.player.compared ? otherOf(this.player.payload) : null;
  }

  /** The longest text of a count up to `n`: words have forms of their own for some numbers. */
  #widest(n) {
    const { strings } = this.player;
    const said = Array.from({ length: 10 }, (_, k) => strings.say("player.count", { n: Math.max(0, n - k) }));
    return said.reduce((a, b) => (b.length > a.length ? b : a));
  }

  #blocks() {
    const { model } = this.player;
    const other = this.#other();
    const second = other ? other.model.decoder : model.baseline;
    const runs = [model.decoder, second].map((run) => ends(run, this.axis));
    this.scaleMax = Math.max(...runs.map((e) => e[e.length - 1] ?? 0), first(this.axis) + 1e-9);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${2 * HEIGHT + GAP + 12}`);
    const shape = { x: (value) => this.#x(value), from: first(this.axis), plain: false };
    this.blocks.replaceChildren(
      lane(runs[0], model.decoder, { ...shape, y: 0 }),
      lane(runs[1], second, { ...shape, y: HEIGHT + GAP, plain: !other }),
    );
    put(this.differs, other && this.axis === "tokens" ? differences(other, (value) => this.#x(value)) : null);
    this.past.replaceChildren(...[...this.blocks.childNodes].map((n) => n.cloneNode(true)));
  }

  #x(value) {
    const from = first(this.axis);
    return ((value - from) / (this.scaleMax - from || 1)) * (this.width - 2) + 1;
  }

  #step(event, decoder = this.player.model.decoder) {
    const box = this.svg.getBoundingClientRect();
    const from = first(this.axis);
    const value = from + ((event.clientX - box.left) / box.width) * (this.scaleMax - from);
    const stops = ends(decoder, this.axis);
    const found = stops.findIndex((e) => e >= value);
    return found < 0 ? stops.length - 1 : found;
  }

  #point(event) {
    const other = this.#other();
    if (other && event.clientY - this.svg.getBoundingClientRect().top > 8 + HEIGHT + GAP / 2) {
      this.player.otherStep(this.#step(event, other.model.decoder));
      return;
    }
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
    const value = this.#value(scene, this.#other() ? null : clock.baseline);
    const other = this.#besideValue(scene);
    for (const [lane, at] of [value, other ?? value].entries()) {
      const x = this.#x(Math.max(at, first(this.axis)));
      this.clips[lane].setAttribute("width", Math.max(0, x + 0.5).toFixed(1));
      this.heads[lane].setAttribute("transform", `translate(${x.toFixed(1)},0)`);
    }
    this.#holding();
    text(
      this.now,
      this.axis === "seconds"
        ? strings.say("player.now_seconds", { time: strings.time(clock.seconds) })
        : strings.say(`player.now_${this.axis}`, { n: value }),
    );
    text(this.counts[0], strings.say("player.count", { n: clock.tokens }));
    const plain = this.#other() ? this.beside.tokens : clock.baseline && this.#baseline(scene, value);
    text(this.counts[1], plain === null ? "" : strings.say("player.count", { n: plain }));
  }

  /** The token that both runs are held at, where the axis counts tokens. */
  #holding() {
    const on = this.#other() !== null && this.axis === "tokens" && this.player.heldAt > 0;
    this.held.style.display = on ? "" : "none";
    if (!on) return;
    const from = this.#x(this.player.heldAt);
    this.held.setAttribute("x", (from - 1).toFixed(1));
    this.held.setAttribute("width", (this.#x(this.player.heldAt + 1) - from + 1).toFixed(1));
  }

  /** Where a scene is on the axis; at the end as far as `longer`, which may have taken more. */
  #value({ clock, place }, longer) {
    if (this.axis === "seconds") return clock.seconds;
    const over = place.phase === "finish" && (this.axis === "tokens" || place.fraction >= 1);
    return over ? Math.max(clock[this.axis], longer?.[this.axis] ?? 0) : clock[this.axis];
  }

  /** The same of the other run, which is held at the same token. */
  #besideValue(scene) {
    const other = this.player.beside.at(scene);
    if (!other) return null;
    this.beside = other.clock;
    return this.beside[this.axis];
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
