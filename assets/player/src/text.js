// Bytes of tokens -> what a person may see of them. Nothing here touches the page.

const CONTROL = [
  "NUL",
  "SOH",
  "STX",
  "ETX",
  "EOT",
  "ENQ",
  "ACK",
  "BEL",
  "BS",
  "TAB",
  "LF",
  "VT",
  "FF",
  "CR",
  "SO",
  "SI",
  "DLE",
  "DC1",
  "DC2",
  "DC3",
  "DC4",
  "NAK",
  "SYN",
  "ETB",
  "CAN",
  "EM",
  "SUB",
  "ESC",
  "FS",
  "GS",
  "RS",
  "US",
];
const INVISIBLE = {
  0x7f: "DEL",
  0xa0: "NBSP",
  0xad: "SHY",
  0x61c: "ALM",
  0x200b: "ZWSP",
  0x200c: "ZWNJ",
  0x200d: "ZWJ",
  0x200e: "LRM",
  0x200f: "RLM",
  0x2028: "LSEP",
  0x2029: "PSEP",
  0x202a: "LRE",
  0x202b: "RLE",
  0x202c: "PDF",
  0x202d: "LRO",
  0x202e: "RLO",
  0x2060: "WJ",
  0x2066: "LRI",
  0x2067: "RLI",
  0x2068: "FSI",
  0x2069: "PDI",
  0xfe0f: "VS16",
  0xfeff: "BOM",
};
// Joiners and variation selectors belong to the glyph around them: named only when alone.
const JOINERS = new Set([0x200c, 0x200d, 0xfe0f]);

const segmenter =
  typeof Intl !== "undefined" && Intl.Segmenter
    ? new Intl.Segmenter("und", { granularity: "grapheme" })
    : null;

/** The bytes of a latin-1 string. */
export function toBytes(piece) {
  const bytes = new Uint8Array(piece.length);
  for (let i = 0; i < piece.length; i++) bytes[i] = piece.charCodeAt(i);
  return bytes;
}

