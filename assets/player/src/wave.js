// How a draft settled: rounds down, positions across; what every round changed.
import { isWave, ledger } from "./ledger.js";

/** Whether every round computed one guess only, as sequential drafting does. */
export const isSequential = (step) =>
  step.evidence.rounds.every((r) => r.parked === r.cells.length - 1);

/** The token finally emitted at the place of guess `i` of a step, or null while it is not known. */
export function finalToken(model, index, i) {
  const run = model.decoder;
  const before = index > 0 ? run.counts[index - 1] : run.prefill ? 1 : 0;
  return model.tokens[before + i]?.id ?? null;
}

/** What round `k` made new, changed {from, to, at}, left alone and no longer computed. */
export function changes(step, k) {
  const { rounds } = step.evidence;
  const found = { fresh: [], changed: [], same: 0, frozen: 0 };
  rounds[k].cells.forEach(([token, , , state], at) => {
    if (state === "new") found.fresh.push(token);
    else if (state === "changed") found.changed.push({ from: before(step, k, at), to: token, at });
    else if (state === "frozen") found.frozen++;
    else found.same++;
  });
  return found;
}

/** The guess that stood at a position before round `k`, or null. */
export const before = (step, k, at) => step.evidence.rounds[k - 1]?.cells[at]?.[0] ?? null;

/**
 * The story of the last guess at a position: `since` which round it stands, `right`: the rounds
 * whose guess there was `token`; rounds count from 1.
 */
export function history(step, at, token) {
  const { rounds } = step.evidence;
  const guesses = rounds.map((r) => r.cells[at]?.[0] ?? null);
  const last = guesses[guesses.length - 1];
  let since = guesses.length;
  while (since > 1 && guesses[since - 2] === last) since--;
  const right = [];
  guesses.forEach((g, k) => g === token && right.push(k + 1));
  const [, probability, age] = rounds[rounds.length - 1].cells[at] ?? [null, null, null];
  return { since, right, probability, age, guesses };
}

/** Ages of the positions that a round reads, lowest and highest. */
export function ages(round) {
  const found = round.cells.map((c) => c[2]);
  return [Math.min(...found), Math.max(...found)];
}

/** Everything the wave panel shows at a place; null for a step without one. */
export function wave(model, place) {
  const step = model.decoder.steps[place.step];
  if (!isWave(step)) return null;
  const { rounds } = step.evidence;
  const drafting = place.phase === "draft";
  const shown = drafting ? place.at + 1 : rounds.length;
  const last = rounds[rounds.length - 1].cells.length;
  return {
    key: `${place.step}`,
    shown,
    fresh: drafting ? place.fraction : 1,
    revealed: !drafting && place.phase !== "verify",
    pass: drafting ? 0 : place.phase === "verify" ? place.fraction : 1,
    columns: Math.max(...rounds.map((r) => r.cells.length)),
    now: rounds[shown - 1],
    guesses: last,
    sequential: isSequential(step),
  };
}

/** The evidence of a wave step beside its grid. */
export function waveEvidence(model, place, focus) {
  const step = model.decoder.steps[place.step];
  const { rounds, depth, keys, values, carry, end } = step.evidence;
  const at = focus - 1;
  const shown = place.phase === "draft" ? place.at + 1 : rounds.length;
  return {
    kind: "wave",
    depth,
    keys,
    values,
    carry: isSequential(step) ? null : carry,
    end,
    // Only while it runs: before and after it one asks what the draft read.
    pass: place.phase === "verify" ? place.fraction : null,
    ages: rounds[shown - 1].cells.map((c) => c[2]),
    beat: place.phase === "draft" ? place.at : rounds.length,
    position: focus > 0 ? focus : null,
    rounds: at < 0 ? [] : rounds.slice(0, shown).map((r) => r.cells[at] ?? null),
    ledger: ledger(model, place),
  };
}
