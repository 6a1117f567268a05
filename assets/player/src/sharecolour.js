// Colours and gradients as computed styles give them, in forms that every SVG viewer reads.

const byte = (v) => Math.round(255 * Math.min(1, Math.max(0, Number(v))));

/** [colour as "#rrggbb", opacity] of a computed colour; null where nothing would be seen. */
export function solid(value) {
  const [, r, g, b, a] =
    value.match(/^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/) ?? [];
  const mixed = value.match(/^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.]+))?\)$/);
  const [parts, alpha] = mixed
    ? [mixed.slice(1, 4).map(byte), mixed[4]]
    : [[r, g, b].map((v) => Math.round(Number(v))), a];
  const opacity = alpha === undefined ? 1 : Number(alpha);
  if (opacity === 0 || parts.some(Number.isNaN)) return null;
  return [`#${parts.map((v) => v.toString(16).padStart(2, "0")).join("")}`, opacity];
}

/** The attributes of a fill or stroke. */
export function ink(name, value) {
  const found = solid(value);
  if (!found) return { [name]: "none" };
  return { [name]: found[0], ...(found[1] < 1 ? { [`${name}-opacity`]: found[1] } : {}) };
}

/** Split at commas that no bracket holds. */
function pieces(text) {
  const out = [""];
  let depth = 0;
  for (const char of text) {
    depth += (char === "(") - (char === ")");
    if (char === "," && !depth) out.push("");
    else out[out.length - 1] += char;
  }
  return out.map((part) => part.trim());
}

/**
 * The first linear gradient of a computed background: {repeats, angle in degrees, stops}, a stop
 * being {colour, opacity, at, px}; null where there is none. A stop without a place gets one.
 */
export function gradient(value) {
  const found = value.match(/^(repeating-)?linear-gradient\((.*)\)$/);
  if (!found) return null;
  const parts = pieces(found[2]);
  const turned = parts[0].match(/^(-?[\d.]+)deg$/);
  if (turned) parts.shift();
  const stops = [];
  for (const part of parts) {
    const [, colour, places] = part.match(/^((?:rgba?|color)\([^)]*\))\s*(.*)$/) ?? [];
    if (!colour) return null;
    const shown = solid(colour);
    for (const place of places ? places.split(/\s+/) : [null])
      stops.push({
        colour: shown?.[0] ?? null,
        opacity: shown?.[1] ?? 0,
        at: place === null ? null : Number.parseFloat(place) / (place.endsWith("%") ? 100 : 1),
        px: place?.endsWith("px") ?? false,
      });
  }
  stops.forEach((stop, i) => {
    stop.at ??= i / Math.max(1, stops.length - 1);
    // What fades to nothing fades in its own colour.
    stop.colour ??= (stops[i - 1] ?? stops[i + 1])?.colour ?? "#000000";
  });
  return { repeats: Boolean(found[1]), angle: turned ? Number(turned[1]) : 180, stops };
}
