// Play, step, jump, and the scrub bar with its marks.
import { outcome } from "../model.js";
import { h, put, s, text } from "./dom.js";

export const SPEEDS = ["0.25", "0.5", "1", "2", "4", "8", "real"];
const MARK_HEIGHT = 16;

// Drawn, not written: many fonts lack these signs or turn them into emoji.
const ICONS = {
  play: "M4,2 L15,8.5 L4,15z",
  pause: "M3,2h4v13h-4z M10,2h4v13h-4z",
  back: "M12,3 L5,8.5 L12,14z",
  on: "M5,3 L12,8.5 L5,14z",
  back2: "M14,3 L7,8.5 L14,14z M3,3h2.5v11h-2.5z",
  on2: "M3,3 L10,8.5 L3,14z M11.5,3h2.5v11h-2.5z",
  cross:
    "M3,4.5 L4.5,3 L8.5,7 L12.5,3 L14,4.5 L10,8.5 L14,12.5 L12.5,14 L8.5,10 L4.5,14 L3,12.5 L7,8.5z",
  check: "M2.5,9 L4.2,7.3 L7,10 L13,3.6 L14.7,5.2 L7,13.4z",
};

const icon = (name) =>
  s(
    "svg",
    { class: "sign", viewBox: "0 0 17 17", width: 17, height: 17, "aria-hidden": "true" },
    s("path", { d: ICONS[name] }),
  );

export class Transport {
  constructor(player) {
    this.player = player;
    this.width = 800;
    this.play = h("button", { type: "button", class: "play", onclick: () => player.toggle() });
    this.buttons = h("div", { class: "buttons" });
    this.switches = h("div", { class: "switches" });
    this.where = h("span", { class: "step-of" });
    this.marks = s("svg", { class: "marks", "aria-hidden": "true", preserveAspectRatio: "none" });
    this.fill = h("i", { class: "done" });
    this.thumb = h("i", { class: "thumb" });
    this.bar = h(
      "div",
      { class: "scrub", role: "slider", tabindex: "0" },
      this.marks,
      h("i", { class: "track" }),
      this.fill,
      this.thumb,
    );
    this.element = h(
      "section",
      { class: "transport" },
      h("div", { class: "scrub-row" }, this.play, this.bar, this.where),
      h("div", { class: "button-row" }, this.buttons, this.switches),
    );
    this.#drag();
  }

  refresh() {
    const { strings, player } = { strings: this.player.strings, player: this.player };
    const name = (key) => strings.say(`player.button.${key}`);
    const button = (key, sign, act, keys) =>
      h(
        "button",
        { type: "button", "data-act": key, title: `${name(key)} (${keys})`, onclick: act },
        icon(sign),
        h("span", { class: "word" }, name(key)),
      );
    const kept = this.#focusedAct();
    put(
      this.buttons,
      button("step_back", "back2", () => player.stepBy(-1), "Shift+←"),
      button("event_back", "back", () => player.eventBy(-1), "←"),
      button("event_next", "on", () => player.eventBy(1), "→"),
      button("step_next", "on2", () => player.stepBy(1), "Shift+→"),
      button("next_miss", "cross", () => player.next("miss"), "R"),
      button("next_full", "check", () => player.next("full"), "A"),
    );
    this.speed = h(
      "select",
      {
        class: "speed-box",
        "aria-label": name("speed"),
        title: name("speed"),
        onchange: (e) => player.set("speed", e.target.value),
      },
      SPEEDS.map((v) =>
        h(
          "option",
          { value: v },
          v === "real"
            ? strings.say("player.speed_real")
            : strings.say("player.times", {
                value: strings.num(+v, v.includes(".") ? v.split(".")[1].length : 0),
              }),
        ),
      ),
    );
    this.speed.value = player.speed;
    const toggle = (key, keys) =>
      h(
        "button",
        {
          type: "button",
          class: "switch",
          "data-act": key,
          "aria-pressed": String(player[key]),
          title: `${name(key)} (${keys})`,
          onclick: () => player.set(key, !player[key]),
        },
        name(key),
      );
    put(
      this.switches,
      this.speed,
      toggle("loop", "L"),
      toggle("reveal", "P"),
      toggle("expert", "E"),
      toggle("projector", "B"),
      player.payload.live || player.followed
        ? h(
            "button",
            {
              type: "button",
              class: "switch live",
              "data-act": "follow",
              "aria-pressed": String(player.follow),
              onclick: () => player.goLive(),
            },
            name("follow"),
          )
        : null,
      h(
        "button",
        {
          type: "button",
          class: "help-button",
          "data-act": "help",
          "aria-label": name("help"),
          title: `${name("help")} (?)`,
          onclick: () => player.help.toggle(),
        },
        "?",
      ),
    );
    this.bar.setAttribute("aria-label", strings.say("player.scrub_label"));
    this.playing = null;
    this.followKey = this.#followKey();
    this.#marks();
    if (kept) this.element.querySelector(`[data-act=${kept}]`)?.focus();
  }

