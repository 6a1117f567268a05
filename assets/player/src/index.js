// The public face of the bundle.
import { beatsOf, scene } from "./scene.js";
import { Player } from "./player.js";

/**
 * Mount a player in `element`. options: {strings, lang?, fetchEvents?(run, from) -> Promise of
 * events or of an update, onState?(state), linkTo?(preset, step) -> address, saveHtml?(),
 * lessonLink?(lesson, stop) -> address, onOpen?(example) -> false where it cannot be opened now,
 * onLesson?({lesson, stop} or null), opening?: {title, decoder} of the run that is on its way}.
 * Returns {open, load, push, seekStep, play, pause, state, setStrings,
 * startLesson, leaveLesson, destroy}.
 */
export function mount(element, options = {}) {
  const player = new Player(element, options);
  const face = {};
  for (const name of [
    "open",
    "load",
    "push",
    "seekStep",
    "seek",
    "play",
    "pause",
    "state",
    "setStrings",
    "set",
    "startLesson",
    "leaveLesson",
    "destroy",
  ])
    face[name] = (...args) => player[name](...args);
  return face;
}

export { scene };

/** The last time of a payload's timeline; times count beats from 0. */
export const lastTime = (payload) => beatsOf(payload).last;

globalThis.SpecvizPlayer = { mount, scene, lastTime };