function sequenceLength(lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

/** Second bytes that would make an overlong, surrogate or too large code point are not UTF-8. */
function goodSecond(lead, byte) {
  if (lead === 0xe0) return byte >= 0xa0;
  if (lead === 0xed) return byte < 0xa0;
  if (lead === 0xf0) return byte >= 0x90;
  if (lead === 0xf4) return byte < 0x90;
  return true;
}

/**
 * Strict UTF-8: a list of {text, at, end} and {byte, at, end, missing}. `missing` > 0 marks the
 * bytes of a character that the input ends in the middle of: so many are still to come.
 */
export function decode(bytes) {
  const out = [];
  let i = 0;
  while (i < bytes.length) {
    const size = sequenceLength(bytes[i]);
    let n = 1;
    while (
      n < size &&
      i + n < bytes.length &&
      bytes[i + n] >> 6 === 2 &&
      (n > 1 || goodSecond(bytes[i], bytes[i + 1]))
    )
      n++;
    if (size && n === size) {
      let code = size === 1 ? bytes[i] : bytes[i] & (0x7f >> size);
      for (let k = 1; k < size; k++) code = (code << 6) | (bytes[i + k] & 0x3f);
      out.push({ text: String.fromCodePoint(code), at: i, end: i + size });
    } else {
      const missing = size && i + n === bytes.length ? size - n : 0;
      for (let k = 0; k < n; k++)
        out.push({ byte: bytes[i + k], at: i + k, end: i + k + 1, missing });
    }
    i += n;
  }
  return out;
}

export const hex = (byte) => byte.toString(16).toUpperCase().padStart(2, "0");

/** Whether the two texts are one glyph when written without a gap. */
function joined(left, right) {
  if (!segmenter || !left || !right || right.codePointAt(0) < 0x300) return false;
  const last = [...segmenter.segment(left.slice(-24))].pop().segment;
  const first = String.fromCodePoint(right.codePointAt(0));
  return [...segmenter.segment(last + first)].length === 1;
}

/** One glyph -> how to show it: {kind, shown, raw}; kinds: text, space, newline, tab, control. */
function glyph(text) {
  const code = text.codePointAt(0);
  if (text === " ") return { kind: "space", shown: "␣", raw: text };
  if (text === "\n" || text === "\r\n") return { kind: "newline", shown: "↵", raw: text };
  if (text === "\t") return { kind: "tab", shown: "⇥", raw: text };
  if (code < 32) return { kind: "control", shown: CONTROL[code], raw: text };
  if (INVISIBLE[code] && (text.length === 1 || !JOINERS.has(code)))
    return { kind: "control", shown: INVISIBLE[code], raw: text };
  if ((code >= 0x80 && code < 0xa0) || (code >= 0xe000 && code <= 0xf8ff))
    return { kind: "control", shown: "U+" + code.toString(16).toUpperCase(), raw: text };
  return { kind: "text", shown: text, raw: text };
}

function glyphs(text) {
  // ASCII needs no segmenter, and most tokens are ASCII.
  if (!segmenter || /^[\x00-\x7f]*$/.test(text)) return [...text];
  const found = [];
  for (const s of segmenter.segment(text))
    // A direction mark glued to a glyph would steer the text around it: it stands alone, named.
    found.push(
      ...s.segment.split(/([\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])/).filter(Boolean),
    );
  return found;
}

/** Pieces to show for decoded characters, neighbours of one kind joined. */
function pieces(chars) {
  const out = [];
  let text = "";
  const flush = () => {
    for (const g of glyphs(text)) {
      const piece = glyph(g);
      const last = out[out.length - 1];
      if (last && last.kind === "text" && piece.kind === "text") {
        last.shown += piece.shown;
        last.raw += piece.raw;
      } else out.push(piece);
    }
    text = "";
  };
  for (const c of chars) {
    if (c.text !== undefined) text += c.text;
    else {
      flush();
      out.push({ kind: "hex", shown: hex(c.byte), raw: "", missing: c.missing });
    }
  }
  flush();
  return out;
}

/** How a token looks by itself: a list of pieces; a special token is one piece of its own kind. */
export function tokenPieces(bytes, special) {
  const found = pieces(decode(bytes));
  if (special) return [{ kind: "special", shown: found.map((p) => p.shown).join(""), raw: "" }];
  return found.length ? found : [{ kind: "control", shown: "∅", raw: "" }];
}

/** The pieces of a text that is no token: a prompt, a message. */
export const textPieces = (text) => pieces([...text].map((c) => ({ text: c })));

/** The pieces as one plain string, for titles, labels and measuring. */
export function plain(found) {
  return found
    .map((p) => (p.kind === "control" || p.kind === "hex" ? `‹${p.shown}›` : p.shown))
    .join("");
}

/** At most `limit` glyphs of the pieces, an ellipsis after them when some were left out. */
export function shorten(found, limit) {
  const out = [];
  let left = limit;
  for (const p of found) {
    const parts = p.kind === "text" || p.kind === "special" ? glyphs(p.shown) : [p.shown];
    if (parts.length <= left) {
      out.push(p);
      left -= parts.length;
      continue;
    }
    out.push({ ...p, shown: parts.slice(0, Math.max(0, left - 1)).join("") + "…" });
    return out;
  }
  return out;
}

/**
 * Tokens that must be read together: [{from, to, open}] over `tokens` (byte arrays), beginning at
 * token `start`. A unit goes on while it ends inside a character or a glyph; `open` says that its
 * last character still misses bytes. Special tokens stand alone.
 */
export function units(tokens, isSpecial, start = 0) {
  const out = [];
  let i = start;
  while (i < tokens.length) {
    let end = i + 1;
    let bytes = tokens[i];
    let chars = decode(bytes);
    const open = () => chars.length > 0 && (chars[chars.length - 1].missing || 0) > 0;
    while (!isSpecial(i) && end < tokens.length && !isSpecial(end) && end - i < 24) {
      const next = decode(tokens[end]);
      const goesOn = open()
        ? tokens[end].length === 0 || tokens[end][0] >> 6 === 2
        : next.length > 0 &&
          next[0].text !== undefined &&
          joined(chars.map((c) => c.text ?? "\u0000").join(""), next[0].text);
      if (!goesOn) break;
      const both = new Uint8Array(bytes.length + tokens[end].length);
      both.set(bytes);
      both.set(tokens[end], bytes.length);
      bytes = both;
      chars = decode(bytes);
      end++;
    }
    out.push({ from: i, to: end, open: open() });
    i = end;
  }
  return out;
}

/** For a whole unit: the pieces that each of its tokens completes, glyphs shown once. */
export function unitPieces(tokens) {
  const ends = [];
  let size = 0;
  for (const t of tokens) ends.push((size += t.length));
  const bytes = new Uint8Array(size);
  tokens.forEach((t, k) => bytes.set(t, ends[k] - t.length));
  const chars = decode(bytes);
  const groups = tokens.map(() => []);
  let at = 0;
  const owner = (end) => ends.findIndex((e) => end <= e);
  let k = 0;
  while (k < chars.length) {
    if (chars[k].text === undefined) {
      groups[owner(chars[k].end)].push(chars[k]);
      k++;
      continue;
    }
    let run = "";
    let to = k;
    while (to < chars.length && chars[to].text !== undefined) run += chars[to++].text;
    for (const g of segmenter ? [...segmenter.segment(run)].map((s) => s.segment) : [...run]) {
      const count = [...g].length;
      at = chars[k + count - 1].end;
      groups[owner(at)].push({ text: g });
      k += count;
    }
  }
  return groups.map(pieces);
}
