// A painter that turns the stage, as the browser laid it out, into one SVG of plain shapes and text:
// no foreignObject, which image viewers leave out and browsers refuse to turn into pixels.
import { boxed } from "./sharebox.js";
import { drawing } from "./sharesvg.js";
import { counted, decoration, dots, written } from "./sharetext.js";
import { s } from "./view/dom.js";

const COPIED = [
  "display", "position", "left", "right", "top", "bottom", "width", "height", "margin", "padding",
  "border", "border-radius", "background", "color", "font", "vertical-align", "opacity", "z-index",
  "visibility", "line-height", "white-space", "text-align",
];
const crosses = (a, b) =>
  a.right > b.left && a.left < b.right && a.bottom > b.top && a.top < b.bottom;

/** What a pseudo-element says, or null where there is none. */
function said(style, element) {
  const { content, display } = style;
  if (content === "none" || content === "normal" || display === "none") return null;
  const attribute = content.match(/^attr\(([\w-]+)\)$/);
  if (attribute) return element.getAttribute(attribute[1]) ?? "";
  return content.replace(/^"|"$/g, "").replace(/\\"/g, '"');
}

/** Selectors of the elements that a rule gives a pseudo-element: asking all of them takes long. */
function selectors(rules, name, found = new Set()) {
  for (const rule of rules) {
    if (rule.cssRules?.length) selectors(rule.cssRules, name, found);
    for (const one of rule.selectorText?.split(",") ?? [])
      if (one.includes(`::${name}`) && !/^\s*(\*|::|\[data-stand)/.test(one))
        found.add(one.trim().split("::")[0]);
  }
  return found;
}

const sheets = new WeakMap();

/** The same for both kinds, looked up once a stage: its sheets do not change between frames. */
function givers(root) {
  if (!sheets.has(root)) {
    const rules = root.getRootNode().adoptedStyleSheets.flatMap((sheet) => [...sheet.cssRules]);
    sheets.set(root, ["before", "after"].map((name) => [name, [...selectors(rules, name)].join(",")]));
  }
  return sheets.get(root);
}

/**
 * Put elements in the place of all pseudo-elements, which have no boxes that could be asked for;
 * returns what takes them out again. The sheet of the stage hides those that have a stand-in.
 */
function standIns(root) {
  const found = [];
  for (const [name, with_] of givers(root)) {
    for (const element of root.querySelectorAll(with_)) {
      if (element instanceof SVGElement) continue;
      const style = getComputedStyle(element, `::${name}`);
      const text = said(style, element);
      if (text === null) continue;
      const css = COPIED.map((key) => [key, style.getPropertyValue(key)]);
      found.push({ element, name, text, css });
    }
  }
  for (const each of found) {
    const made = document.createElement("span");
    made.textContent = each.text;
    for (const [key, value] of each.css)
      if (value) made.style.setProperty(key, value, "important");
    each.made = made;
    each.element.setAttribute(`data-stand-${each.name}`, "");
    each.element[each.name === "before" ? "prepend" : "append"](made);
  }
  return () => {
    for (const { element, name, made } of found) {
      made.remove();
      element.removeAttribute(`data-stand-${name}`);
    }
  };
}

class Painter {
  constructor(from) {
    this.from = from;
    this.ids = 0;
  }

  box(rect) {
    return {
      x: rect.left - this.from.x,
      y: rect.top - this.from.y,
      width: rect.width,
      height: rect.height,
    };
  }

  /** Everything of an element, into `out`. */
  element(element, out, clip, decorations) {
    const style = getComputedStyle(element);
    if (style.display === "none" || style.clipPath.startsWith("inset(50%")) return;
    const rect = element.getBoundingClientRect();
    const flat = style.display === "contents" || style.display === "inline";
    if (!flat && !crosses(rect, clip) && style.overflowX !== "visible") return;
    let into = out;
    if (style.opacity !== "1" && style.display !== "contents") {
      into = s("g", { opacity: style.opacity });
      out.append(into);
    }
    if (element instanceof SVGSVGElement) {
      if (style.visibility === "visible") into.append(...drawing(element, this.box(rect), style));
      return;
    }
    if (style.visibility === "visible" && style.display !== "contents") {
      const rects = style.display === "inline" ? [...element.getClientRects()] : [rect];
      for (const each of rects)
        into.append(...boxed(style, this.box(each), `sv-shade-${this.ids++}`));
      if (element instanceof HTMLImageElement) into.append(...this.#image(element, rect, style));
    }
    if (style.display === "list-item" && style.listStyleType === "decimal")
      into.append(counted(element, style, this.box(rect)));
    const inner = style.overflowX !== "visible" && !flat ? this.#clipped(element, rect, into, style) : into;
    const seen = inner === into ? clip : meet(clip, rect);
    this.#children(element, inner, seen, style, decorations);
  }

  #children(element, out, clip, style, decorations) {
    const own = decoration(style);
    const passed = /^(inline|block|contents|list-item)$/.test(style.display) ? decorations : [];
    const here = own ? [...passed, own] : passed;
    const over = [];
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) {
        if (style.visibility === "visible")
          out.append(...written(child, style, here, this.from, clip.bottom));
      } else if (child.nodeType === Node.ELEMENT_NODE) {
        const { position, zIndex } = getComputedStyle(child);
        if (position === "static") this.element(child, out, clip, here);
        else over.push([Number.parseInt(zIndex, 10) || 0, child]);
      }
    }
    // Whatever is positioned lies above what is not.
    for (const [, child] of over.sort((a, b) => a[0] - b[0])) this.element(child, out, clip, here);
  }

  #clipped(element, rect, out, style) {
    const id = `sv-clip-${this.ids++}`;
    const wide = style.overflowY === "visible" ? 40 : 0;
    const { x, y, width, height } = this.box(rect);
    const cut = style.textOverflow === "ellipsis" && element.scrollWidth > element.clientWidth;
    const more = cut ? dots(style, x + width, rect, this.from) : null;
    const box = { x, y: y - wide, width: width - (more?.wide ?? 0), height: height + 2 * wide };
    const inner = s("g", { "clip-path": `url(#${id})` });
    out.append(s("clipPath", { id }, s("rect", box)), inner);
    if (more) out.append(more.sign);
    return inner;
  }

  #image(image, rect, style) {
    if (!image.src.startsWith("data:")) return [];
    const { x, y, width, height } = this.box(rect);
    return [
      s("image", {
        x,
        y,
        width,
        height,
        href: image.src,
        preserveAspectRatio: style.objectFit === "fill" ? "none" : "xMidYMid meet",
        ...(style.imageRendering === "pixelated" ? { "image-rendering": "pixelated" } : {}),
      }),
    ];
  }
}

const meet = (a, b) => ({
  left: Math.max(a.left, b.left),
  top: Math.max(a.top, b.top),
  right: Math.min(a.right, b.right),
  bottom: Math.min(a.bottom, b.bottom),
});

/** The shapes of `element`, with its top left corner at (0, 0): {shapes, width, height} in px. */
export function paint(element) {
  const restore = standIns(element);
  try {
    const rect = element.getBoundingClientRect();
    const painter = new Painter({ x: rect.left, y: rect.top });
    const shapes = s("g");
    painter.element(element, shapes, rect, []);
    return { shapes, width: Math.ceil(rect.width), height: Math.ceil(rect.height) };
  } finally {
    restore();
  }
}
