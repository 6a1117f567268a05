// The player's own corner of the page: a shadow root, so that no page style or id reaches in.
import css from "../../player.css";
import { Beside } from "./beside.js";
import { Caption } from "./caption.js";
import { h } from "./dom.js";
import { Flight } from "./flight.js";
import { Header } from "./header.js";
import { Help } from "./help.js";
import { Lanes } from "./lanes.js";
import { LessonView } from "./lesson.js";
import { Memory } from "./memory.js";
import { Outline } from "./outline.js";
import { Lightbox } from "./lightbox.js";
import { Pictures } from "./pictures.js";
import { Share } from "./share.js";
import { SightView } from "./sight.js";
import { Text } from "./text.js";
import { Tooltip } from "./tooltip.js";
import { Transport } from "./transport.js";
import { Tree } from "./tree.js";
import { Wave } from "./wave.js";

let sheet = null;

/** Build the parts inside `host`; returns them by name. */
export function frame(player, host) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
  }
  root.adoptedStyleSheets = [sheet];
  const tooltip = (player.tooltip = new Tooltip(player));
  const header = new Header(player);
  const lanes = new Lanes(player);
  const lesson = new LessonView(player);
  const pictures = new Pictures(player);
  const lightbox = new Lightbox(player);
  const text = new Text(player);
  const tree = new Tree(player);
  const outline = new Outline(player);
  const wave = new Wave(player);
  const sight = new SightView(player);
  const memory = new Memory(player);
  const beside = new Beside(player);
  const caption = new Caption(player);
  const transport = new Transport(player);
  const help = new Help(player);
  const flight = new Flight(player);
  const share = new Share(player);
  const element = h(
    "section",
    {
      class: "sv",
      tabindex: "0",
      role: "region",
      "aria-label": player.strings.say("player.region"),
    },
    h(
      "div",
      { class: "inner" },
      h("div", { class: "top" }, pictures.element, header.element, lanes.element, lesson.element),
      beside.bar,
      h(
        "div",
        { class: "middle" },
        text.element,
        tree.element,
        outline.element,
        wave.element,
        sight.element,
        memory.element,
        beside.element,
      ),
      h("div", { class: "deck" }, caption.element, transport.element),
    ),
    caption.voice,
    help.element,
    share.element,
    lightbox.element,
    flight.element,
    tooltip.element,
  );
  root.replaceChildren(element);
  element.addEventListener("pointerdown", (e) => {
    if (!e.target.closest("button, select, [tabindex]:not(.sv)"))
      element.focus({ preventScroll: true });
  });
  return {
    element,
    header,
    lanes,
    lesson,
    pictures,
    lightbox,
    text,
    tree,
    wave,
    sight,
    memory,
    beside,
    caption,
    transport,
    help,
    flight,
    share,
    tooltip,
    // What is laid out by its own size, and who has to know of it.
    sized: [
      [lanes.svg, (box) => lanes.resize(box.clientWidth)],
      [transport.bar, (box) => transport.resize(box.clientWidth)],
      [tree.box, (box) => tree.resize(box.clientWidth, box.clientHeight)],
      [wave.box, (box) => wave.resize(box.clientWidth, box.clientHeight)],
      [sight.box, (box) => sight.resize(box.clientWidth)],
      [text.box, () => text.resize()],
    ],
    views: [header, lanes, lesson, pictures, lightbox, text, tree, wave, sight, memory, beside, caption, transport, help, flight, share, outline, text.find],
  };
}

/** Follow the page's theme: a `dark` class above, a host that has none, or the system's wish. */
export function theme(element, host) {
  const wish = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    let above = host;
    let dark = false;
    while (above && !dark) {
      dark = above.classList?.contains("dark") ?? false;
      above = above.parentElement ?? above.getRootNode?.().host ?? null;
    }
    // Gradio sets the class itself, so there its absence means light, whatever the system wants.
    const decides = host.closest(".gradio-container") !== null;
    element.dataset.theme = dark || (!decides && wish.matches) ? "dark" : "light";
  };
  apply();
  const watch = new MutationObserver(apply);
  for (const node of [document.documentElement, document.body])
    if (node) watch.observe(node, { attributes: true, attributeFilter: ["class"] });
  wish.addEventListener("change", apply);
  return () => {
    watch.disconnect();
    wish.removeEventListener("change", apply);
  };
}
