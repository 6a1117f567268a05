// The timeline: a list of beats. Time t counts beats; at a whole t beat t is complete.
// Beat 0 is the prefill; then per step: one per guess (in a wave: per round), the pass, one per walked
// node and one for where the walk stops, and what was written; the last beat is the end of the run.
import { isWave } from "./ledger.js";

/** Guessed nodes of a step in the order in which they grew. */
export function growth(step) {
  const ids = step.nodes.map((_, i) => i).slice(1);
  return ids.sort((a, b) => step.nodes[a].order - step.nodes[b].order || a - b);
}

/** The beats in which a step's draft comes about. */
const drafting = (step) =>
  isWave(step) ? step.evidence.rounds.length : step.nodes.length - 1;

const size = (step) => drafting(step) + 1 + step.walk.length + 1 + 1;

export class Beats {
  constructor(run) {
    this.run = run;
    this.starts = []; // first beat of every step
    this.total = 1;
    this.done = false;
    this.sync();
  }

  /** Take in steps that arrived since. */
  sync() {
    if (this.done) return;
    for (let i = this.starts.length; i < this.run.steps.length; i++) {
      this.starts.push(this.total);
      this.total += size(this.run.steps[i]);
    }
    if (this.run.finish) {
      this.done = true;
      this.total += 1;
    }
  }

  get last() {
    return this.total - 1;
  }

  /** The step of a beat; -1 for the prefill, the last one for the end. */
  stepOf(beat) {
    let low = 0;
    let high = this.starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= beat) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The beat that completes a step. */
  endOf(step) {
    if (step < 0) return 0;
    return this.starts[step] + size(this.run.steps[step]) - 1;
  }

  /** Where time t is: {beat, fraction, step, phase, at, of}. */
  at(t) {
    const clamped = Math.min(Math.max(t, 0), this.last);
    const beat = Math.ceil(clamped);
    const fraction = beat === 0 ? 1 : clamped - (beat - 1);
    const step = this.stepOf(beat);
    if (beat === 0) return { beat, fraction, step: -1, phase: "prefill", at: 0, of: 1 };
    if (this.done && beat === this.last)
      return { beat, fraction, step, phase: "finish", at: 0, of: 1 };
    const { walk } = this.run.steps[step];
    let k = beat - this.starts[step];
    const drafts = drafting(this.run.steps[step]);
    if (k < drafts) return { beat, fraction, step, phase: "draft", at: k, of: drafts };
    k -= drafts;
    if (k === 0) return { beat, fraction, step, phase: "verify", at: 0, of: 1 };
    k -= 1;
    const walks = walk.length + 1;
    if (k < walks) return { beat, fraction, step, phase: "walk", at: k, of: walks };
    return { beat, fraction, step, phase: "emit", at: 0, of: 1 };
  }

  /** The last beat before the step's answer is shown: all guesses made, the pass not yet. */
  beforeReveal(step) {
    return this.starts[step] + drafting(this.run.steps[step]) - 1;
  }

  /** How long a beat is shown at speed 1, in milliseconds. */
  milliseconds(place) {
    // A round has a whole row to be read.
    if (place.phase === "draft" && isWave(this.run.steps[place.step]))
      return Math.min(900, Math.max(250, 7000 / place.of));
    if (place.phase === "draft") return Math.min(220, Math.max(30, 1000 / place.of));
    return { prefill: 900, verify: 420, walk: 340, emit: 420, finish: 1600 }[place.phase];
  }
}
