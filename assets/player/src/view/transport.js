// Play, step, jump, and the scrub bar under the overview of the run.
import { ANSWERED } from "../facts.js";
import { h, put, s, text } from "./dom.js";
import { Overview } from "./overview.js";

export const SPEEDS = ["0.25", "0.5", "1", "2", "4", "8", "real"];

// Drawn, not written: many fonts lack these signs or turn them into emoji.
const ICONS = {
  play: "M4,2 L15,8.5 L4,15z",
  pause: "M3,2h4v13h-4z M10,2h4v13h-4z",
  back: "M12,3 L5,8.5 L12,14z",
  on: "M5,3 L12,8.5 L5,14z",
  back2: "M8.5,3 L2,8.5 L8.5,14z M15,3 L8.5,8.5 L15,14z",
  on2: "M2,3 L8.5,8.5 L2,14z M8.5,3 L15,8.5 L8.5,14z",
  cross:
    "M3,4.5 L4.5,3 L8.5,7 L12.5,3 L14,4.5 L10,8.5 L14,12.5 L12.5,14 L8.5,10 L4.5,14 L3,12.5 L7,8.5z",
  share: "M8.5,1 L13,5.5 L11.7,6.8 L9.4,4.5 V11 H7.6 V4.5 L5.3,6.8 L4,5.5z M2.5,8.5h1.8v5.2h8.4v-5.2h1.8v7h-12z",
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
    this.overview = new Overview(player);
    this.whole = h("span", { class: "unseen", id: "sv-whole" });
    this.ahead = h("i", { class: "ahead" });
    this.fill = h("i", { class: "done" });
    this.thumb = h("i", { class: "thumb" });
    this.bar = h(
      "div",
      { class: "scrub", role: "slider", tabindex: "0", "aria-describedby": "sv-whole" },
      this.overview.svg,
      this.ahead,
      h("i", { class: "track" }),
      this.fill,
      this.thumb,
    );
    this.row = h("div", { class: "button-row" }, this.buttons, this.switches);
    this.element = h(
      "section",
      { class: "transport" },
      h("div", { class: "scrub-row" }, this.play, this.bar, this.where, this.whole),
      this.row,
    );
    this.#drag();
  }

  refresh() {
    const { strings, player } = { strings: this.player.strings, player: this.player };
    const name = (key) => strings.say(`player.button.${key}`);
    // What stands on a button; its name and its tooltip say it in full.
    const word = (key) =>
      strings.has(`player.button_short.${key}`) ? strings.say(`player.button_short.${key}`) : name(key);
    // Where there is no room for words, "✗ ▸" still says that it goes to the next one.
    const button = (key, signs, act, keys) =>
      h(
        "button",
        {
          type: "button",
          "data-act": key,
          "aria-label": name(key),
          title: `${name(key)} (${keys})`,
          onclick: act,
        },
        signs.map(icon),
        h("span", { class: "word" }, word(key)),
      );
    const kept = this.#focusedAct();
    put(
      this.buttons,
      button("step_back", ["back2"], () => player.stepBy(-1), "Shift+←"),
      button("event_back", ["back"], () => player.eventBy(-1), "←"),
      button("event_next", ["on"], () => player.eventBy(1), "→"),
      button("step_next", ["on2"], () => player.stepBy(1), "Shift+→"),
      button("next_miss", ["cross", "on"], () => player.next("miss"), "R"),
      button("next_full", ["check", "on"], () => player.next("full"), "A"),
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
          "aria-label": name(key),
          title: `${name(key)} (${keys})`,
          onclick: () => player.set(key, !player[key]),
        },
        word(key),
      );
    put(
      this.switches,
      this.speed,
      toggle("loop", "L"),
      toggle("reveal", "P"),
      toggle("expert", "E"),
      toggle("projector", "B"),
      player.payload.other ? toggle("pair", "C") : null,
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
          "data-act": "share",
          "aria-label": name("share"),
          title: `${name("share")} (S)`,
          onclick: () => player.share.toggle(),
        },
        icon("share"),
      ),
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
    this.#draw();
    this.#fit();
    if (kept) this.element.querySelector(`[data-act=${kept}]`)?.focus();
  }

  /** New events: more columns. */
  grow() {
    this.#draw();
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
    this.#draw();
    this.#fit();
    return true;
  }

  /** One row of buttons: words give way to their signs first, then the stage gives up the height. */
  #fit() {
    const rows = () => {
      const all = [...this.buttons.children, ...this.switches.children].filter((b) => b.offsetHeight);
      return new Set(all.map((b) => Math.round(b.offsetTop + b.offsetHeight / 2))).size;
    };
    const { row } = this;
    row.classList.remove("tight");
    if (rows() > 1) row.classList.add("tight");
    const more = Math.max(0, rows() - 1) * ((row.querySelector("button")?.offsetHeight ?? 0) + 6);
    this.player.element?.style.setProperty("--rows", `${more}px`);
  }

  #draw() {
    const { steps } = this.player.model.decoder;
    this.overview.draw(this.width, (step) => this.#x(step));
    text(this.whole, this.player.lesson.on ? "" : this.overview.label()); // it gives answers away
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
    // The column of the step that is shown is bright as a whole, unless it would answer what is asked.
    const asked = this.player.reveal && place.step >= 0 && !ANSWERED.includes(place.phase);
    this.known = asked ? place.step - 1 : place.step;
    const rest = Math.max(0, this.width - (asked ? this.#x(this.known) : x) - this.overview.half);
    this.ahead.classList.toggle("secret", this.player.reveal);
    this.ahead.style.transform = `scaleX(${(rest / this.width).toFixed(4)})`;
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
      this.play.title = `${name} (${strings.say("player.keys.space.name")})`;
    }
  }

  #drag() {
    let held = false;
    let asked = 0;
    let x = 0;
    const step = () => {
      const box = this.bar.getBoundingClientRect();
      const steps = this.player.model.decoder.steps.length;
      const share = (x - box.left - 8) / Math.max(1, box.width - 16);
      return Math.round(share * steps) - 1;
    };
    const go = () => {
      asked = 0;
      this.player.seekStep(step(), true);
    };
    this.bar.addEventListener("pointerdown", (e) => {
      held = true;
      this.bar.setPointerCapture(e.pointerId);
      x = e.clientX;
      go();
    });
    this.bar.addEventListener("pointermove", (e) => {
      x = e.clientX;
      if (!held) {
        const secret = this.player.lesson.on || (this.player.reveal && step() > this.known);
        this.bar.title = secret ? "" : this.overview.told(step());
        return;
      }
      asked ||= requestAnimationFrame(go);
    });
    for (const end of ["pointerup", "pointercancel"])
      this.bar.addEventListener(end, () => (held = false));
  }
}
