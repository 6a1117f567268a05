// Making elements. Texts become text nodes, whatever they hold.
import { plain, shorten } from "../text.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children
      .flat()
      .filter((c) => c !== null && c !== undefined)
      .map(node),
  );
  return element;
}

const node = (child) => (child instanceof Node ? child : document.createTextNode(String(child)));

/** An HTML element. */
export const h = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

/** An SVG element. */
export const s = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/** Replace the children of an element. */
export function put(element, ...children) {
  element.replaceChildren(
    ...children
      .flat()
      .filter((c) => c !== null && c !== undefined)
      .map(node),
  );
}

/** Set a text only when it changed. */
export function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

/** The pieces of a token as inline elements: markers, names and bytes beside plain text. */
export function pieceNodes(found) {
  return found.map((p) =>
    p.kind === "text"
      ? document.createTextNode(p.shown)
      : h("span", { class: `pc ${p.kind}` }, p.shown),
  );
}

/** A token as a small chip inside a sentence. */
export function chip(model, id, limit = 18) {
  const found = model.look(id);
  return h(
    "bdi",
    { class: "tok", "data-token": id, title: plain(found).length > limit ? plain(found) : null },
    ...pieceNodes(shorten(found, limit)),
  );
}

let brush = null;
const widths = new Map();

/** The width of a text in `font` (CSS shorthand) in px, measured without touching the layout. */
export function measure(value, font) {
  const key = `${font}|${value}`;
  let width = widths.get(key);
  if (width === undefined) {
    brush ??= document.createElement("canvas").getContext("2d");
    brush.font = font;
    width = brush.measureText(value).width;
    if (widths.size > 20000) widths.clear();
    widths.set(key, width);
  }
  return width;
}
