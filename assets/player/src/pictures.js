// The pictures of a prompt, and what another picture would have changed. Nothing here touches the page.
import { plain, textPieces } from "./text.js";
import { told } from "./told.js";

const SIGNATURE = "\x89PNG\r\n\x1a\n";
const MOST_PIXELS = 4096 * 4096;
const links = new WeakMap();

/**
 * The data URL of a recorded picture; null for what is no PNG of the size that it claims, or a
 * larger one than a browser should be asked to unpack: a file may say anything.
 */
export function link(shown) {
  if (!shown) return null;
  let found = links.get(shown);
  if (found === undefined) {
    found = isPng(shown) ? `data:image/png;base64,${shown.data}` : null;
    links.set(shown, found);
  }
  return found;
}

function isPng({ data, width, height }) {
  let head;
  try {
    head = atob(data.slice(0, 32)); // 24 bytes: signature, length, IHDR, width, height
  } catch {
    return false;
  }
  const number = (at) =>
    [0, 1, 2, 3].reduce((sum, k) => sum * 256 + head.charCodeAt(at + k), 0);
  return (
    head.length === 24 &&
    head.startsWith(SIGNATURE) &&
    number(16) === width &&
    number(20) === height &&
    width * height <= MOST_PIXELS
  );
}

/**
 * The pictures of the prompt in order: {name, notes, tokens, seen, saw, given, from, turn}. `given`
 * is null where it was not recorded or is what was seen; `from` and `saw` are [width, height] of what
 * was given (null where that is not known) and of what the model saw, of which `seen` may be a
 * smaller record; `turn` is the message that it came with. The notes are in `lang` where they are translated.
 */
export function pictures(model, lang = "en") {
  const { header } = model.decoder;
  if (!header?.pictures?.length) return [];
  const turns = header.messages.flatMap((m, i) => Array(m.pictures ?? 0).fill(i));
  return header.pictures.map((p, i) => ({
    name: p.name,
    notes: (p.notes ?? []).map((note) => told(header, note, lang)),
    tokens: p.span[1] - p.span[0],
    seen: p.seen,
    saw: p.saw ?? [p.seen.width, p.seen.height],
    given: p.given?.data && p.given.data !== p.seen.data ? p.given : null,
    from: p.given ? [p.given.width, p.given.height] : null,
    turn: turns[i] ?? 0,
  }));
}

/** What the person asked last: its text, its pictures or those of before, and the turns before. */
export function question(model) {
  const messages = model.decoder.header?.messages ?? [];
  const at = messages.findLastIndex((m) => m.role === "user");
  const all = pictures(model).map((p, i) => ({ k: i + 1, tokens: p.tokens, turn: p.turn }));
  const own = all.filter((p) => p.turn === at);
  return {
    text: messages[at]?.text ?? "",
    pictures: own.length ? own : all,
    earlier: !own.length,
    before: messages.slice(0, Math.max(0, at)).filter((m) => m.role !== "system"),
  };
}

/** Tokens of prompt and answer from `start` to `end`: runs of a picture's own are one {picture, n}. */
export function withoutPlaceholders(model, start, end) {
  const all = model.sequence();
  const spans = (model.decoder.header?.pictures ?? []).map((p) => p.span);
  const out = [];
  for (let i = Math.max(0, start); i < Math.min(end, all.length); i++) {
    const k = spans.findIndex(([from, to]) => from <= i && i < to);
    if (k < 0) out.push(all[i]);
    else if (out.at(-1)?.picture !== k + 1)
      out.push({ picture: k + 1, n: spans[k][1] - spans[k][0] });
  }
  return out;
}

/** The probe that is looked at: number `index`, null where there is none or it is switched off. */
export const probeAt = (model, index) => (index === null ? null : (model.probes[index] ?? null));

/**
 * What the model says at token `i` of the answer with the other picture: {changed, pick, kept,
 * logp, keptLogp, shift}; null where that was not asked.
 */
export function dependence(probe, i) {
  if (!probe || i < 0 || i >= probe.picks.length) return null;
  const [pick, kept] = [probe.picks[i], probe.kept[i]];
  const [logp, keptLogp] = [probe.logps[i], probe.kept_logps[i]];
  return { changed: pick !== kept, pick, kept, logp, keptLogp, shift: logp - keptLogp };
}

/** How many tokens of the answer were asked about, and how many depend on the picture. */
export function tally(probe) {
  const changed = probe.picks.filter((pick, i) => pick !== probe.kept[i]).length;
  return { changed, n: probe.picks.length };
}

/** The number within the answer of the first token that a step wrote. */
export const firstOf = ({ decoder }, step) =>
  step > 0 ? decoder.counts[step - 1] : decoder.prefill ? 1 : 0;

/** A name that somebody gave, with nothing in it that could be taken for something else. */
export const named = (name) => plain(textPieces(name)).replaceAll("␣", " ");

/** The file name of the other picture, where it has one and is not this one changed. */
export function otherName(probe) {
  const name = probe.kind === "other" ? [...named(probe.name ?? "").trim()] : [];
  return name.length > 32 ? `${name.slice(0, 31).join("")}…` : name.join("");
}

/** What stood in the picture's place, as a part of a sentence. */
export function instead(model, probe) {
  const name = otherName(probe);
  const what = name
    ? { say: "player.probe.instead.named", params: { name } }
    : { say: `player.probe.instead.${probe.kind}`, params: {} };
  if (pictures(model).length < 2) return what;
  return {
    say: "player.probe.instead_of",
    params: { instead: what, k: probe.replaced + 1 },
  };
}

/** A sentence where the first token that a step wrote depends on the picture, else null. */
export function stepDepends(model, step, probe) {
  const first = firstOf(model, step);
  const found = dependence(probe, first);
  if (!found?.changed) return null;
  return {
    say: "player.caption.picture",
    params: {
      instead: instead(model, probe),
      pick: { token: found.pick },
      kept: { token: found.kept },
    },
  };
}
