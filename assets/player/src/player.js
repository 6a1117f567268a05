// The player: holds the time, listens, and lets the painters draw scene(payload, time).
import { Feed } from "./feed.js";
import { keys } from "./keys.js";
import { modelOf } from "./model.js";
import { Motion } from "./motion.js";
import { Moves } from "./moves.js";
import { pictures } from "./pictures.js";
import { beatsOf, scene } from "./scene.js";
import { Stream } from "./stream.js";
import { Strings } from "./strings.js";
import { frame, theme } from "./view/frame.js";

const NOTHING = () => ({
  version: 1,
  run_id: "",
  events: [],
  total: 0,
  live: false,
  stage: null,
  summary: null,
  start_step: null,
});

export class Player extends Moves {
  constructor(host, { strings = {}, lang = "en", fetchEvents = null, ...hooks } = {}) {
    super();
    this.strings = new Strings(strings, lang);
    this.stream = new Stream(this, fetchEvents);
    this.onState = hooks.onState ?? null;
    this.linkTo = hooks.linkTo ?? null; // (preset, step from 1) -> the address of a step
    this.saveHtml = hooks.saveHtml ?? null; // hands out the run as one file
    this.lessonLink = hooks.lessonLink ?? null; // (lesson, stop) -> the address of a stop
    this.onOpen = hooks.onOpen ?? null; // (example): show another recorded run; false: not now
    this.onLesson = hooks.onLesson ?? null; // ({lesson, stop} or null)
    this.opening = hooks.opening ?? null; // {title, decoder} of the run that an empty stage waits for
    this.speed = "1";
    this.loop = this.reveal = this.expert = this.projector = false;
    this.playing = this.follow = this.followed = this.narrow = this.wide = false;
    this.pair = true; // a second run, where there is one, stands beside the first
    this.chosen = this.notice = this.until = null;
    this.held = null; // the token that two runs are held at, where it is not the step's first
    this.probe = 0; // which of what other pictures changed is shown; null: none
    this.version = 0;
    this.t = 0;
    this.width = 1200;
    this.motion = new Motion(this);
    this.feed = new Feed(NOTHING());
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    Object.assign(this, frame(this, host));
    this.unkey = keys(this);
    this.untheme = theme(this.element, host);
    this.sizes = new ResizeObserver(() => this.#measure());
    for (const part of [this.element, ...this.sized.map(([box]) => box)]) this.sizes.observe(part);
    this.#events(true);
  }

  get payload() {
    return this.feed.payload;
  }

  get model() {
    return modelOf(this.payload);
  }

  get beats() {
    return beatsOf(this.payload);
  }

  /** A run, {title, decoder}, is on its way to a stage that is still empty. */
  open(opening) {
    if (this.payload.events.length) return;
    this.opening = opening;
    this.version++;
    this.#events(true);
  }

  /** Show another run from its start step, paused. */
  load(payload) {
    this.opening = null;
    this.feed = new Feed({ ...NOTHING(), ...payload, events: [...(payload.events ?? [])] });
    this.pause();
    this.follow = this.followed = Boolean(payload.live);
    this.stream.asking = null;
    this.text.reset();
    this.text.last = 0;
    this.forget();
    this.version++;
    const start = this.model.decoder.steps.findIndex((s) => s.index === payload.start_step);
    this.t = this.follow ? this.beats.last : start >= 0 ? this.beats.endOf(start) : 0;
    this.chosen = this.held = null;
    this.pair = true;
    this.lanes.align(Boolean(payload.other));
    this.probe = this.model.probes.length - 1;
    this.pictures.rest();
    const instructive = payload.instructive && start > 0 && !this.follow;
    this.notice = instructive ? "opened" : null;
    this.#events(true);
    if (!this.follow && this.payload.events.length) this.#takeFocus();
    this.lesson.loaded();
  }

  /** Keys work at once, unless a person is typing or choosing something. */
  #takeFocus() {
    const held = document.activeElement;
    if (held?.closest("input, textarea, select, [contenteditable], [role=option]")) return;
    // The ring shows as soon as a key is used; nobody asked for it yet.
    this.element.classList.add("led");
    this.element.focus({ preventScroll: true });
  }

  /** Take in what a running decoder sent: events numbered from `update.first`. */
  push(update) {
    this.opening = null;
    this.stream.push(update);
  }

  /** More of the run that is shown has arrived. */
  grown() {
    this.version++;
    this.#events(false);
    if (this.playing) this.motion.start();
    if (!this.follow) return;
    if (this.still.matches) this.go(this.beats.last);
    else this.motion.start();
  }

  /** Another language; the place is kept. */
  setStrings(strings, lang = "en") {
    this.strings = new Strings(strings, lang);
    this.text.reset();
    this.text.last = 0;
    this.forget();
    this.version++;
    this.#events(true);
  }

  /** Cached layouts hold no longer. */
  forget() {
    for (const view of this.views) view.forget?.();
  }

  /** Whether a second run is shown beside this one. */
  get compared() {
    return Boolean(this.payload.other) && this.pair;
  }

