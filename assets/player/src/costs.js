// What a pass costs here, as measured before the run, and what that means for the size of a tree.

const made = new WeakMap();

/**
 * The measured curve of a header: {rows, points, at(n)} in passes over one row, or null. `points`:
 * as timed at `rows`; at(n): c*(n), the least that any pass at least so wide costs, never below 1;
 * straight between the rows timed, beyond the last as steep as before it.
 */
export function costCurve(header) {
  const costs = header?.costs;
  if (!costs) return null;
  if (!made.has(costs)) made.set(costs, build(costs));
  return made.get(costs);
}

function build({ rows, seconds }) {
  const single = seconds[0];
  const ascending = rows.every((n, i) => i === 0 || n > rows[i - 1]);
  if (rows.length !== seconds.length || !(single > 0) || !ascending) return null;
  const points = seconds.map((t) => t / single);
  const least = points.map((_, i) => Math.max(1, Math.min(...points.slice(i))));
  const at = (n) => {
    if (rows.length === 1 || n <= rows[0]) return 1;
    const found = rows.findIndex((r) => r >= n);
    const i = found < 0 ? rows.length - 1 : found;
    const slope = (least[i] - least[i - 1]) / (rows[i] - rows[i - 1]);
    return least[i - 1] + slope * (n - rows[i - 1]);
  };
  return { rows, points, at };
}

/** Whether anything that a memory or a head knew was left out for its cost. */
export const costDecided = ({ evidence }) =>
  Boolean(
    evidence?.lookups?.some((l) => l.candidates.some((c) => c[4] === "cost")) ||
      evidence?.expansions?.some((e) => e.offers.some((o) => o[3] === "cost")),
  );

/**
 * Why a step's tree is no larger, where its cost decided: {guesses, lesson, worth, cost, more}, or null.
 * `worth`: tokens that the drafter expected of it, the model's own and the `lesson` of every guess
 * included; `more`: what one row more would have cost.
 */
export function treeSize(model, step) {
  const curve = costCurve(model.decoder.header);
  // Nodes without a score were not chosen by what they promise.
  if (!curve || !costDecided(step) || step.nodes.slice(1).some((n) => !(n.score > 0))) return null;
  const rows = step.nodes.length;
  const lesson = model.decoder.header.knobs?.lesson ?? 0;
  const worth = step.nodes.slice(1).reduce((sum, n) => sum + n.score + lesson, 1);
  const cost = curve.at(rows);
  return { guesses: rows - 1, lesson, worth, cost, more: curve.at(rows + 1) - cost };
}

/**
 * A token that was left out for its cost, against a guess more: {branch, chance, lesson, need}.
 * `chance`: the product of its `factors` and of the score of `node`, before it; `need`: the tokens
 * that the tree brings in the time that one row more would have taken. null where that is unknown.
 */
export function priced(model, step, node, factors) {
  const size = treeSize(model, step);
  const branch = node === 0 ? 1 : step.nodes[node].score;
  if (!size || branch === null) return null;
  const chance = factors.reduce((product, f) => product * f, branch);
  return { branch, chance, lesson: size.lesson, need: (size.more * size.worth) / size.cost };
}

/** How many of the run's passes had so many rows: [[rows, passes], …], ascending. */
export function sizesUsed(run) {
  const counts = new Map();
  for (const { nodes } of run.steps) counts.set(nodes.length, (counts.get(nodes.length) ?? 0) + 1);
  return [...counts].sort((a, b) => a[0] - b[0]);
}
