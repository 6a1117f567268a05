// How a person moves through a run: by event, by step, to the next miss, to where two runs differ.
import { missed, outcome } from "./model.js";
import { heldToken, otherOf, stepOfToken } from "./beside.js";

/** What the player can be told to do about its time; `go`, `pause` and the run are the player's. */
export class Moves {
  /** A person moved: no longer follow the running decoder. */
  byHand(t, notice = null, held = null) {
    this.follow = false;
    this.notice = notice;
    this.held = held;
    this.pause();
    this.go(t);
  }

  /** Show a step complete, or as the question that it asks; -1 is the prefill. */
  seekStep(step, notice = null, held = null) {
    const { steps } = this.model.decoder;
    const to = Math.min(Math.max(step, -1), steps.length - 1);
    const asks = this.reveal && to >= 0 && steps[to].nodes.length > 1;
    this.byHand(asks ? this.beats.beforeReveal(to) : this.beats.endOf(to), notice, held);
  }

  /** Whether the guesses are all made and the model's answer is still to be guessed. */
  get asks() {
    const { phase, at, of, fraction } = this.scene.place;
    return this.reveal && phase === "draft" && at === of - 1 && fraction >= 1;
  }

  seek(t) {
    this.byHand(t);
  }

  eventBy(n) {
    this.byHand(n > 0 ? Math.floor(this.t + 1e-9) + n : Math.ceil(this.t - 1e-9) + n);
  }

  stepBy(n) {
    const { step, phase } = this.beats.at(this.t);
    const whole = step < 0 || phase === "emit" || phase === "finish";
    if (n > 0 && this.asks) this.byHand(this.beats.endOf(step));
    else if (n > 0) {
      const last = this.model.decoder.steps.length - 1;
      if (step >= last && whole) this.byHand(this.beats.last);
      else this.seekStep(whole ? step + n : step + n - 1);
    } else this.seekStep(phase === "finish" ? step : step + n);
  }

  /** The next step that ended in a miss, or with that outcome, from here on and then from the start. */
  next(kind) {
    const { steps } = this.model.decoder;
    const here = this.beats.at(this.t).step;
    for (let k = 1; k <= steps.length; k++) {
      const i = (here + k + steps.length) % steps.length;
      if (kind === "miss" ? missed(steps[i]) : outcome(steps[i]) === kind)
        return this.seekStep(i, here + k >= steps.length ? "wrapped" : null);
    }
    return undefined;
  }

  /** Hold both runs at the token with that number; each shows the step that wrote it. */
  hold(token) {
    this.seekStep(stepOfToken(this.model.decoder, token), null, token);
  }

  /** The position of the token that both runs are held at. */
  get heldAt() {
    return heldToken(this.model.decoder, this.scene.place, this.held);
  }

  /** A step of the other run; this one follows. */
  otherStep(step) {
    const other = otherOf(this.payload);
    if (!other) return;
    const { counts, steps } = other.model.decoder;
    const to = Math.min(Math.max(step, 0), steps.length - 1);
    this.hold(to > 0 ? counts[to - 1] : 1);
  }

  /** The next token that only one of the runs had guessed right. */
  nextDifference() {
    const differs = otherOf(this.payload)?.differs ?? [];
    const found = differs.find(([i]) => i > this.heldAt) ?? differs[0];
    if (found) this.hold(found[0]);
  }
}
