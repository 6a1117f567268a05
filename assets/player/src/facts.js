// What the trace recorded about one node: only facts, no guesses about causes.
import { isWave } from "./ledger.js";
import { withoutPlaceholders } from "./pictures.js";
import { headEvidence, isSight } from "./sight.js";
import { waveEvidence } from "./wave.js";

/** Phases of a step in which what the model says of the guesses is known. */
export const ANSWERED = ["walk", "emit", "finish"];

/** The memory's answer at a node, or undefined. */
export function lookupAt(step, node) {
  return step?.evidence?.kind === "memory"
    ? step.evidence.lookups.find((l) => l.node === node)
    : undefined;
}

const probability = (step, node, token) => {
  const found = step.nodes[node].top.find(([id]) => id === token);
  if (found) return Math.exp(found[1]);
  const child = step.nodes.find((n) => n.parent === node && n.token === token);
  return child && child.logp !== null ? Math.exp(child.logp) : null;
};

/** How many candidates of a look-up were tried before one was cut for its rank; null where none was. */
const tried = ({ candidates }) => {
  const first = candidates.findIndex((c) => c[4] === "width");
  return first < 0 ? null : first;
};

/**
 * What memory knew about the token the model wanted after `node`: {known, rank, level, share, cut,
 * tried, asked, node}. `known`: "nothing" (no level answered), "no" (answered, without it), "level" (one
 * level had it, the mixture dropped it), "yes" (a candidate), "unasked" (nothing was recorded).
 */
export function wantedFact(model, step, node) {
  const want = step.nodes[node].pick;
  const fact = {
    token: want,
    probability: probability(step, node, want),
    margin: step.nodes[node].margin,
  };
  const lookup = lookupAt(step, node);
  if (step.evidence?.kind !== "memory") return { ...fact, known: null };
  if (!lookup) return { ...fact, known: "unasked" };
  const rank = lookup.candidates.findIndex((c) => c[0] === want);
  const knobs = model.decoder.header?.knobs ?? {};
  const base = {
    ...fact,
    asked: lookup.expanded,
    of: lookup.candidates.length,
    // One matrix row answers here; the fixed tree keeps its shape even where there is none.
    row:
      model.decoder.header?.decoder !== "token_recycling"
        ? undefined
        : knobs.tree === "static"
          ? "no_row_fixed"
          : "no_row",
    limit: typeof knobs.least_score === "number" ? knobs.least_score : undefined,
    branch: node === 0 ? 1 : step.nodes[node].score,
  };
  if (rank >= 0) {
    const [, share, level, became, cut] = lookup.candidates[rank];
    const told = { rank: rank + 1, share, level, cut, tried: tried(lookup), lookup };
    return { ...base, known: "yes", ...told, node: became };
  }
  const hit = lookup.hits.find((h) => h.ids.includes(want));
  if (hit) return { ...base, known: "level", rank: hit.ids.indexOf(want) + 1, level: hit.level };
  return { ...base, known: lookup.hits.length ? "no" : "nothing" };
}

/**
 * How memory came to propose the guess `node`: {share, lookup, mine, levels: [{level, weight, p}]}, the
 * levels that had it with what each gave it, the weightiest first; null where no memory was asked.
 */
export function proposal(step, node) {
  const { parent, token } = step.nodes[node];
  const lookup = node > 0 ? lookupAt(step, parent) : undefined;
  const mine = lookup?.candidates.find((c) => c[3] === node);
  if (!mine) return null;
  const levels = lookup.hits
    .filter((hit) => hit.ids.includes(token))
    .map((hit) => ({ level: hit.level, weight: hit.weight, p: hit.probs[hit.ids.indexOf(token)] }))
    .sort((a, b) => b.weight * b.p - a.weight * a.p);
  return { share: mine[1], lookup, mine, levels };
}

/** What a discount may hang on: the longest key that answered, 0 for a copy. */
const kindOf = ({ hits }, [, , level]) => (level === 0 ? 0 : Math.max(0, ...hits.map((h) => h.level)));

const scoreOf = (step, node) => (node === 0 ? 1 : (step.nodes[node]?.score ?? null));

function depthOf(step, node) {
  let depth = 0;
  for (let n = node; n > 0 && step.nodes[n]; n = step.nodes[n].parent) depth++;
  return depth;
}

/** The discount that the best-scored guess of a kind at a depth shows in a step: score over claim. */
function discountIn(step, kind, depth) {
  let best = null;
  for (const lookup of step.evidence?.lookups ?? []) {
    if (depth !== null && depthOf(step, lookup.node) !== depth) continue;
    for (const c of lookup.candidates) {
      const score = c[3] > 0 && kindOf(lookup, c) === kind ? scoreOf(step, c[3]) : null;
      const claimed = scoreOf(step, lookup.node) * c[1];
      if (score && claimed && score > (best?.score ?? 0)) best = { score, discount: score / claimed };
    }
  }
  return best?.discount ?? null;
}

