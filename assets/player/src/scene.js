// scene(payload, t): everything that is drawn at time t, as plain data.
import { Beats, growth } from "./beats.js";
import { caption } from "./caption.js";
import { memory } from "./facts.js";
import { isWave } from "./ledger.js";
import { modelOf, outcome } from "./model.js";
import { probeAt } from "./pictures.js";
import { sight } from "./sight.js";
import { wave } from "./wave.js";

const timelines = new WeakMap();

/** The timeline of a payload, kept in step with its events. */
export function beatsOf(payload) {
  const model = modelOf(payload);
  let beats = timelines.get(model);
  if (!beats) timelines.set(model, (beats = new Beats(model.decoder)));
  beats.sync();
  return beats;
}

/** What became of node `n` once `done` beats of the walk (0 = none) are over. */
function nodeState(step, n, done, rank, grown) {
  if (n === 0) return "root";
  if (rank[n] >= grown) return "hidden";
  const kept = Math.min(step.walk.length, step.emitted.length);
  const parent = step.nodes[n].parent;
  const place = parent === 0 ? 0 : step.walk.indexOf(parent) + 1;
  const reached = parent === 0 || place > 0;
  if (!reached || place > kept) {
    if (done <= step.walk.length) return "drafted";
    return step.walk.includes(n) ? "discarded" : "unreached";
  }
  if (place >= done) return "drafted";
  if (step.walk[place] === n) return place < kept ? "accepted" : "discarded";
  if (place === kept && step.emitted.length <= step.walk.length) return "unreached";
  // The model did pick this token; the sibling that says the same was taken.
  if (step.nodes[n].token === step.nodes[parent].pick) return "duplicate";
  return place === step.walk.length ? "refused" : "passed";
}

function tree(model, place) {
  const step = model.decoder.steps[place.step];
  if (!step) {
    const token = model.decoder.prefill?.token;
    if (token === undefined) return null;
    return {
      key: "prefill",
      end: 0,
      verify: 0,
      order: [],
      nodes: [{ id: 0, parent: -1, token, state: "root", source: "root", score: null, fresh: 1 }],
      bonus: null,
      walk: [],
      outcome: "none",
      pulse: null,
      flight: null,
    };
  }
  const order = growth(step);
  const rank = [];
  order.forEach((n, k) => (rank[n] = k));
  const { phase, at, fraction } = place;
  // The rounds of a wave are its own picture; its guesses stand when the last one is over.
  const grown = phase !== "draft" ? order.length : isWave(step) ? 0 : at + 1;
  // A beat of the walk shows its result from its middle on.
  const done =
    phase === "walk"
      ? at + (fraction >= 0.5 ? 1 : 0)
      : phase === "draft" || phase === "verify"
        ? 0
        : step.walk.length + 1;
  const clipped = step.emitted.length <= step.walk.length;
  const end = step.walk.length ? step.walk[step.walk.length - 1] : 0;
  const nodes = step.nodes.map((node, id) => ({
    id,
    parent: node.parent,
    token: node.token,
    source: node.source,
    score: node.score,
    logp: node.logp,
    state: nodeState(step, id, done, rank, grown),
    fresh: phase === "draft" && rank[id] === at ? fraction : 1,
  }));
  return {
    key: `${place.step}`,
    nodes,
    order,
    walk: step.walk,
    end,
    verify: phase === "verify" ? fraction : phase === "draft" ? 0 : 1,
    bonus: clipped
      ? null
      : { parent: end, token: step.nodes[end].pick, shown: done > step.walk.length },
    outcome: outcome(step),
    ...moving(step, place),
  };
}

/**
 * What is on its way inside a step: `pulse` {to, own, share} along the edge that the walk takes (to
 * -1: the model's own token), `flight` 0..1 of the way of what was written into the text, else null.
 */
