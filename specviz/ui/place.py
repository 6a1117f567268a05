"""The page's address follows the recorded run and the step that are shown, or a lesson's stop.

A reload, the Back button and a copied link lead to the same place. A run of one's own lives in its
tab alone, so beside it the address names no run; the entry of the tab's history remembers it.
"""

from __future__ import annotations

import json
import os

# Browsers refuse more than some changes of an address in a while, so it follows with a pause.
_SCRIPT = """
const follow = (WORDS) => {
  const HUB = 'https://huggingface.co', SPACE = NAME, PAUSE = 400;
  const framed = window.parent !== window;
  let shown = null, lesson = null, wanted = null, opening = '', timer = 0;
  let picked = false, moving = false, undoing = false, held = '';
  let entry = history.state?.specvizAt ?? 0;  // which one of the history the page shows
  const returning = new Set();  // runs that Back or Forward asked for and that are not there yet
  const preset = (run) => (run.startsWith('example-') ? run.slice('example-'.length) : '');
  const isOwn = (card) => card.dataset.name.startsWith('own-');
  const runOf = (card) =>
    isOwn(card) ? card.dataset.name.slice('own-'.length) : 'example-' + card.dataset.name;
  const aimed = (url, name, step, at = null) => {
    const wanted = { trace: name, step: name && step, lesson: at?.lesson, stop: at?.stop };
    for (const [key, value] of Object.entries(wanted))
      if (value) url.searchParams.set(key, value);
      else url.searchParams.delete(key);
    return url;
  };
  const write = (how) => {
    clearTimeout(timer);
    timer = 0;
    // On the way back to the entry that was left, what is written would take another one's place.
    if (undoing) {
      if (held !== 'pushState') held = how;
      return;
    }
    const name = lesson ? '' : preset(shown.run);
    const url = aimed(new URL(location), name, shown.step, lesson);
    if (url.href === location.href && history.state?.specviz === shown.run) return;
    if (how === 'pushState') entry++;
    // Whatever the framework keeps with an entry of the history stays with it.
    history[how]({ ...history.state, specviz: shown.run, specvizAt: entry }, '', url);
    // A Space stands in a frame: the address that a reader sees is that of the page around it.
    if (!framed || !SPACE) return;
    const outer = new URLSearchParams(url.search);
    for (const key of [...outer.keys()]) if (key.startsWith('__')) outer.delete(key);
    window.parent.postMessage({ queryString: outer.toString() }, HUB);
  };
  const onState = ({ run, step, events }) => {
    if (!run || !events) return;
    const before = shown?.run;
    shown = { run, step: Math.max(0, step) + 1 };
    // Where the page opened is what the address already says, or says without a word.
    if (before === undefined) {
      history.replaceState({ ...history.state, specviz: run, specvizAt: entry }, '', location);
      return;
    }
    const asked = returning.delete(run) || opening === run;
    if (opening === run) opening = '';
    if (before === run || asked) timer ||= setTimeout(write, PAUSE, 'replaceState');
    else if (lesson) picked = true;
    else {
      returning.clear();
      wanted = null;
      write('pushState');
    }
  };
  /** A lesson asks for the recording of its stop; false where it cannot be opened now. */
  const open = (example) => {
    const card = cards().find((each) => each.dataset.name === example);
    if (!card || card.disabled) return false;
    opening = runOf(card);
    card.click();
    return true;
  };
  /** A lesson stands at another stop, {lesson, stop}, or was left, null. */
  const onLesson = (at) => {
    lesson = at;
    // Who picks a card in the middle of a lesson finds the lesson behind it.
    if (shown && !moving) write(at === null && picked ? 'pushState' : 'replaceState');
    picked = false;
  };
  // A link names the page that a reader sees, not the frame inside it.
  const linkTo = (name, step, at = null) => {
    const outer = framed && SPACE ? `${HUB}/spaces/${SPACE}` : location.origin + location.pathname;
    const url = aimed(new URL(outer), name, step, at), lang = document.documentElement.lang;
    if (framed && SPACE && lang && lang !== 'en') url.searchParams.set('lang', lang);
    return url.href;
  };
  const lessonLink = (name, stop) => linkTo('', 0, { lesson: name, stop });
  const cards = () => [...document.querySelectorAll('#gallery .sv-card')];
  const part = (of, what) => [...document.querySelectorAll(of)].find((e) => e[what])?.[what];
  /** While a run is going on nothing else is shown: back to the entry that was left. */
  const refuse = () => {
    const left = history.state?.specvizAt;
    part('#status *', 'specvizSay')?.(WORDS.busy);
    if (left === undefined || left === entry) return write('replaceState');
    undoing = true;
    history.go(entry - left);
  };
  /** The entry that was left is there again, or Back was pressed once more on the way to it. */
  const undo = () => {
    const left = history.state?.specvizAt ?? entry;
    if (left !== entry) return history.go(entry - left);
    undoing = false;
    if (held) write(held);
    held = '';
  };
  /** The run that an entry of the history asks for, and the name of the card that opens it. */
  const aim = (name) => {
    // Of two runs side by side the first is there without the other.
    const kept = (history.state?.specviz ?? '').replace(/^pair /, '');
    const card = cards().find((each) => runOf(each) === (name ? 'example-' + name : kept)) ??
      cards().find((each) => runOf(each) === kept);
    if (card) return { run: runOf(card), card: card.dataset.name };
    // What is shown has no card, for it is there.
    if (kept && [kept, 'pair ' + kept].includes(shown?.run))
      return { run: kept, card: 'own-' + kept };
    const first = cards().find((each) => !isOwn(each));
    return first && { run: runOf(first), card: first.dataset.name, lost: kept && !preset(kept) };
  };
  /** Where Back or Forward leads: a lesson, the same run at another step, or another card. */
  const back = (stage) => {
    if (undoing) return undo();
    const query = new URL(location).searchParams;
    const begins = [...document.querySelectorAll('#lessons [data-lesson]')]
      .find((each) => each.dataset.lesson === query.get('lesson'));
    const to = aim(query.get('trace')), same = to && to.run === shown?.run;
    // What waits to be written belongs to the entry that was left.
    clearTimeout(timer);
    timer = 0;
    if ((begins || !same) && cards().some((each) => each.disabled)) return refuse();
    entry = history.state?.specvizAt ?? entry;
    if (begins) {
      begins.dataset.stop = query.get('stop') ?? '';
      begins.click();
      return;
    }
    moving = true;
    stage.leaveLesson();
    moving = false;
    if (!to) return;
    const step = query.get('step');
    const at = /^\\d{1,9}$/.test(step ?? '') ? Number(step) - 1 : null;
    if (to.lost) part('#status *', 'specvizSay')?.(WORDS.lost);
    if (same) {
      if (at !== null) stage.seekStep(at);
      return;
    }
    returning.add(to.run);
    wanted = { run: to.run, at };
    part('#gallery *', 'specvizOpen')(to.card);
  };
  const loaded = (stage) => {
    if (wanted?.run !== stage.state().run) return;
    if (wanted.at !== null) stage.seekStep(wanted.at);
    wanted = null;
  };
  return { onState, onLesson, open, linkTo, lessonLink, back, loaded };
};
"""


def follow() -> str:
    """A script that defines ``follow(words)``: what a player's host does about the address.

    ``words``: ``busy`` and ``lost``, what is said where it cannot lead back.
    """
    return _SCRIPT.replace("NAME", json.dumps(os.environ.get("SPACE_ID", "")))
