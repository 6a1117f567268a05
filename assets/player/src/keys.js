// Keys act while the focus is inside the player, or nowhere while the player is in view; they never
// swallow what a control needs.
import { growth } from "./beats.js";

/** The next guess in growth order from the focused one. */
function neighbour(player, by) {
  const step = player.model.decoder.steps[player.scene.place.step];
  if (!step) return;
  const order = [0, ...growth(step)];
  const at = order.indexOf(player.scene.focus);
  const next = order[Math.min(Math.max(at + by, 0), order.length - 1)];
  if (next === player.chosen) return;
  player.chosen = null;
  player.choose(next);
}

const ACTIONS = {
  ArrowLeft: (p, e) => (e.shiftKey ? p.stepBy(-1) : p.eventBy(-1)),
  ArrowRight: (p, e) => (e.shiftKey ? p.stepBy(1) : p.eventBy(1)),
  ArrowUp: (p) => neighbour(p, -1),
  ArrowDown: (p) => neighbour(p, 1),
  PageUp: (p) => p.seekStep(p.scene.place.step - 10),
  PageDown: (p) => p.seekStep(p.scene.place.step + 10),
  Home: (p) => p.seek(0),
  End: (p) => p.seek(Infinity),
  r: (p) => p.next("miss"),
  a: (p) => p.next("full"),
  l: (p) => p.set("loop", !p.loop),
  p: (p) => p.set("reveal", !p.reveal),
  e: (p) => p.set("expert", !p.expert),
  b: (p) => p.set("projector", !p.projector),
  c: (p) => p.payload.other && p.set("pair", !p.pair),
  d: (p) => p.compared && p.nextDifference(),
  f: (p) => p.text.find.toggle(true),
  i: (p) => p.lightbox.toggle(),
  s: (p) => p.share.toggle(),
  "?": (p) => p.help.toggle(),
  " ": (p) => p.toggle(),
};

function escape(player) {
  if (player.tooltip.open) player.tooltip.hide();
  else if (player.lightbox.open) player.lightbox.toggle(false);
  else if (player.share.open) player.share.toggle(false);
  else if (player.help.open) player.help.toggle(false);
  else if (player.lesson.on) player.lesson.leave();
  else if (player.chosen !== null) player.choose(player.chosen);
  else return false;
  return true;
}

// With the focus nowhere these scroll the page, which is what a reader expects of them.
const SCROLLS = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"]);

/** Whether most of the player, or most of the window, shows it. */
function inView(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  const seen = Math.min(bottom, innerHeight) - Math.max(top, 0);
  return height > 0 && seen > 0.5 * Math.min(height, innerHeight);
}

/** Listen on the player and on the page; returns what stops listening. */
export function keys(player) {
  const inside = (event) => {
    player.element.classList.remove("led");
    press(player, event);
  };
  const nowhere = (event) => {
    const idle = [document.body, document.documentElement].includes(event.target);
    if (!idle || document.body.isContentEditable || SCROLLS.has(event.key)) return;
    if (inView(player.element)) press(player, event);
  };
  player.element.addEventListener("keydown", inside);
  document.addEventListener("keydown", nowhere);
  return () => {
    player.element.removeEventListener("keydown", inside);
    document.removeEventListener("keydown", nowhere);
  };
}

function press(player, event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
  const target = event.target;
  if (target.closest("select, input, textarea")) return;
  if (event.key === "Escape") {
    if (escape(player)) event.preventDefault();
    return;
  }
  if (player.lesson.on && player.lesson.key(event)) {
    event.preventDefault();
    return;
  }
  // Space presses a focused button, as everywhere; a scrolled panel keeps its own scroll keys.
  if (event.key === " " && target.closest("button")) return;
  if (
    target.closest(".scroll") &&
    ["ArrowUp", "ArrowDown", "PageUp", "PageDown"].includes(event.key)
  )
    return;
  const action = ACTIONS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action(player, event);
}
