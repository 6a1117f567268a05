// Playing: how the player's time moves, and where it stops.

export class Motion {
  constructor(player) {
    this.player = player;
    this.tick = 0;
    this.waited = 0;
  }

  stop() {
    cancelAnimationFrame(this.tick);
    this.tick = 0;
  }

  /** Go on from here, frame by frame. */
  start() {
    if (this.tick) return;
    this.then = performance.now();
    this.tick = requestAnimationFrame((now) => this.#advance(now));
  }

  #advance(now) {
    const { player } = this;
    this.tick = 0;
    if (player.destroyed || !(player.playing || player.follow)) return;
    const { goal, rate } = this.#aim();
    const elapsed = Math.min(250, now - this.then);
    if (player.still.matches) {
      const whole = Math.floor(player.t + 1e-9);
      this.waited += elapsed * rate;
      const wait = Math.max(
        220,
        player.beats.milliseconds(player.beats.at(Math.min(whole + 1, player.beats.last))),
      );
      if (this.waited >= wait) {
        this.waited = 0;
        player.go(Math.min(whole + 1, goal));
      }
    } else player.go(this.#travel(elapsed, rate, goal));
    this.then = now;
    if (player.t < goal - 1e-9) this.tick = requestAnimationFrame((n) => this.#advance(n));
    else this.#arrived(goal);
  }

  /** Where playing goes to before it stops, and how fast. */
  #aim() {
    const { player } = this;
    const { beats } = player;
    if (player.follow && !player.playing)
      return { goal: beats.last, rate: Math.max(1, (beats.last - player.t) / 3) };
    const rate = player.speed === "real" ? 1 : +player.speed;
    const { step } = beats.at(player.t);
    let goal = Math.min(beats.last, player.until ?? Infinity);
    if (player.loop && step >= 0) goal = beats.endOf(step);
    if (player.reveal) {
      for (let k = Math.max(step, 0); k < player.model.decoder.steps.length; k++) {
        const stop = beats.beforeReveal(k);
        if (stop > player.t + 1e-9 && player.model.decoder.steps[k].nodes.length > 1) {
          goal = Math.min(goal, stop);
          break;
        }
      }
    }
    return { goal, rate };
  }

  #travel(elapsed, rate, goal) {
    const { player } = this;
    let left = elapsed * rate;
    let t = player.t;
    while (left > 0 && t < goal) {
      const beat = Math.floor(t + 1e-9) + 1;
      const place = player.beats.at(beat);
      const length =
        player.speed === "real" && player.playing
          ? this.#recorded(place)
          : player.beats.milliseconds(place);
      const rest = (beat - t) * length;
      if (rest > left) return Math.min(goal, t + left / length);
      left -= rest;
      t = beat;
    }
    return Math.min(t, goal);
  }

  /** The beat's share of the seconds that its step really took, in milliseconds. */
  #recorded(place) {
    const { player } = this;
    const step = player.model.decoder.steps[place.step];
    if (place.phase === "finish" || place.phase === "prefill" || !step) return 1000;
    const { draft, verify, total } = step.seconds;
    const rest = Math.max(0, total - draft - verify);
    const seconds = { draft: draft / place.of, verify, walk: 0, emit: rest }[place.phase];
    return Math.max(0.01, seconds * 1000);
  }

  #arrived(goal) {
    const { player } = this;
    if (!player.playing) return;
    const { step } = player.beats.at(player.t);
    if (player.loop && step >= 0 && goal === player.beats.endOf(step)) {
      player.go(Math.max(0, player.beats.starts[step] - 1));
      player.t += 1e-6;
      this.start();
    } else if (!(player.payload.live && goal === player.beats.last)) player.pause();
  }
}
