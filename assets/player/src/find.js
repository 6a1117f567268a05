// Where a token is in a run: in the answer, and among the guesses that came to nothing.

/** A token as it was written: blanks and line breaks are themselves. */
const raw = (model, id) => model.look(id).map((p) => p.raw ?? p.shown).join("");

/** The answer as one string, and where each of its tokens begins in it. */
function written(model) {
  const starts = [];
  let said = "";
  for (const { id } of model.tokens) {
    starts.push(said.length);
    said += raw(model, id);
  }
  return { said: said.toLowerCase(), starts };
}

/** The token that holds the character at `place`. */
function tokenAt(starts, place) {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Steps that wrote `query` or guessed it in vain, in order: [{step, kind, node}]. kind: "written" or
 * "guessed"; node: the guess, or null. Case does not matter; "#198" finds the token of that id.
 */
export function findToken(model, query) {
  const wanted = query.toLowerCase();
  if (!wanted.trim()) return [];
  const id = /^#(\d+)$/.exec(wanted)?.[1];
  const found = new Map();
  const wrote = (i) => {
    const { step, node } = model.tokens[i];
    found.set(step, { step, kind: "written", node: node > 0 ? node : null });
  };
  if (id !== undefined) model.tokens.forEach((t, i) => t.id === +id && wrote(i));
  else {
    const { said, starts } = written(model);
    // A word may be made of several tokens; the step that wrote its first one is shown.
    for (let at = said.indexOf(wanted); at >= 0; at = said.indexOf(wanted, at + 1)) wrote(tokenAt(starts, at));
  }
  const fits = (token) =>
    id !== undefined ? token === +id : raw(model, token).toLowerCase().includes(wanted);
  model.decoder.steps.forEach((step, i) => {
    if (found.has(i)) return;
    const node = step.nodes.findIndex((n, k) => k > 0 && fits(n.token));
    if (node > 0) found.set(i, { step: i, kind: "guessed", node });
  });
  return [...found.values()].sort((a, b) => a.step - b.step);
}
