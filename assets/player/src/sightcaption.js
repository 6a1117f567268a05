// Sentences about what a drafter head saw, and what that did to its draft.
import { costDecided } from "./costs.js";
import { entriesAt, isBeyond, isPure, isSight, isStanding, kept, offersAt, rankOf } from "./sight.js";

const say = (key, params = {}) => ({ key: `player.caption.sight.${key}`, params });
const token = (id) => ({ token: id });
const also = (key, params) => ({ say: `player.caption.sight.${key}`, params });
const position = (value) => ({ number: value, digits: Number.isInteger(value) ? 0 : 1 });

/** Sentences side by side. */
const joined = (parts) => say("why", { why: parts.flatMap((p, i) => (i ? [" ", p] : [p])) });

/** What the head sees, where it is told that this stands, and whether it ever learned that. */
export function seen(model, step, index) {
  const { evidence } = step;
  const { entries, mode, trained, distance, tip } = evidence;
  const [first] = entries;
  const last = entries[entries.length - 1];
  const count = entriesAt(model, index);
  const params = { n: kept(evidence), count, sinks: first[1], window: last[1], tip: position(tip) };
  const dropped = params.n < count;
  const what = !dropped ? "all" : entries.length > 1 ? "sinks" : "pure";
  const parts = [also(`sees.${what}`, params)];
  const far = isBeyond(evidence);
  if (isPure(evidence) && !isStanding(evidence)) parts.push(also("lemma"));
  else if (isPure(evidence)) parts.push(also(far ? "told.pure" : "lemma_abs", { trained }));
  else if (dropped || mode === "reindex_only") {
    const gap = last[0] - first[1];
    const spacing = { number: 1 / evidence.spacing, digits: 1 };
    parts.push(also(`told.${mode}`, { ...params, gap, spacing }));
  }
  if (far || !isPure(evidence))
    parts.push(also(far ? "beyond" : "within", { trained, distance: position(distance) }));
  if (evidence.truncated) parts.push(also("truncated"));
  return joined(parts);
}

/** One guess: the first one says what all of them see. */
export function draft(model, step, place, n) {
  if (place.at === 0) return seen(model, step, place.step);
  const node = step.nodes[n];
  const found = rankOf(step, node.parent, node.token);
  if (!found) return null;
  return say(node.parent === 0 ? "guess_first" : "guess", {
    p: { probability: found.p },
    after: token(step.nodes[node.parent].token),
    score: { probability: node.score ?? 0 },
    rank: found.rank,
    of: found.of,
  });
}

/** The pass: the model itself reads everything. */
export function verify(model, step, index) {
  const count = entriesAt(model, index);
  const hidden = count - kept(step.evidence);
  const params = { n: count + step.nodes.length, hidden, time: { seconds: step.seconds.verify } };
  return say(hidden ? "verify_why" : "verify_why_all", params);
}

/** Why a step of a head has no guess: no room for one, or none that may be made, or that pays. */
export function none(step) {
  if (!isSight(step)) return say("none_why");
  const root = token(step.nodes[0].token);
  return say(costDecided(step) ? "none_why_cost" : "none_why_blocked", { root });
}

/** Not among `n` offers, and, where that is known, that the head has no word for most tokens. */
function missing(model, wanted, n) {
  const { head, vocab_size } = model.decoder.header;
  if (!head || head.vocabulary >= vocab_size) return also("unknown", { wanted, n });
  return also("unknown_of", { wanted, n, vocabulary: head.vocabulary, vocab_size });
}

/** Whether the answer was as long as allowed after a step: no guess could have followed its own. */
const isLast = ({ decoder }, index) => decoder.counts[index] >= decoder.header.max_new_tokens;

/** Why the token that the model wanted behind `end` was no guess, and whether sight is to blame. */
export function because(model, step, index, end) {
  const { evidence, nodes } = step;
  const { trained, distance } = evidence;
  const wanted = token(nodes[end].pick);
  const found = rankOf(step, end, nodes[end].pick);
  const offers = offersAt(step, end);
  const parts = [];
  if (found) {
    const params = { wanted, n: nodes.length - 1, rank: found.rank, p: { probability: found.p } };
    parts.push(also(`known.${found.cut}`, params));
  } else if (offers) parts.push(missing(model, wanted, offers.length));
  else parts.push(also(isLast(model, index) ? "no_room" : "unasked", { wanted }));
  if (isBeyond(evidence)) parts.push(also("far", { trained, distance: position(distance) }));
  if (evidence.truncated) parts.push(also("truncated"));
  return joined(parts);
}
