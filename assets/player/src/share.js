// What every export says of its run: which it is, with which settings, and whose text it holds.

const KNOBS = 4; // in the line under a picture; a table and a file have room for all

/** The facts of a run as plain data, as `facts` in specviz/views/rejects.py gives them. */
export function facts(model) {
  const { header } = model.decoder;
  if (!header) return null;
  return {
    run: header.run,
    model: header.model,
    digest: header.digest,
    decoder: header.decoder,
    knobs: header.knobs,
    device: header.device,
    dtype: header.dtype,
    max_new_tokens: header.max_new_tokens,
    versions: header.versions,
  };
}

/** The same facts in one line; `all` names every knob, otherwise only the foremost. */
export function factsLine(model, strings, all = false) {
  const known = facts(model);
  if (!known) return "";
  const knobs = Object.entries(known.knobs);
  const told = knobs.slice(0, all ? knobs.length : KNOBS).map(([name, value]) => `${name}=${value}`);
  const name = `player.decoder.${known.decoder}`;
  return [
    `specviz ${known.versions.specviz ?? ""}`.trim(),
    strings.has(name) ? strings.say(name) : known.decoder,
    ...(told.length ? [told.join(" ") + (all || knobs.length <= KNOBS ? "" : " …")] : []),
    known.model,
    `${known.device} ${known.dtype}`,
    `max_new_tokens=${known.max_new_tokens}`,
  ].join(" · ");
}

/** Whether an export holds what a person wrote or showed: {text, pictures}; null for a preset. */
export function owned({ payload, model }) {
  const { header } = model.decoder;
  if (!header || payload.preset) return null;
  return { pictures: (header.pictures ?? []).length };
}

/** The answer as far as it is written after `tokens` tokens; bytes that are no text are replaced. */
export function answer(model, tokens) {
  const bytes = model.tokens
    .slice(0, tokens)
    .flatMap(({ id }) => (model.specials.has(id) ? [] : [...model.bytesOf(id)]));
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** The name of a file: the run, the place, what it is. */
export function fileName({ payload, model }, what, ending) {
  const { header } = model.decoder;
  const run = payload.preset ?? header?.run ?? "run";
  const safe = `${header?.decoder ?? ""}-${run}`.replace(/[^\w-]+/g, "_").slice(0, 80);
  return `specviz-${safe}-${what}.${ending}`;
}

/** Hand a file to the person: bytes, a text or a Blob. */
export function save(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** Put a text on the clipboard; false where the browser allows neither way. */
export async function copy(text, near) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Frames and pages without TLS have no clipboard, only the selection of a field.
    const field = document.createElement("textarea");
    field.value = text;
    field.style.position = "fixed";
    field.style.opacity = "0";
    near.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
