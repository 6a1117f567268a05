// One sentence of what just happened, one of why: catalogue keys with the real tokens.
import { wantedFact } from "./facts.js";
import { growth } from "./beats.js";
import { treeSize } from "./costs.js";
import { isWave } from "./ledger.js";
import { stepDepends } from "./pictures.js";
import { isSight } from "./sight.js";
import * as sights from "./sightcaption.js";
import * as waves from "./wavecaption.js";

const say = (key, params = {}) => ({ key: `player.caption.${key}`, params });
const token = (id) => ({ token: id });
// More tokens than this would push the reason out of the caption.
const MOST = 6;

/** Every different token once, how often, and how many more there are. */
function distinct(ids, most = 2) {
  const counts = new Map();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  const out = [...counts].slice(0, most).map(([id, n], k) => [
    k ? ", " : "",
    token(id),
    n > 1 ? [" ", { say: "player.caption.times", params: { n } }] : "",
  ]);
  if (counts.size > most) out.push(` (+${counts.size - most})`);
  return out.flat(2);
}
const list = (ids) => ids.flatMap((id, k) => (k ? [" ", token(id)] : [token(id)]));
const time = (seconds) => ({ seconds });
const share = (p) => ({ probability: p });
const word = (name) => ({ term: name }); // told by the glossary when pointed at

/** Why memory's knowledge of the wanted token did not make it a guess. */
function because(model, step, node) {
  const fact = wantedFact(model, step, node);
  if (fact.known === null) return null;
  const params = {
    wanted: token(fact.token),
    n: fact.rank ?? 0,
    rank: fact.rank,
    level: { source: sourceOf(fact.level) },
    cut: { cut: fact.cut },
    p: share(fact.probability),
    share: { above: fact.share, digits: 2 },
    ...cutNumbers(fact),
    part: word("share"),
    score: word("score"),
  };
  if (fact.known === "yes" && fact.cut === "score" && params.limit)
    return say("why.cut.score_of", params);
  const size = fact.cut === "cost" ? treeSize(model, step) : null;
  if (size) return say("why.cut.cost_of", { ...params, n: size.guesses });
  if (fact.cut === "width") return say("why.cut.width", { ...params, n: fact.tried });
  if (fact.known === "yes" && fact.cut) return say(`why.cut.${fact.cut}`, params);
  if (fact.known === "nothing" && fact.row)
    return say(`why.${fact.row}`, { ...params, node: token(step.nodes[node].token) });
  // Nobody asked during growth: the guess could not have been made, whatever memory knew.
  if (fact.known === "yes") return say(fact.asked ? "why.known" : "why.unasked_known", params);
  return say(
    `why.${{ level: "level", no: "unknown", nothing: "nothing", unasked: "unasked" }[fact.known]}`,
    params,
  );
}

/** The numbers that a score was cut by, where they were recorded. */
export function cutNumbers(fact) {
  if (fact.limit === undefined || fact.branch === null) return {};
  return {
    // A candidate's share is recorded to four places and was never nothing.
    share: { above: fact.share, digits: 4 },
    branch: { above: fact.branch, digits: fact.branch < 0.1 ? 4 : 2 },
    limit: { number: fact.limit, digits: 4 },
  };
}

export function sourceOf(level) {
  return level === 0 ? "copy" : `level${level}`;
}

function prefill(model) {
  const { header, prefill: first } = model.decoder;
  if (!header) return { main: say("empty"), why: say("empty_why") };
  if (!first) return { main: say("reading", { n: header.tokens.length }), why: say("reading_why") };
  return {
    main: say("prefill", {
      n: header.tokens.length,
      time: time(first.seconds),
      first: token(first.token),
    }),
    why: say("prefill_why"),
  };
}

function draft(model, step, place) {
  const n = growth(step)[place.at];
  const node = step.nodes[n];
  return {
    main: say("draft", {
      k: place.at + 1,
      n: place.of,
      guess: token(node.token),
      after: token(step.nodes[node.parent].token),
    }),
    why:
      (isSight(step) && sights.draft(model, step, place, n)) ||
      (node.score === null
        ? say("draft_why_plain", { source: { source: node.source } })
        : say("draft_why", {
            source: { source: node.source },
            word: word("score"),
            score: share(node.score),
          })),
  };
}

function verify(model, step, index) {
  const n = step.nodes.length - 1;
  const params = { n, time: time(step.seconds.verify), root: token(step.nodes[0].token) };
  return n
    ? {
        main: say("verify", params),
        why: isSight(step) ? sights.verify(model, step, index) : say("verify_why", params),
      }
    : { main: say("verify_none", params), why: say("verify_none_why", params) };
}

