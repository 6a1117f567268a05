// The work of a recurrent-depth model: core calls one after the other, and core iterations summed
// over positions. A full pass over n rows makes `depth` calls and `depth` x n applications.

/** Whether a step's draft came about in rounds. */
export const isWave = (step) =>
  step?.evidence?.kind === "wave" && step.evidence.rounds.length > 0;

/** What a whole step cost, {calls, applications, readouts}; plain decoding: one row, `depth` each. */
export function spent(step, depth) {
  const draft = step.evidence?.kind === "wave" ? step.evidence : null;
  return {
    calls: (draft?.calls ?? 0) + depth,
    applications: (draft?.applications ?? 0) + depth * step.nodes.length,
    readouts: (draft?.readouts ?? 0) + step.nodes.length,
  };
}

/** The part of it that is done at a place within the step. */
export function spentAt(step, depth, place) {
  if (place.phase !== "draft" && place.phase !== "verify") return spent(step, depth);
  const rounds = isWave(step) ? step.evidence.rounds : [];
  const done = place.phase === "draft" ? rounds.slice(0, place.at + 1) : rounds;
  const sum = { calls: 0, applications: 0, readouts: 0 };
  for (const { iterations, parked, cells } of done) {
    sum.calls += iterations;
    sum.applications += iterations * (cells.length - parked);
    sum.readouts += cells.length - parked;
  }
  if (place.phase === "verify") {
    const passed = Math.round(place.fraction * depth);
    sum.calls += passed;
    sum.applications += passed * step.nodes.length;
  }
  return sum;
}

/** The depth of a run's own pass, or null where the model is no recurrent-depth one. */
export const depthOf = (run) =>
  run.header?.depth ?? run.steps.find(isWave)?.evidence.depth ?? null;

/**
 * Both ledgers at a place: {depth, step, run}, each {tokens, calls, applications, plain}; `plain` is
 * what plain decoding needs for the same tokens, null while there are none. The run's counts only
 * whole steps, so that its work and its tokens are of the same ones.
 */
export function ledger(model, place) {
  const run = model.decoder;
  const depth = depthOf(run);
  const step = run.steps[place.step];
  if (!depth || !step) return null;
  const over = place.phase === "emit" || place.phase === "finish";
  const here = spentAt(step, depth, place);
  const before = model.worked(place.step - 1, depth);
  const emitted = over ? step.emitted.length : 0;
  const add = (kind) => before[kind] + (over ? here[kind] : 0);
  const tokens = before.tokens + emitted;
  return {
    depth,
    step: { ...here, tokens: emitted, plain: emitted ? emitted * depth : null },
    run: {
      tokens,
      calls: add("calls"),
      applications: add("applications"),
      readouts: add("readouts"),
      plain: tokens ? tokens * depth : null,
    },
  };
}
