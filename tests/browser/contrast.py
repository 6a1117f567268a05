"""Contrast of what the player has drawn, measured in the browser from computed styles.

Behind a text lies whatever elementsFromPoint finds under it, put over one another with their
opacities: fills of SVG shapes, backgrounds of HTML elements. Ratios as in WCAG 2.2.
"""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

# Lines and areas that carry meaning by themselves: selector, computed property.
STROKES = (
    (".chip .body", "stroke"),
    (".edge", "stroke"),
    (".ring", "stroke"),
    (".overview path", "stroke"),
    (".playhead path", "stroke"),
    (".thumb", "borderTopColor"),
    (".scrub .done", "backgroundColor"),
    (".play", "backgroundColor"),
    (".badge.good", "borderTopColor"),
    (".sight .seen", "stroke"),
    (".t.depends", "outlineColor"),
)

MEASURE = """(strokes) => {
  const all = new CSSStyleSheet();
  all.replaceSync('* { pointer-events: auto !important; transition: none !important; }');
  const sheets = root.adoptedStyleSheets;
  root.adoptedStyleSheets = [...sheets, all];
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const brush = canvas.getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const opacity = (e) => {
    let all = 1;
    for (let n = e; n; n = n.parentElement) all *= +getComputedStyle(n).opacity;
    return all;
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
  const paint = (e) => {
    const style = getComputedStyle(e);
    const drawn = e instanceof SVGElement && !(e instanceof SVGSVGElement);
    if (drawn && (/^(g|text|tspan)$/.test(e.tagName) || style.fill === 'none'))
      return [0, 0, 0, 0];
    const found = rgba(drawn ? style.fill : style.backgroundColor);
    found[3] *= opacity(e) * (drawn ? +style.fillOpacity : 1);
    return found;
  };
  const page = rgba(getComputedStyle(document.body).backgroundColor);
  const mixed = (stack) => stack.reduceRight((under, e) => over(paint(e), under), page.slice(0, 3));
  const light = (rgb) => rgb
    .map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const name = (e) => {
    const parts = [];
    for (let n = e; n && parts.length < 3; n = n.parentElement)
      parts.unshift(n.tagName.toLowerCase() + [...n.classList].map((c) => '.' + c).join(''));
    return parts.join(' ');
  };
  const shown = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && !e.closest('.unseen, .voice, .word, .space'); // a blank is drawn, not written
  const texts = [], lines = [];
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !e || e.tagName === 'OPTION' || !shown(e)) continue;
    const range = document.createRange();
    range.selectNodeContents(walk.currentNode);
    const box = range.getClientRects()[0];
    if (!box || box.width < 2 || box.height < 2) continue;
    const stack = root.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const at = stack.indexOf(e);
    if (at < 0) continue; // under something else, or outside of the window
    const style = getComputedStyle(e);
    const svg = e instanceof SVGElement;
    const ink = rgba(svg ? style.fill : style.color);
    ink[3] *= opacity(e);
    const behind = mixed(stack.slice(svg ? at + 1 : at));
    const size = parseFloat(style.fontSize);
    const large = !svg && (size >= 24 || (size >= 18.66 && +style.fontWeight >= 700));
    const found = ratio(over(ink, behind), behind);
    texts.push([name(e), walk.currentNode.data.slice(0, 24), found, large ? 3 : 4.5]);
  }
  for (const [selector, property] of strokes)
    for (const e of root.querySelectorAll(selector)) {
      if (!shown(e)) continue;
      const style = getComputedStyle(e);
      if (style[property] === 'none') continue;
      const ink = rgba(style[property]);
      if (ink[3] === 0) continue;
      ink[3] *= opacity(e);
      const around = [];
      for (let n = e.parentElement; n; n = n.parentElement)
        if (!(n instanceof SVGElement)) around.push(n);
      const behind = mixed(around);
      lines.push([name(e), property, ratio(over(ink, behind), behind), 3]);
    }
  root.adoptedStyleSheets = sheets;
  return { texts, lines };
}"""


def measure(page: Page) -> dict[str, list[Any]]:
    """Texts and lines as [element, text or property, ratio, least ratio]; ``window.root`` is the
    player's root."""
    found: dict[str, list[Any]] = page.evaluate(MEASURE, list(STROKES))
    return found


def faint(page: Page) -> tuple[int, int, list[str]]:
    """How many texts and lines were measured, and those below the least contrast."""
    found = measure(page)
    low = {
        f"{element} [{what}] {ratio:.2f} < {least}"
        for kind in ("texts", "lines")
        for element, what, ratio, least in found[kind]
        if ratio < least - 0.005
    }
    return len(found["texts"]), len(found["lines"]), sorted(low)