function moving(step, { phase, at, fraction }) {
  const own = at === step.walk.length;
  const clipped = step.emitted.length <= step.walk.length;
  const walks = phase === "walk" && fraction < 1 && !(own && clipped);
  return {
    pulse: walks ? { to: own ? -1 : step.walk[at], own, share: Math.min(1, 2 * fraction) } : null,
    flight: phase === "emit" && fraction < 1 ? fraction : null,
  };
}

/** The node that the evidence panel looks at when nobody chose one. */
function attention(step, place) {
  if (!step) return 0;
  const { phase, at } = place;
  if (isWave(step)) return attendWave(step, place);
  if (phase === "draft") {
    const n = growth(step)[at];
    return n === undefined ? 0 : step.nodes[n].parent;
  }
  if (phase === "verify") return 0;
  const reached = phase === "walk" ? Math.min(at, step.walk.length) : step.walk.length;
  return reached === 0 ? 0 : step.walk[reached - 1];
}

/** In a wave: the guess that was just accepted or refused. */
function attendWave(step, { phase, at }) {
  if (phase === "draft" || phase === "verify") return 0;
  const reached = phase === "walk" ? at : step.walk.length;
  return step.walk[reached] ?? Math.min(step.walk.length + 1, step.nodes.length - 1);
}

/** Seconds since the prefill, passes and tokens of both runs at a place. */
function clock(model, place) {
  const { decoder, baseline } = model;
  const start = place.step > 0 ? decoder.ends[place.step - 1] : 0;
  const step = decoder.steps[place.step];
  let inside = 0;
  if (step) {
    const { draft, verify, total } = step.seconds;
    const f = place.fraction;
    if (place.phase === "draft") inside = (draft * (place.at + f)) / place.of;
    else if (place.phase === "verify") inside = draft + verify * f;
    else if (place.phase === "walk") inside = Math.min(total, draft + verify);
    else
      inside =
        draft + verify + Math.max(0, total - draft - verify) * (place.phase === "emit" ? f : 1);
  }
  let seconds = start + Math.min(inside, step ? step.seconds.total : 0);
  if (place.phase === "finish" && baseline.ends.length) {
    const rest = baseline.ends[baseline.ends.length - 1] - seconds;
    if (rest > 0) seconds += rest * place.fraction;
  }
  const over = place.phase === "emit" || place.phase === "finish";
  const passes = place.step < 0 ? 0 : place.step + (over ? 1 : 0);
  const tokens = !decoder.prefill ? 0 : passes === 0 ? 1 : decoder.counts[passes - 1];
  const atEnd = place.phase === "finish" && place.fraction >= 1;
  return { seconds, passes, tokens, baseline: baselineAt(baseline, seconds, atEnd) };
}

function baselineAt(run, seconds, atEnd) {
  if (!run.header) return null;
  let low = 0;
  let high = run.ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (atEnd || run.ends[middle] <= seconds + 1e-9) low = middle + 1;
    else high = middle;
  }
  return { passes: low, tokens: low ? run.counts[low - 1] : run.prefill ? 1 : 0 };
}

/**
 * Everything drawn at time `t`. `chosen`: the node a person chose in this step, or null; `probe`: the
 * number of the probe that is looked at (the last one, unless told), or null. Pure: the same payload, time and choices give the
 * same scene.
 */
export function scene(payload, t, chosen = null, probe = undefined) {
  const model = modelOf(payload);
  const beats = beatsOf(payload);
  const place = beats.at(t);
  const step = model.decoder.steps[place.step] ?? null;
  const times = clock(model, place);
  const picture = tree(model, place);
  const focus =
    chosen !== null && step && chosen < step.nodes.length ? chosen : attention(step, place);
  return {
    run: payload.run_id,
    t,
    place,
    step: step ? step.index : -1,
    steps: model.decoder.steps.length,
    tokens: times.tokens,
    clock: times,
    tree: picture,
    focus,
    chosen: chosen !== null,
    wave: wave(model, place),
    sight: sight(model, payload, place, picture),
    memory: memory(model, place, focus, picture),
    caption: caption(model, payload, place, probeAt(model, probe === undefined ? model.probes.length - 1 : probe)),
    live: Boolean(payload.live),
  };
}
