// A second stage, out of sight and of a fixed width, that frames are drawn from: the one that a
// person looks at stays as it is, and a phone exports the same picture as a wide screen.
import { factsLine } from "./share.js";
import { paint } from "./sharepaint.js";
import { h, measure, s } from "./view/dom.js";

export const WIDTH = 1280;
const FOOT = 24;
const AWAY = "-30000px"; // in no window, so that no key is taken for it
const KEPT = ["pair", "chosen", "held", "probe", "expert", "projector", "reveal"];
const SHEET = `
  *, *::before, *::after { transition: none !important; animation: none !important; }
  .transport, .zoom, .help, .tip, .share, .voice { display: none !important; }
  .inner { padding-bottom: 6px !important; } .caption { min-height: 5.9em !important; }
  [data-stand-before]::before, [data-stand-after]::after { content: none !important; }
`;

/** Two frames of the browser, or a moment where it draws none, as in a tab behind another one. */
const settled = () =>
  new Promise((done) => {
    const late = setTimeout(done, 250);
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        clearTimeout(late);
        done();
      }),
    );
  });

export class Stage {
  constructor(player) {
    this.player = player;
    this.host = h("div", { inert: true, "aria-hidden": "true" });
    const middle = player.element.classList.contains("heads") ? 480 : 384;
    const css = { position: "fixed", left: AWAY, top: AWAY, width: `${WIDTH}px`, display: "block" };
    for (const [name, value] of Object.entries(css)) this.host.style[name] = value;
    this.host.style.setProperty("--sv-middle", `${middle}px`);
  }

  /** Lay the run out; to be called once before frames are drawn. */
  async open() {
    const { player } = this;
    player.element.getRootNode().append(this.host);
    const { map, lang } = player.strings;
    this.copy = new player.constructor(this.host, { strings: map, lang });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(SHEET);
    this.host.shadowRoot.adoptedStyleSheets.push(sheet);
    this.copy.element.dataset.theme = player.element.dataset.theme;
    this.copy.load({ ...player.payload, live: false, instructive: false });
    this.copy.lanes.axis = player.lanes.axis;
    for (const name of KEPT) this.copy[name] = player[name];
    this.copy.set("projector", player.projector);
    for (const view of this.copy.views) view.refresh?.();
    await settled();
    return this;
  }

  /** The frame at time `t` as a standalone SVG: {svg, width, height}. */
  async frame(t) {
    const { copy, player } = this;
    copy.notice = null;
    copy.go(t);
    copy.chosen = t === player.t ? player.chosen : null;
    copy.draw();
    await settled();
    const { shapes, width, height } = paint(copy.element);
    const tall = height + FOOT;
    const line = factsLine(copy.model, copy.strings);
    const style = getComputedStyle(copy.element);
    const font = style.fontFamily;
    const size = Math.min(12, (12 * (width - 44)) / measure(line, `400 12px ${font}`));
    const ground = style.getPropertyValue("--bg").trim();
    const svg = s(
      "svg",
      {
        xmlns: "http://www.w3.org/2000/svg",
        width,
        height: tall,
        viewBox: `0 0 ${width} ${tall}`,
        role: "img",
        "data-theme": copy.element.dataset.theme,
      },
      s("title", {}, copy.caption.main.textContent),
      s("desc", {}, factsLine(copy.model, copy.strings, true)),
      s("rect", { width, height: tall, fill: ground }),
      shapes,
      s(
        "text",
        { x: 22, y: height + 9, "font-family": font, "font-size": size.toFixed(2), fill: style.getPropertyValue("--quiet").trim() },
        line,
      ),
    );
    return { svg: new XMLSerializer().serializeToString(svg), width, height: tall, ground };
  }

  close() {
    this.copy?.destroy();
    this.host.remove();
  }
}

/** Draw a frame into a canvas, `scale` times as large, and as high as `tall` px of the frame. */
export async function pixels({ svg, width, height, ground }, scale, tall = height) {
  const image = new Image();
  // A data address: the policy of the exported file allows no other picture.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(tall * scale);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, Math.round(height * scale));
  return { canvas, context };
}

/** The picture as a PNG file. */
export async function png(frame, scale = 2) {
  const { canvas } = await pixels(frame, scale);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