  /** New events: more marks. */
  grow() {
    this.#marks();
  }

  #followKey() {
    const { payload, followed, follow } = this.player;
    return `${Boolean(payload.live || followed)}|${follow}`;
  }

  #focusedAct() {
    return this.element.getRootNode().activeElement?.getAttribute?.("data-act");
  }

  resize(width) {
    if (width <= 0 || Math.abs(width - this.width) < 0.5) return false;
    this.width = width;
    this.#marks();
    return true;
  }

  /** Ticks per outcome, different in height and place as well as in colour. */
  #marks() {
    const { steps } = this.player.model.decoder;
    const paths = { full: "", partial: "", reject: "", none: "" };
    const shapes = { full: [2, 11], partial: [8, 5], reject: [9, 7], none: [11, 2] };
    steps.forEach((step, i) => {
      const kind = outcome(step);
      const x = this.#x(i);
      if (kind === "reject") paths.reject += `M${(x - 2.2).toFixed(1)},8l4.4,5m0,-5l-4.4,5`;
      else paths[kind] += `M${x.toFixed(1)},${shapes[kind][0]}v${shapes[kind][1]}`;
    });
    this.marks.setAttribute("viewBox", `0 0 ${this.width} ${MARK_HEIGHT}`);
    put(
      this.marks,
      Object.entries(paths)
        .filter(([, d]) => d)
        .map(([kind, d]) => s("path", { class: `m-${kind}`, d })),
    );
    this.bar.setAttribute("aria-valuemin", 1);
    this.bar.setAttribute("aria-valuemax", Math.max(1, steps.length));
    const last = { step: steps.length, steps: steps.length };
    this.where.setAttribute("data-widest", this.player.strings.say("player.step_of", last));
  }

  /** Where a step's end lies on the bar; the first position is the prefill. */
  #x(step) {
    const n = this.player.model.decoder.steps.length;
    return 8 + (n > 0 ? (step + 1) / n : 0) * (this.width - 16);
  }

  update(scene) {
    if (this.followKey !== this.#followKey()) this.refresh();
    const { strings, playing } = this.player;
    const { place, steps } = scene;
    const beats = this.player.beats;
    let at = place.step;
    if (place.step >= 0 && place.phase !== "finish") {
      const from = beats.starts[place.step];
      at =
        place.step -
        1 +
        (place.beat - from + place.fraction) / (beats.endOf(place.step) - from + 1);
    }
    const x = this.#x(at);
    this.thumb.style.transform = `translateX(${(x - 10).toFixed(1)}px)`;
    this.fill.style.transform = `scaleX(${(x / this.width).toFixed(4)})`;
    const label =
      place.step < 0
        ? strings.say("player.at_prefill")
        : strings.say("player.step_of", { step: place.step + 1, steps });
    if (this.said !== label) {
      this.said = label;
      text(this.where, label);
      this.bar.setAttribute("aria-valuenow", Math.max(1, place.step + 1));
      this.bar.setAttribute("aria-valuetext", label);
    }
    if (this.playing !== playing) {
      this.playing = playing;
      put(this.play, icon(playing ? "pause" : "play"));
      const name = strings.say(`player.button.${playing ? "pause" : "play"}`);
      this.play.setAttribute("aria-label", name);
      this.play.title = `${name} (Space)`;
    }
  }

  #drag() {
    let held = false;
    let asked = 0;
    let x = 0;
    const go = () => {
      asked = 0;
      const box = this.bar.getBoundingClientRect();
      const steps = this.player.model.decoder.steps.length;
      const share = (x - box.left - 8) / Math.max(1, box.width - 16);
      this.player.seekStep(Math.round(share * steps) - 1, true);
    };
    this.bar.addEventListener("pointerdown", (e) => {
      held = true;
      this.bar.setPointerCapture(e.pointerId);
      x = e.clientX;
      go();
    });
    this.bar.addEventListener("pointermove", (e) => {
      if (!held) return;
      x = e.clientX;
      asked ||= requestAnimationFrame(go);
    });
    for (const end of ["pointerup", "pointercancel"])
      this.bar.addEventListener(end, () => (held = false));
  }
}
