// What a drafter head saw of the text: which entries, where they stand, and where it is told they do.

export const isSight = (step) => step?.evidence?.kind === "window";

/** Modes whose last entries are told where they really stand: both rulers have the same scale. */
const TRUE = new Set(["full", "window_abs", "shift"]);
const ROOM = 1.12; // of a ruler, so that something beyond the trained range can be seen
const farthest = new WeakMap();

/** The greatest position of all steps so far that was told or lay within range; grows with the run. */
function farthestOf(model) {
  const { steps } = model.decoder;
  let known = farthest.get(model);
  if (!known) farthest.set(model, (known = { steps: 0, at: 0 }));
  for (; known.steps < steps.length; known.steps++) {
    const { evidence } = steps[known.steps];
    if (evidence?.kind === "window")
      known.at = Math.max(
        known.at,
        evidence.tip + evidence.levels * evidence.spacing,
        lowest(evidence) + evidence.trained,
      );
  }
  return known.at;
}

/** Entries that a step could see: prompt and answer before it, without the last token. */
export function entriesAt(model, index) {
  const run = model.decoder;
  const emitted = index > 0 ? run.counts[index - 1] : 1;
  return (run.header?.tokens.length ?? 0) + emitted - 1;
}

/** How many entries an evidence saw. */
export const kept = (evidence) => evidence.entries.reduce((sum, [, length]) => sum + length, 0);

export const isBeyond = (evidence) => evidence.distance >= evidence.trained;

/** The first position told: distances count from there, and with them what was learned. */
export const lowest = ({ entries }) => Math.min(...entries.map(([, , at]) => at));

/** Whether the last entries are told where they stand. */
export const isStanding = ({ entries }) => entries.at(-1)[2] === entries.at(-1)[0];

/** A window alone: whatever one number it is moved by, distances stay the same. */
export const isPure = ({ mode, entries }) =>
  ["slot", "shift", "window_abs"].includes(mode) && entries.length === 1 && entries[0][0] > 0;

/** Sinks, window or everything: {name, from, to (exclusive), at, step} in true positions. */
function stretches({ entries }) {
  const dropped = entries.length > 1 || entries[0][0] > 0;
  return entries.map(([from, length, at, step], i) => ({
    name: !dropped ? "all" : i < entries.length - 1 ? "sinks" : "window",
    from,
    to: from + length,
    at,
    step,
  }));
}

/** Depth of every node. */
function depths(step) {
  const found = [];
  step.nodes.forEach((node, i) => found.push(i ? found[node.parent] + 1 : 0));
  return found;
}

/** How many levels below the root have looked at the text at a place of the draft. */
function looked(step, picture) {
  const deep = depths(step);
  const shown = picture.nodes.filter((n) => n.state !== "hidden").map((n) => deep[n.id]);
  return Math.max(0, Math.min(step.evidence.levels, Math.max(...shown)) - 1);
}

/** Everything that the picture of the text needs; null for a run without a drafter head. */
export function sight(model, payload, place, picture) {
  if (!model.heads) return null;
  const { header, steps, finish } = model.decoder;
  const step = steps[place.step];
  const prompt = header.tokens.length;
  const whole = finish ? model.tokens.length : Math.max(header.max_new_tokens, model.tokens.length);
  const trained = header.head?.trained ?? steps.find(isSight).evidence.trained;
  const end = Math.max(prompt + whole, Math.ceil(ROOM * trained));
  const common = {
    key: place.step,
    prompt,
    trained,
    written: step ? entriesAt(model, place.step) + 1 : prompt,
    end,
    map: payload.map ?? null,
    head: header.head ?? null,
  };
  if (!isSight(step)) return { ...common, seen: null, told: end, count: common.written - 1 };
  const { evidence } = step;
  const own = Math.max(Math.ceil(ROOM * trained), farthestOf(model) + 1);
  return {
    ...common,
    seen: stretches(evidence),
    told: TRUE.has(evidence.mode) ? Math.max(end, own) : own,
    end: TRUE.has(evidence.mode) ? Math.max(end, own) : end,
    count: entriesAt(model, place.step),
    kept: kept(evidence),
    mode: evidence.mode,
    tip: evidence.tip,
    spacing: evidence.spacing,
    distance: evidence.distance,
    levels: looked(step, picture),
    truncated: evidence.truncated,
    beyond: isBeyond(evidence),
    low: lowest(evidence),
    pure: isPure(evidence),
    standing: isStanding(evidence),
  };
}

/** Where an entry is told to stand, or null when it is not seen. */
export function toldAt(seen, position) {
  const part = seen?.find(({ from, to }) => position >= from && position < to);
  return part ? part.at + (position - part.from) * part.step : null;
}

/**
 * What is told to stand at `place`: {token, told}, a token of the text; {depth, told}, guesses; or
 * {told} alone, nothing.
 */
export function standsAt({ seen, tip, spacing, levels }, place) {
  for (const { from, to, at, step } of seen) {
    const k = Math.floor((place - at) / step);
    if (k >= 0 && k < to - from) return { token: from + k, told: at + k * step };
  }
  const depth = Math.floor((place - tip) / spacing);
  if (depth > 0 && depth <= levels) return { depth, told: tip + depth * spacing };
  return { told: Math.floor(place) };
}

/** The stretches of the text before `count` that are not seen: [from, to] pairs. */
export function unseen(seen, count) {
  const gaps = [];
  let at = 0;
  for (const { from, to } of seen ?? []) {
    if (from > at) gaps.push([at, from]);
    at = to;
  }
  if (at < count) gaps.push([at, count]);
  return gaps;
}

/** What the head offered behind a node: [token, probability, node, cut], or null where it did not look. */
export const offersAt = (step, node) =>
  step.evidence.expansions.find((e) => e.node === node)?.offers ?? null;

/** A token among the offers behind a node: {rank, of, p, cut}; null where it is not there. */
export function rankOf(step, node, token) {
  const offers = offersAt(step, node) ?? [];
  const at = offers.findIndex(([id]) => id === token);
  return at < 0 ? null : { rank: at + 1, of: offers.length, p: offers[at][1], cut: offers[at][3] };
}

/** Tokens that left the window since the step before: [from, to]. */
function lost(model, index) {
  const before = model.decoder.steps[index - 1];
  const now = model.decoder.steps[index].evidence.entries.at(-1);
  if (!isSight(before)) return null;
  const then = before.evidence.entries.at(-1);
  // Before anything was dropped the window reaches back to the sinks, which stay.
  const sinks = model.decoder.steps[index].evidence.entries.length > 1 ? now : null;
  const first = model.decoder.steps[index].evidence.entries[0];
  const from = Math.max(then[0], sinks ? first[0] + first[1] : 0);
  return now[0] > from ? [from, now[0]] : null;
}

/** The evidence of a step that a head drafted, for the node in focus. */
export function headEvidence(model, place, focus, refused) {
  const step = model.decoder.steps[place.step];
  const { evidence } = step;
  // At a refused guess the question is what was offered in its place.
  const node = refused ? step.nodes[focus].parent : focus;
  const offers = offersAt(step, node);
  const gone = lost(model, place.step);
  const all = gone ? model.sequence() : [];
  return {
    kind: "window",
    at: node,
    offers: offers && offers.map(([token, p, became, cut]) => ({ token, p, node: became, cut })),
    rank: rankOf(step, node, step.nodes[node].pick),
    evidence,
    kept: kept(evidence),
    count: entriesAt(model, place.step),
    gone: gone && { n: gone[1] - gone[0], tokens: all.slice(...gone) },
    head: model.decoder.header.head ?? null,
  };
}
