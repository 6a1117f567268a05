// SVG that the player draws, with every style written out, so that it stands by itself.
import { ink } from "./sharecolour.js";
import { lettering } from "./sharetext.js";

const SHAPES = new Set(["path", "rect", "circle", "ellipse", "line", "polyline", "polygon"]);
const KEPT = new Set([
  "d", "x", "y", "x1", "y1", "x2", "y2", "dx", "dy", "cx", "cy", "r", "rx", "ry", "width", "height",
  "viewBox", "preserveAspectRatio", "points", "id", "clip-path", "transform", "href", "offset",
  "pathLength", "textLength", "lengthAdjust",
]);

function dress(copy, style) {
  const set = (attributes) => {
    for (const [name, value] of Object.entries(attributes)) copy.setAttribute(name, String(value));
  };
  const tag = copy.localName;
  if (style.opacity !== "1") set({ opacity: style.opacity });
  if (style.transform !== "none") set({ transform: style.transform });
  const drawn = SHAPES.has(tag) || tag === "text" || tag === "tspan";
  if (!drawn) return;
  if (style.fill !== "none") set(ink("fill", style.fill));
  else set({ fill: "none" });
  if (style.fillOpacity !== "1") set({ "fill-opacity": style.fillOpacity });
  if (style.stroke !== "none") {
    set({ ...ink("stroke", style.stroke), "stroke-width": Number.parseFloat(style.strokeWidth) });
    if (style.strokeDasharray !== "none")
      set({ "stroke-dasharray": style.strokeDasharray.replaceAll("px", "") });
    if (style.strokeLinecap !== "butt") set({ "stroke-linecap": style.strokeLinecap });
    if (style.strokeLinejoin !== "miter") set({ "stroke-linejoin": style.strokeLinejoin });
    if (style.paintOrder !== "normal") set({ "paint-order": style.paintOrder });
  }
  if (SHAPES.has(tag)) return;
  set(lettering(style));
  if (style.textAnchor !== "start") set({ "text-anchor": style.textAnchor });
  if (style.dominantBaseline !== "auto") set({ "dominant-baseline": style.dominantBaseline });
  if (style.textDecorationLine !== "none") set({ "text-decoration": style.textDecorationLine });
  if (style.whiteSpace.startsWith("pre")) set({ "xml:space": "preserve" });
}

/** Copy `from` into plain SVG; null where it is not shown. */
function plain(from) {
  const style = getComputedStyle(from);
  if (style.display === "none" && from.localName !== "clipPath" && from.localName !== "defs") return null;
  const copy = document.createElementNS("http://www.w3.org/2000/svg", from.localName);
  for (const { name, value } of from.attributes)
    if (KEPT.has(name)) copy.setAttribute(name, value);
  let inside = 0;
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.data);
    else if (child.nodeType === Node.ELEMENT_NODE && child.localName !== "title") {
      const made = plain(child);
      if (made) {
        copy.append(made);
        inside++;
      }
    }
  }
  if (style.visibility !== "visible" && !inside) return null;
  dress(copy, style);
  return copy;
}

/** An svg element as a nested one at its place; `box` is where it stands. */
export function drawing(svg, box, style) {
  const copy = plain(svg);
  if (!copy) return [];
  for (const [name, value] of Object.entries(box)) copy.setAttribute(name, value.toFixed(2));
  if (!svg.hasAttribute("viewBox"))
    copy.setAttribute("viewBox", `0 0 ${svg.clientWidth || box.width} ${svg.clientHeight || box.height}`);
  copy.setAttribute("overflow", style.overflowX === "visible" ? "visible" : "hidden");
  return [copy];
}
