// The text of HTML elements as SVG text, line by line, where the browser laid it out.
import { ink } from "./sharecolour.js";
import { s } from "./view/dom.js";

const round = (v) => Math.round(v * 100) / 100;
const LONGEST = 20000; // characters of one text that are looked at
let brush = null;
const fonts = new Map();

/** Height above and below the baseline of a font (CSS shorthand), in px. */
function font(shorthand) {
  let found = fonts.get(shorthand);
  if (!found) {
    brush ??= document.createElement("canvas").getContext("2d");
    brush.font = shorthand;
    const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = brush.measureText("x");
    fonts.set(shorthand, (found = { up, down }));
  }
  return found;
}

/** The lines of a text node: {text, left, top, right, bottom} each, none below `bottom`. */
function lines(node, kept, bottom) {
  const range = document.createRange();
  range.selectNodeContents(node);
  const whole = [...range.getClientRects()].filter((r) => r.width > 0);
  const text = kept ? node.data.replace(/\n$/, "") : node.data.replace(/[\t\n\r ]+/g, " ");
  const plain = text === node.data && !text.includes("\n") && (kept || !/^ | $/.test(text));
  if (whole.length === 1 && plain) return [{ text, ...edges(whole[0]) }];
  const out = [];
  let at = 0;
  for (const char of node.data.slice(0, LONGEST)) {
    range.setStart(node, at);
    range.setEnd(node, (at += char.length));
    const box = [...range.getClientRects()].find((r) => r.width > 0);
    if (!box) continue;
    if (box.top > bottom) break;
    const line = out[out.length - 1];
    const shown = /[\t\n\r]/.test(char) ? " " : char;
    if (line && Math.abs(line.top - box.top) < 3 && Math.abs(box.left - line.right) < 3) {
      line.text += shown;
      line.right = box.right;
    } else out.push({ text: shown, ...edges(box) });
  }
  return out;
}

const edges = ({ left, top, right, bottom }) => ({ left, top, right, bottom });

/** An underline or a line through, in the style that it has on the page. */
function ruled(deco, x, y, width) {
  const { kind, colour, thick } = deco;
  const look = { fill: "none", ...ink("stroke", colour), "stroke-width": round(thick) };
  const straight = (at) => `M${round(x)},${round(at)}h${round(width)}`;
  if (kind === "double") return s("path", { d: straight(y) + straight(y + 2 * thick), ...look });
  if (kind === "wavy") {
    let d = `M${round(x)},${round(y)}`;
    for (let at = 0; at < width - 1; at += 6) d += "q1.5,-3 3,0t3,0";
    return s("path", { d, ...look, "stroke-width": round(thick / 2) });
  }
  const dash = { dashed: [2 * thick, thick], dotted: [thick, thick] }[kind];
  return s("path", {
    d: straight(y),
    ...look,
    ...(dash ? { "stroke-dasharray": dash.map(round).join(" ") } : {}),
  });
}

/** The decoration that an element adds to its text and that of its inline children, or null. */
export function decoration(style) {
  const line = style.textDecorationLine;
  if (line === "none") return null;
  const thick = Number.parseFloat(style.textDecorationThickness);
  const size = Number.parseFloat(style.fontSize);
  return {
    line,
    kind: style.textDecorationStyle,
    colour: style.textDecorationColor,
    thick: thick || Math.max(1, size / 14),
    offset: Number.parseFloat(style.textUnderlineOffset) || size / 9,
  };
}

/** The attributes of a font. */
export function lettering(style) {
  return {
    "font-family": style.fontFamily,
    "font-size": round(Number.parseFloat(style.fontSize)),
    ...(style.fontWeight !== "400" ? { "font-weight": style.fontWeight } : {}),
    ...(style.fontStyle !== "normal" ? { "font-style": style.fontStyle } : {}),
  };
}

/** Where the baseline of one line of text between `top` and `bottom` lies. */
function baseline(style, top, bottom) {
  const { up, down } = font(shorthand(style));
  return top + (bottom - top - up - down) / 2 + up;
}

const shorthand = (style) =>
  `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;

/** The number before an item of an ordered list, which no text node holds. */
export function counted(item, style, box) {
  let number = item.parentElement.start - 1;
  for (let each = item.parentElement.firstElementChild; each; each = each.nextElementSibling) {
    number = each.hasAttribute("value") ? each.value : number + 1;
    if (each === item) break;
  }
  const tall = Number.parseFloat(style.lineHeight) || box.height;
  const bold = getComputedStyle(item, "::marker").fontWeight;
  return s(
    "text",
    {
      x: round(box.x - 6),
      y: round(baseline(style, box.y, box.y + tall)),
      "text-anchor": "end",
      ...lettering(style),
      ...ink("fill", style.color),
      ...(bold > 500 ? { "font-weight": bold } : {}),
    },
    `${number}.`,
  );
}

/** The sign of a line that is cut at `right`: {sign, wide in px}. */
export function dots(style, right, rect, from) {
  const wide = 0.6 * Number.parseFloat(style.fontSize) + 1;
  const y = round(baseline(style, rect.top - from.y, rect.bottom - from.y));
  const look = { ...lettering(style), ...ink("fill", style.color) };
  return { sign: s("text", { x: round(right - wide), y, ...look }, "…"), wide };
}

/** A text node in the style of its element; `from` is the corner that (0, 0) stands for. */
export function written(node, style, decorations, from, bottom) {
  const kept = style.whiteSpace.startsWith("pre") || style.whiteSpace.startsWith("break");
  const { up } = font(shorthand(style));
  const look = { ...lettering(style), ...ink("fill", style.color) };
  if (look.fill === "none") return [];
  const out = [];
  for (const line of lines(node, kept, bottom)) {
    const [x, width] = [line.left - from.x, line.right - line.left];
    // The box of a line is as high as its font, whatever the line height.
    const base = baseline(style, line.top - from.y, line.bottom - from.y);
    for (const deco of decorations) {
      const y = deco.line === "line-through" ? base - up * 0.3 : base + deco.offset + deco.thick / 2;
      out.push(ruled(deco, x, y, width));
    }
    if (line.text.trim() === "") continue;
    out.push(
      s(
        "text",
        {
          x: round(x),
          y: round(base),
          ...look,
          // Another font than the one that was measured still fills the same room.
          ...([...line.text].length > 1 ? { textLength: round(width), lengthAdjust: "spacingAndGlyphs" } : {}),
          ...(/^ | $| {2}/.test(line.text) ? { "xml:space": "preserve" } : {}),
        },
        line.text,
      ),
    );
  }
  return out;
}