  /** What this run is called where it stands beside another. */
  get label() {
    return this.compared ? this.payload.other.mine : "";
  }

  #events(all) {
    this.element.classList.toggle("paired", this.compared);
    this.element.classList.toggle("opening", this.opening !== null);
    const awaited = this.opening?.decoder; // whose stage is laid out at once, so that nothing jumps
    // A run with waves keeps their larger stage in steps that have none.
    // A run that is still loading keeps the stage of the one before: nobody knows yet what it needs.
    if (this.payload.events.length || !this.payload.live) {
      // Beside another run the stage has no room for what a wave or a head needs.
      this.element.classList.toggle("waves", (this.model.waves || awaited === "das_wave") && !this.compared);
      this.element.classList.toggle("heads", (this.model.heads || awaited === "window") && !this.compared);
      this.element.classList.toggle("pictured", pictures(this.model).length > 0);
      this.element.classList.toggle("probed", this.model.probes.length > 0);
    }
    this.#keepFocus(() => {
      for (const view of this.views) {
        if (all) view.refresh?.();
        else view.grow?.();
      }
    });
    this.draw();
  }

  /** Redrawing may remove the element that has the focus: the player takes it, keys go on. */
  #keepFocus(act) {
    const held = this.element.getRootNode().activeElement;
    act();
    if (held && !held.isConnected) this.element.focus({ preventScroll: true });
  }

  #measure() {
    const width = this.element.clientWidth;
    const narrow = width < 600;
    const wide = width >= 1500;
    if (narrow !== this.narrow || wide !== this.wide) this.forget();
    this.narrow = narrow;
    this.wide = wide;
    const changed = [width !== this.width, ...this.sized.map(([box, resize]) => resize(box)), this.beside.measure()];
    this.width = width;
    if (changed.some(Boolean)) this.draw();
  }

  /** Draw the scene of now. */
  draw() {
    const before = this.scene;
    this.scene = scene(this.payload, this.t, this.chosen, this.probe);
    if (before && before.place.step !== this.scene.place.step && this.tooltip.open)
      this.tooltip.hide();
    this.#keepFocus(() => {
      for (const view of this.views) view.update?.(this.scene);
    });
    this.text.follow();
    const { place } = this.scene;
    const key = `${this.payload.run_id}|${place.beat}|${this.playing}`;
    if (key !== this.told) {
      this.told = key;
      this.onState?.(this.state());
    }
  }

  go(t) {
    const next = Math.min(Math.max(t, 0), this.beats.last);
    const step = this.beats.at(next).step;
    if (step !== this.scene?.place.step) this.chosen = null;
    this.t = next;
    this.draw();
  }

  choose(node) {
    this.chosen = node === this.chosen ? null : node;
    this.pause();
    this.draw();
  }

  set(name, value) {
    this[name] = value;
    this.element.classList.toggle("projector", this.projector);
    // For the page around the player: in big type it shows nothing else.
    this.element.getRootNode().host?.toggleAttribute("data-big", this.projector);
    if (name === "projector") this.forget();
    if (name === "reveal") this.version++;
    if (name === "pair") this.#events(true);
    this.transport.refresh();
    this.draw();
  }

  /** Look at what another picture changed: the number of a probe, or null for none. */
  setProbe(index) {
    this.probe = index;
    this.version++;
    for (const view of [this.pictures, this.text]) view.refresh();
    this.draw();
  }

  goLive() {
    this.follow = true;
    this.go(this.beats.last);
    this.transport.refresh();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.t >= this.beats.last - 1e-9 && !this.payload.live) this.go(0);
    this.playing = true;
    this.notice = null;
    this.motion.start();
    this.draw();
  }

  pause() {
    const was = this.playing;
    this.playing = false;
    this.until = null;
    this.motion.stop();
    if (!was) return;
    this.draw();
    this.lesson.arrived();
  }

  /** Play on to time `t` and no farther. */
  playTo(t) {
    this.until = t;
    this.play();
  }

  /** Begin a lesson, one of those that the page made as plain data, at a stop counted from 1. */
  startLesson(lesson, stop = 1) {
    this.lesson.start(lesson, stop);
  }

  leaveLesson() {
    this.lesson.leave();
  }

  /** For tests and hosts: where the player is. */
  state() {
    const { place, step } = this.scene;
    return {
      run: this.payload.run_id,
      step,
      phase: place.phase,
      beat: place.beat,
      time: this.t,
      playing: this.playing,
      follow: this.follow,
      events: this.payload.events.length,
      drawn: Number(this.tree.svg.getAttribute("data-step")),
      tokens: this.scene.tokens,
      focus: this.scene.focus,
      probe: this.model.probes[this.probe]?.kind ?? null,
      lesson: this.lesson.place,
    };
  }

  destroy() {
    this.destroyed = true;
    this.motion.stop();
    this.unkey();
    this.untheme();
    this.sizes.disconnect();
    this.caption.destroy();
    this.element.remove();
  }
}