function walk(model, step, place) {
  const from = place.at === 0 ? 0 : step.walk[place.at - 1];
  if (place.at < step.walk.length) {
    const node = step.nodes[step.walk[place.at]];
    return {
      main: say("accept", { guess: token(node.token), after: token(step.nodes[from].token) }),
      why: isWave(step) ? waves.accepted(step, place) : say("accept_why", {
        p: share(Math.exp(node.logp ?? 0)),
        source: { source: node.source },
      }),
    };
  }
  return whole(model, step, place);
}

/** The whole step: what was right, what the model wanted instead, and why it was no guess. */
function whole(model, step, place) {
  const kept = Math.min(step.walk.length, step.emitted.length);
  const clipped = step.emitted.length <= step.walk.length;
  const right = step.walk.slice(0, kept).map((n) => step.nodes[n].token);
  const end = kept ? step.walk[kept - 1] : 0;
  const children = step.nodes.filter((n) => n.parent === end).map((n) => n.token);
  const bonus = token(step.nodes[end].pick);
  const params = {
    n: kept,
    right:
      right.length > MOST
        ? [...list(right.slice(0, MOST)), ` (+${right.length - MOST})`]
        : list(right),
    bonus,
    root: token(step.nodes[0].token),
    drafted: step.nodes.length - 1,
  };
  if (clipped) {
    const dropped = step.walk.length - kept;
    return {
      main: say("clipped", params),
      why: dropped ? say("clipped_why", { n: dropped }) : say("clipped_exact_why"),
    };
  }
  if (step.nodes.length < 2) return { main: say("none", params), why: noGuess(model, step) };
  if (isWave(step)) return waves.whole(model, step, place);
  const margin = { number: step.nodes[end].margin, digits: 2 };
  const [best] = step.nodes[end].top; // a recording need not hold any
  const p = best && share(Math.exp(best[1]));
  const reason = isSight(step) ? sights.because(model, step, place.step, end) : because(model, step, end) ?? (best ? say("why.target", { bonus, p, lead: word("margin"), margin }) : null);
  if (!children.length) return { main: say("full", params), why: reason };
  const wrong = distinct(children);
  return {
    main: say(kept ? "partial" : "reject", { ...params, wrong, of: kept + 1 }),
    why: reason,
  };
}

function noGuess(model, step) {
  if (model.heads) return sights.none(step);
  if (model.waves || step.evidence?.kind === "wave") return say("wave.none_why");
  if (!step.evidence) return say("none_why_plain");
  if (step.evidence.lookups?.some((l) => l.candidates.some((c) => c[4] === "cost")))
    return say("none_why_cost", { root: token(step.nodes[0].token) });
  return say(step.evidence.kind === "span" ? "none_why_span" : "none_why_memory", {
    root: token(step.nodes[0].token),
  });
}

function finish(model, payload) {
  const { finish: end, steps, counts, prefill: first } = model.decoder;
  const tokens = steps.length ? counts[counts.length - 1] : first ? 1 : 0;
  return {
    main: say(`finish.${end.reason}`, {
      n: tokens,
      passes: { say: "player.now_passes", params: { n: steps.length } },
      message: end.message ? { told: end.message, event: end } : "",
    }),
    why: payload.live ? say("finish_live") : { speed: true },
  };
}

/** The sentences of a whole step, and whether what it wrote first depends on the picture. */
function withPicture(model, step, place, probe) {
  const { main, why } = whole(model, step, place);
  const found = stepDepends(model, place.step, probe);
  if (!found) return { main, why };
  const reason = why ? { say: why.key, params: why.params } : "";
  return { main, why: say("and_picture", { why: reason, picture: found }) };
}

/**
 * {main, why} for a place; a `why` of {speed: true} stands for the sentence about the speed.
 * `probe`: what is known about another picture, or null.
 */
export function caption(model, payload, place, probe = null) {
  const step = model.decoder.steps[place.step];
  if (place.phase === "prefill") return prefill(model);
  if (place.phase === "finish") return finish(model, payload);
  if (place.phase === "draft")
    return isWave(step) ? waves.draft(step, place) : draft(model, step, place);
  if (place.phase === "verify")
    return isWave(step) ? waves.verify(step) : verify(model, step, place.step);
  if (place.phase === "walk") return walk(model, step, place);
  return withPicture(model, step, place, probe);
}
