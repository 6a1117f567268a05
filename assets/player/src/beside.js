// A second run of the same prompt, beside the one that is shown: both are held at the same emitted
// token. A payload brings it along as `other`: {events, name, mine, said, differs}.
import { missed, modelOf } from "./model.js";
import { beatsOf } from "./scene.js";

const made = new WeakMap();

/** {payload, model, beats, name, mine, said, differs} of a payload's other run, or null. */
export function otherOf({ other }) {
  if (!other) return null;
  let found = made.get(other);
  if (!found) {
    const payload = { version: 1, run_id: "other", live: false, stage: null, summary: null, ...other };
    found = { ...other, payload, model: modelOf(payload), beats: beatsOf(payload) };
    found.kinds = new Map(other.differs);
    made.set(other, found);
  }
  return found;
}

/** The step that emitted token number `token`: -1 for the prefill's own, the last one beyond the end. */
export function stepOfToken(run, token) {
  if (token < 1) return -1;
  let low = 0;
  let high = run.counts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (run.counts[middle] > token) high = middle;
    else low = middle + 1;
  }
  return Math.min(low, run.counts.length - 1);
}

/** The token that is looked at: the one that was asked for, else the first that this step wrote. */
export function heldToken(run, place, held) {
  if (place.step < 0) return 0;
  const from = place.step > 0 ? run.counts[place.step - 1] : 1;
  return held !== null && held >= from && held < run.counts[place.step] ? held : from;
}

/** The time in `beats` at which `step` is as far as the other run's step is at `place`. */
export function sameTime(beats, step, place) {
  if (place.phase === "finish") return beats.last;
  if (step < 0 || place.step < 0) return 0;
  const { phase, at, of, fraction } = place;
  const walks = beats.run.steps[step].walk.length + 1;
  const drafts = beats.beforeReveal(step) + 1 - beats.starts[step];
  const share = (at + fraction) / of;
  const passed = {
    draft: share * drafts,
    verify: drafts + fraction,
    walk: drafts + 1 + share * walks,
    emit: drafts + 1 + walks + fraction,
  }[phase];
  // Never the end of the step before.
  return beats.starts[step] - 1 + Math.max(1e-6, passed);
}

/** The time of the other run while this one is at `place`. */
export const besideTime = (other, run, place, held) =>
  sameTime(other.beats, stepOfToken(other.model.decoder, heldToken(run, place, held)), place);

/** How a run came to a token: {outcome, step, source}; null where it has none there. */
export function cameTo(model, index) {
  const token = model.tokens[index];
  if (!token) return null;
  const step = model.decoder.steps[token.step];
  const outcome = !step ? "prefill" : token.node >= 0 ? "right" : missed(step) ? "refused" : "unguessed";
  return { outcome, step: token.step, source: token.source };
}
