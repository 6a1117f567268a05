// Sentences about a draft that settled in rounds.
import { spent } from "./ledger.js";
import { ages, changes, finalToken, history, isSequential } from "./wave.js";

const say = (key, params = {}) => ({ key: `player.caption.wave.${key}`, params });
const token = (id) => ({ token: id });
const also = (key, params) => ({ say: `player.caption.wave.${key}`, params });

const MOST = 6;
const list = (ids) =>
  ids.slice(0, MOST).flatMap((id, k) => (k ? [" ", token(id)] : [token(id)]))
    .concat(ids.length > MOST ? [` (+${ids.length - MOST})`] : []);

/** A round: what changed in it. */
export function draft(step, place) {
  const k = place.at;
  const round = step.evidence.rounds[k];
  if (isSequential(step)) return guessed(step, k);
  const { fresh, changed, same, frozen } = changes(step, k);
  const params = { n: k + 1, same: same + frozen, total: round.cells.length, list: list(fresh) };
  const why = [work(step, round), frozen ? " " : "", frozen ? also("frozen", { n: frozen }) : ""];
  if (k === step.evidence.rounds.length - 1) why.push(" ", also(`end.${step.evidence.end}`));
  const reason = say("why", { why });
  if (k === 0) return { main: say("first", params), why: reason };
  if (!changed.length)
    return { main: say(fresh.length ? "grew" : "still", params), why: reason };
  const alike = together(changed);
  const told = alike.slice(0, 2).flatMap(({ from, to, places }, i) => [
    i ? ", " : "",
    also("became", { from: token(from), to: token(to), at: spans(places) }),
  ]);
  const more = alike.slice(2).reduce((sum, { places }) => sum + places.length, 0);
  if (more) told.push(` (+${more})`);
  return { main: say("changed", { ...params, told }), why: reason };
}

/** Changes from one token to the same other are told once, with their places. */
function together(changed) {
  const found = new Map();
  for (const { from, to, at } of changed) {
    const key = `${from} ${to}`;
    if (!found.has(key)) found.set(key, { from, to, places: [] });
    found.get(key).places.push(at + 1);
  }
  return [...found.values()];
}

/** Places as they stand above the grid: "5–8, 11". */
function spans(places) {
  const runs = [];
  for (const at of places) {
    const last = runs[runs.length - 1];
    if (last && at === last[1] + 1) last[1] = at;
    else runs.push([at, at]);
  }
  return runs.map(([a, b]) => (a === b ? a : `${a}–${b}`)).join(", ");
}

/** Sequential drafting: one guess a round. */
function guessed(step, k) {
  const round = step.evidence.rounds[k];
  const [id, p, age] = round.cells[k];
  const params = { k: k + 1, total: step.evidence.rounds.length, guess: token(id), n: age };
  return {
    main: say("guess", { ...params, p: { probability: p } }),
    why: say("why", { why: [work(step, round)] }),
  };
}

/** How much was computed, and where the text so far was read. */
function work(step, round) {
  const [low, high] = ages(round);
  const { keys, values, depth } = step.evidence;
  const iteration = (n) =>
    n === 0 ? also("own") : n === depth ? also("last", { depth }) : also("at", { depth: n });
  const read = keys === values
    ? also("reads", { keys: iteration(keys) })
    : also("reads_both", { keys: iteration(keys), values: iteration(values) });
  const params = { n: round.iterations, positions: round.cells.length - round.parked, low, high };
  const done = isSequential(step) ? "work_guess" : low === high ? "work_one" : "work";
  return [also(done, params), " ", read];
}

/** The full pass. */
export function verify(step) {
  const n = step.nodes.length - 1;
  return {
    main: say("verify", { n, depth: step.evidence.depth }),
    why: say("verify_why", { time: { seconds: step.seconds.verify } }),
  };
}

/** An accepted guess: since when it stood. */
export function accepted(step, place) {
  const at = step.walk[place.at] - 1;
  const node = step.nodes[at + 1];
  const { since } = history(step, at, node.token);
  return say(isSequential(step) ? "accept_why_guess" : "accept_why", {
    round: since,
    p: { probability: Math.exp(node.logp ?? 0) },
  });
}

/** The whole step: how far the full pass agreed, and whether the draft had known better. */
export function whole(model, step, place) {
  const kept = step.walk.length;
  const guesses = step.nodes.length - 1;
  const end = kept ? step.walk[kept - 1] : 0;
  const bonus = token(step.nodes[end].pick);
  const wrong = step.nodes.find((n) => n.parent === end);
  const params = { kept, n: guesses, bonus };
  if (!wrong) return { main: say("full", params), why: ledgerSentence(step) };
  const main = say(kept ? "partial" : "reject", { ...params, wrong: token(wrong.token) });
  const { since, right, probability, age } = history(step, kept, step.nodes[end].pick);
  const told = { round: since, wrong: token(wrong.token), bonus, p: { probability }, age };
  const sequential = isSequential(step);
  const why = [
    sequential
      ? also("stood_guess", told)
      : right.length
        ? also("lost", { ...told, had: right[right.length - 1] })
        : also("stood", told),
  ];
  const later = behind(model, step, place.step, kept);
  if (later) why.push(" ", also("behind", { n: later }));
  return { main, why: say("why", { why }) };
}

/** How many guesses after the refused one match the text that was finally written. */
function behind(model, step, index, kept) {
  const { cells } = step.evidence.rounds[step.evidence.rounds.length - 1];
  return cells.filter(([id], i) => i > kept && finalToken(model, index, i) === id).length;
}

/** Calls and applications of the step against plain decoding of the same tokens. */
function ledgerSentence(step) {
  const { depth } = step.evidence;
  const { calls, applications } = spent(step, depth);
  const n = step.emitted.length;
  return say("ledger", { n, calls, applications, plain: n * depth });
}
