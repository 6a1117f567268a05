// A lesson in the player: it stands at a stop, covers what would give the answer away, and plays on to it.
import { Course, exampleOf, timeOf } from "../lesson.js";
import { h, put } from "./dom.js";
import { LessonCard } from "./lessoncard.js";

const VEILS = ["memory", "sight", "head"];
const SPOKEN_AFTER = 250; // ms: one announcement for everything that changes at once

export class LessonView {
  constructor(player) {
    this.player = player;
    this.course = null;
    this.opened = "";
    this.refused = false; // the host cannot open the recording of this stop now
    this.voice = h("div", { class: "voice", "aria-live": "polite", "aria-atomic": "true" });
    this.card = h("div", { class: "lesson-card" });
    this.words = new LessonCard(this);
    this.element = h(
      "section",
      { class: "lesson", tabindex: "-1", hidden: true },
      this.card,
      this.voice,
    );
  }

  get on() {
    return this.course !== null;
  }

  /** {lesson, stop} as an address says it; null outside of a lesson. */
  get place() {
    return this.on ? { lesson: this.course.lesson.name, stop: this.course.at + 1 } : null;
  }

  // What a person or a host does

  start(lesson, stop = 1) {
    const { player } = this;
    if (!this.on) this.before = { loop: player.loop, reveal: player.reveal };
    player.loop = player.reveal = false;
    this.course = new Course(lesson, stop);
    player.element.classList.add("lessons");
    this.element.hidden = false;
    this.#arrive();
    player.transport.refresh();
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** The player stays where it is. */
  leave() {
    if (!this.on) return;
    const { player, before } = this;
    const held = this.#held();
    this.course = null;
    this.opened = "";
    this.element.hidden = true;
    player.element.classList.remove("lessons", "told-head", ...VEILS.map((v) => `veil-${v}`));
    player.loop = before.loop;
    player.reveal = before.reveal;
    clearTimeout(this.timer);
    put(this.voice);
    player.version++;
    player.setProbe(player.probe ?? player.model.probes.length - 1);
    player.transport.refresh();
    if (held) player.element.focus({ preventScroll: true });
    player.onLesson?.(null);
  }

  choose(answer) {
    if (!this.ready || !this.course.choose(answer)) return;
    this.#reveal();
  }

  /** Enter, or the button: on from what was told; while it plays, to its end; or show the answer. */
  go() {
    const { course } = this;
    if (!this.ready && course.phase !== "score") return;
    if (course.phase === "ask") this.choose(-1);
    else if (course.phase === "play") this.arrived(true);
    else if (course.phase === "told") {
      course.next();
      this.#arrive();
    } else this.leave();
  }

  /** To stop `i`, from 0; without one to where the course stands, once more. */
  visit(i = this.course.at) {
    this.course.to(i);
    this.#arrive();
  }

  /** Whether it took the key. */
  key(event) {
    if (/^[1-9]$/.test(event.key)) {
      if (this.course.phase === "ask") this.choose(+event.key - 1);
      return true;
    }
    if (event.key !== "Enter" || event.target.closest?.("button, a")) return false;
    // What is asked wants an answer: Enter alone gives none away by accident.
    if (this.course.phase !== "ask") this.go();
    return true;
  }

  // What the player tells

  /** Another run was loaded: the one of this stop, or one that a person chose instead. */
  loaded() {
    if (!this.on) return;
    if (this.ready) this.#arrive();
    else if (!this.player.payload.live && this.opened !== "") return;
    else this.leave();
  }

  /** The playing has stopped, by itself or by hand; `now`: it shall. */
  arrived(now = false) {
    if (!this.ready || this.course.phase !== "play") return;
    this.course.told();
    const { player } = this;
    if (now) player.pause();
    this.#stand(this.course.stop.told);
    this.#show();
    this.card.querySelector(".go")?.focus({ preventScroll: true });
  }

  get ready() {
    const { run_id, other } = this.player.payload;
    return this.on && !other && exampleOf(run_id) === this.course.stop.example;
  }

  /** Stand where the stop is, or ask for its recording. */
  #arrive() {
    const { player, course } = this;
    const { phase } = course;
    if (phase !== "score" && !this.ready) {
      if (this.opened !== course.stop.example) {
        this.opened = course.stop.example;
        this.refused = player.onOpen?.(course.stop.example) === false;
        if (this.refused) this.opened = "";
      }
    } else if (phase !== "score") {
      this.opened = "";
      player.pause();
      this.#stand(phase === "ask" ? course.stop.asked : course.stop.told);
    }
    this.#show();
    this.element.focus({ preventScroll: true });
    player.onLesson?.(this.place);
  }

  #reveal() {
    const { player, course } = this;
    const to = timeOf(player.beats, course.stop.told);
    this.#show();
    if (player.still.matches || to <= player.t + 1e-9) return this.arrived();
    player.follow = false;
    return player.playTo(to);
  }

  #stand(place) {
    const { player, course } = this;
    player.follow = false;
    player.notice = null;
    player.go(timeOf(player.beats, place));
    player.chosen = course.stop.node;
    if (place.probe !== undefined) player.setProbe(place.probe);
    else player.draw();
  }

  // What is drawn

  /** Another language, or a larger type. */
  refresh() {
    if (this.on) this.#show(false);
  }

  #say(key, params) {
    return this.player.strings.say(`player.lesson.${key}`, params);
  }

  #held() {
    const active = this.element.getRootNode().activeElement;
    return active !== null && this.element.contains(active);
  }

  #show(speak = true) {
    const { player, course } = this;
    const { lesson, phase } = course;
    const asking = phase === "ask" && this.ready;
    const veiled = asking ? course.stop.veils : [];
    // The verdict on the run stays covered until a stop has asked for it.
    const verdict = phase === "score" || (phase === "told" && course.stop.veils.includes("head"));
    player.element.classList.toggle("told-head", verdict);
    for (const veil of VEILS) player.element.classList.toggle(`veil-${veil}`, veiled.includes(veil));
    const title = player.strings.say(`lesson.${lesson.name}.title`);
    this.element.setAttribute("aria-label", this.#say("region", { title }));
    put(this.card, this.words.head(title), this.words.body());
    this.element.dataset.phase = this.ready || phase === "score" ? phase : "away";
    if (speak) this.#speak();
  }

  /** Tell a screen reader what the card says now. */
  #speak() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (!this.on) return;
      const { at, length, phase, lesson } = this.course;
      const text = (s) => [...this.card.querySelectorAll(s)].map((e) => e.textContent);
      const answers = text(".choice > span").map((said, i) => `${i + 1}: ${said}.`);
      const where = this.#say("stop", { n: at + 1, of: length });
      const parts =
        phase === "ask" && this.ready
          ? [where, ...text(".say"), ...text(".question"), ...answers]
          : phase === "play" ? text(".hint") : text(".told");
      put(this.voice, (at || phase !== "ask" ? parts : [this.#title(lesson), ...parts]).join(" "));
    }, SPOKEN_AFTER);
  }

  #title(lesson) {
    return `${this.player.strings.say(`lesson.${lesson.name}.title`)}.`;
  }
}
