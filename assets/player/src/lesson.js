// A lesson as a course of stops: what was predicted, where the player has to stand. No page here.

/** The name of the recorded example that a run id stands for. */
export const exampleOf = (run) => run.replace(/^example-/, "");

/** When, on the beats of a run, a stop's place {beat, step, round} is. */
export function timeOf(beats, { beat, step, round }) {
  if (beat === "finish") return beats.last;
  if (beat === "before") return Math.max(0, beats.endOf(step - 1));
  if (beat === "guesses") return beats.beforeReveal(step);
  if (beat === "round") return Math.min(beats.starts[step] + round - 1, beats.beforeReveal(step));
  return beats.endOf(step);
}

/**
 * Where somebody is in a lesson. `phase`: "ask", "play" (the recording answers), "told" or, behind
 * the last stop, "score". `picked`: per stop the answer that was chosen, null where none was yet,
 * -1 where it was shown without one.
 */
export class Course {
  constructor(lesson, stop = 1) {
    this.lesson = lesson;
    this.picked = lesson.at.map(() => null);
    this.at = 0;
    this.phase = "ask";
    this.to(stop - 1);
  }

  get length() {
    return this.lesson.at.length;
  }

  get stop() {
    return this.lesson.at[this.at];
  }

  get choice() {
    return this.picked[this.at];
  }

  /** Whether the prediction of stop `i` was right; null where there is none. */
  right(i = this.at) {
    const picked = this.picked[i];
    return picked === null || picked < 0 ? null : picked === this.lesson.at[i].right;
  }

  get score() {
    return this.picked.filter((_, i) => this.right(i)).length;
  }

  /** How many stops were predicted, rightly or not. */
  get predicted() {
    return this.picked.filter((_, i) => this.right(i) !== null).length;
  }

  /** To stop `i`, which asks again unless it has been answered. */
  to(i) {
    this.at = Math.min(Math.max(0, Number.isFinite(i) ? Math.trunc(i) : 0), this.length - 1);
    this.phase = this.choice === null ? "ask" : "told";
  }

  /** Predict; false where that is not asked. */
  choose(answer) {
    if (this.phase !== "ask" || !(answer < this.stop.answers.length)) return false;
    this.picked[this.at] = answer;
    this.phase = "play";
    return true;
  }

  told() {
    if (this.phase === "play") this.phase = "told";
  }

  /** Past what was told: the next stop, or the score behind the last one. */
  next() {
    if (this.at + 1 < this.length) this.to(this.at + 1);
    else this.phase = "score";
  }
}
