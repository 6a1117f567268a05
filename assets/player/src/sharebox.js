// The box of an HTML element as SVG: background, borders and inner shadows, as they were laid out.
import { gradient, ink, solid } from "./sharecolour.js";
import { s } from "./view/dom.js";

const SIDES = ["top", "right", "bottom", "left"];
const DASHES = { dashed: [3, 2.2], dotted: [1, 1.6] };
const round = (v) => Math.round(v * 100) / 100;

/** The four radii of a box in px, clockwise from the top left. */
function radii(style, box) {
  const names = ["top-left", "top-right", "bottom-right", "bottom-left"];
  const most = Math.min(box.width, box.height) / 2;
  return names.map((name) => {
    const value = style.getPropertyValue(`border-${name}-radius`).split(" ")[0];
    const px = Number.parseFloat(value) * (value.endsWith("%") ? box.width / 100 : 1);
    return Math.min(most, px || 0);
  });
}

function outline({ x, y, width, height }, [a, b, c, d]) {
  const arc = (r, dx, dy) => (r ? `a${round(r)},${round(r)} 0 0 1 ${round(dx)},${round(dy)}` : "");
  return (
    `M${round(x + a)},${round(y)}h${round(width - a - b)}${arc(b, b, b)}` +
    `v${round(height - b - c)}${arc(c, -c, c)}h${round(-(width - c - d))}${arc(d, -d, -d)}` +
    `v${round(-(height - d - a))}${arc(a, a, -a)}z`
  );
}

const shrunk = (box, by) => ({
  x: box.x + by,
  y: box.y + by,
  width: Math.max(0, box.width - 2 * by),
  height: Math.max(0, box.height - 2 * by),
});

function dashed(style, width) {
  const dash = DASHES[style];
  return dash ? { "stroke-dasharray": dash.map((v) => round(v * width)).join(" ") } : {};
}

/** A gradient over `box` as a definition with that id. */
function shades(found, box, id) {
  const turn = (found.angle * Math.PI) / 180;
  const [dx, dy] = [Math.sin(turn), -Math.cos(turn)];
  const across = Math.abs(box.width * dx) + Math.abs(box.height * dy);
  const last = found.stops[found.stops.length - 1];
  const long = found.repeats && last.px ? last.at : across;
  const [x, y] = [
    box.x + box.width / 2 - (dx * across) / 2,
    box.y + box.height / 2 - (dy * across) / 2,
  ];
  return s(
    "linearGradient",
    {
      id,
      gradientUnits: "userSpaceOnUse",
      ...(found.repeats ? { spreadMethod: "repeat" } : {}),
      x1: round(x),
      y1: round(y),
      x2: round(x + dx * long),
      y2: round(y + dy * long),
    },
    found.stops.map((stop) =>
      s("stop", {
        offset: round(stop.px ? stop.at / long : stop.at),
        "stop-color": stop.colour,
        ...(stop.opacity < 1 ? { "stop-opacity": stop.opacity } : {}),
      }),
    ),
  );
}

function borders(style, box, corners) {
  const edges = SIDES.map((side) => ({
    side,
    width: Number.parseFloat(style.getPropertyValue(`border-${side}-width`)),
    kind: style.getPropertyValue(`border-${side}-style`),
    colour: style.getPropertyValue(`border-${side}-color`),
  })).map((e) => ({ ...e, width: e.kind === "none" || !solid(e.colour) ? 0 : e.width }));
  const [first] = edges;
  const like = (e) => e.width === first.width && e.kind === first.kind && e.colour === first.colour;
  if (edges.every(like)) {
    if (!first.width) return [];
    const half = first.width / 2;
    const d = outline(shrunk(box, half), corners.map((r) => Math.max(0, r - half)));
    const look = { ...ink("stroke", first.colour), "stroke-width": round(first.width) };
    return [s("path", { d, fill: "none", ...look, ...dashed(first.kind, first.width) })];
  }
  const [left, top] = [box.x, box.y];
  const [right, bottom] = [box.x + box.width, box.y + box.height];
  return edges
    .filter((e) => e.width)
    .map((e) => {
      const half = e.width / 2;
      const d = {
        top: `M${round(left)},${round(top + half)}H${round(right)}`,
        right: `M${round(right - half)},${round(top)}V${round(bottom)}`,
        bottom: `M${round(left)},${round(bottom - half)}H${round(right)}`,
        left: `M${round(left + half)},${round(top)}V${round(bottom)}`,
      }[e.side];
      const look = { ...ink("stroke", e.colour), "stroke-width": round(e.width) };
      return s("path", { d, fill: "none", ...look, ...dashed(e.kind, e.width) });
    });
}

/** An inner shadow without blur: a frame, or a bar along one side. */
function shadow(style, box) {
  const found = style.boxShadow.match(/^(.*\)) (-?[\d.]+)px (-?[\d.]+)px 0px ([\d.]+)px inset$/);
  if (!found) return [];
  const [dx, dy, wide] = found.slice(2).map(Number);
  if (wide) {
    const d = outline(shrunk(box, wide / 2), [0, 0, 0, 0]);
    return [s("path", { d, fill: "none", ...ink("stroke", found[1]), "stroke-width": wide })];
  }
  const bar = {
    x: round(dx < 0 ? box.x + box.width + dx : box.x),
    y: round(dy < 0 ? box.y + box.height + dy : box.y),
    width: round(dx ? Math.abs(dx) : box.width),
    height: round(dy ? Math.abs(dy) : box.height),
  };
  return [s("rect", { ...bar, ...ink("fill", found[1]) })];
}

/** What is drawn of an element's own `box` ({x, y, width, height}); `id` names a definition. */
export function boxed(style, box, id) {
  if (box.width < 0.2 || box.height < 0.2) return [];
  const corners = radii(style, box);
  const out = [];
  const d = outline(box, corners);
  if (solid(style.backgroundColor)) out.push(s("path", { d, ...ink("fill", style.backgroundColor) }));
  const found = gradient(style.backgroundImage);
  if (found) out.push(shades(found, box, id), s("path", { d, fill: `url(#${id})` }));
  return [...out, ...shadow(style, box), ...borders(style, box, corners)];
}