/**
 * By how much a candidate of `lookup` was trusted less than its share says, as guesses of its kind
 * in this step show, or those of a step before; null where none does.
 */
export function discountOf(model, index, lookup, candidate) {
  const { steps, header } = model.decoder;
  const calibration = header?.knobs?.calibration;
  const kind = kindOf(lookup, candidate);
  const depth = calibration === "level" ? null : depthOf(steps[index], lookup.node);
  // What is learned moves on from step to step.
  const first = calibration === "learned" ? index : 0;
  for (let i = index; i >= first; i--) {
    const found = discountIn(steps[i], kind, depth);
    if (found !== null) return found;
  }
  return null;
}

function spanFacts(model, span) {
  if (!span) return null;
  const match = span.start - span.length;
  return {
    length: span.length,
    start: span.start,
    before: withoutPlaceholders(model, match - 4, match),
    match: withoutPlaceholders(model, match, span.start),
    copied: [...span.tokens],
    inPrompt: span.start < (model.decoder.header?.tokens.length ?? 0),
  };
}

function hits(lookup) {
  return [...lookup.hits]
    .sort((a, b) => b.level - a.level)
    .map((h) => ({
      level: h.level,
      key: h.key,
      base: h.base,
      entropy: h.entropy,
      weight: h.weight,
      written: h.written,
      top: h.ids.slice(0, 5).map((id, k) => [id, h.probs[k]]),
    }));
}

/** The guess at `node` against what the model wanted there; null for the root. */
function guess(step, node, picture) {
  if (node === 0) return null;
  const mine = step.nodes[node];
  const state = picture.nodes[node].state;
  return {
    token: mine.token,
    state,
    source: mine.source,
    score: mine.score,
    order: mine.order,
    probability: mine.logp === null ? null : Math.exp(mine.logp),
  };
}

/**
 * Who proposed what is looked at: {how, token, source, others}. `how`: "next" (the guess that was
 * accepted behind `at`), "own", "refused" or "passed" (the guess in focus); `others`: levels that
 * had it too. null where nobody did.
 */
function came(step, focus, at, picture) {
  const told = (how, n) => {
    const { token, source } = step.nodes[n];
    const others = (proposal(step, n)?.levels ?? []).map(({ level }) => `level${level}`);
    return { how, token, source, others: others.filter((level) => level !== source) };
  };
  const { state } = picture.nodes[focus];
  if (at !== focus) return told(state, focus);
  const next = step.nodes.findIndex((n, i) => n.parent === at && picture.nodes[i].state === "accepted");
  if (next > 0) return told("next", next);
  return focus > 0 ? told("own", focus) : null;
}

/** What memory answered behind node `at`. */
function answers(model, step, at, index) {
  const lookup = lookupAt(step, at);
  return {
    kind: "memory",
    after: step.nodes[at].token,
    asked: lookup ? lookup.expanded : null,
    hits: lookup ? hits(lookup) : [],
    candidates: lookup ? lookup.candidates.slice(0, 8) : [],
    tried: lookup ? tried(lookup) : null,
    copied: spanFacts(model, step.evidence.copied),
    sizes: step.evidence.sizes,
    tallies: model.tallies[index] ?? {},
  };
}

/** The evidence panel for `focus`. kinds: memory, span, wave, tree, none, prefill. */
export function memory(model, place, focus, picture) {
  const step = model.decoder.steps[place.step];
  if (!step) return { kind: "prefill" };
  const revealed = ANSWERED.includes(place.phase);
  const over = place.phase === "emit" || place.phase === "finish";
  const refused = isRefused(picture, focus);
  // At a guess that was refused the question is what the model wanted in its place, and who knew.
  const at = refused ? step.nodes[focus].parent : focus;
  const common = {
    node: focus,
    token: step.nodes[focus].token,
    guess: guess(step, focus, picture),
    wanted: revealed ? wantedFact(model, step, at) : null,
    // Off the walk the model's pick is what it would have said, had the text gone on that way.
    aside: at !== 0 && !step.walk.includes(at),
    refused,
  };
  if (isWave(step)) return { ...common, ...waveEvidence(model, place, focus) };
  if (isSight(step)) return { ...common, ...headEvidence(model, place, focus, refused) };
  if (step.evidence?.kind === "memory") {
    const found = answers(model, step, at, over ? place.step : place.step - 1);
    return { ...common, came: came(step, focus, at, picture), ...found };
  }
  if (step.evidence?.kind === "span")
    return { ...common, kind: "span", copied: spanFacts(model, step.evidence) };
  return {
    ...common,
    kind: step.nodes.length > 1 ? "tree" : "none",
    decoder: model.decoder.header?.decoder,
  };
}

function isRefused(picture, node) {
  return ["refused", "passed"].includes(picture.nodes[node]?.state);
}
