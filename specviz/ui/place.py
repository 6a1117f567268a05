"""The page's address follows the recorded run and the step that are shown.

A reload, the Back button and a copied link lead to the same place. A run of one's own lives in its
tab alone, so beside it the address names no run.
"""

from __future__ import annotations

import json
import os

# Browsers refuse more than some changes of an address in a while, so it follows with a pause.
_SCRIPT = """
const follow = () => {
  const HUB = 'https://huggingface.co', SPACE = NAME, PAUSE = 400;
  const framed = window.parent !== window;
  let shown = null, wanted = null, returning = false, timer = 0;
  const preset = (run) => (run.startsWith('example-') ? run.slice('example-'.length) : '');
  const aimed = (url, name, step) => {
    for (const [key, value] of [['trace', name], ['step', name && step]])
      if (value) url.searchParams.set(key, value);
      else url.searchParams.delete(key);
    return url;
  };
  const write = (how) => {
    clearTimeout(timer);
    timer = 0;
    const url = aimed(new URL(location), preset(shown.run), shown.step);
    if (url.href === location.href) return;
    // Whatever the framework keeps with an entry of the history stays with it.
    history[how](history.state, '', url);
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
    if (before === undefined) return;
    if (before !== run && !returning) write('pushState');
    else timer ||= setTimeout(write, PAUSE, 'replaceState');
    if (before !== run) returning = false;
  };
  // A link names the page that a reader sees, not the frame inside it.
  const linkTo = (name, step) => {
    const outer = framed && SPACE ? `${HUB}/spaces/${SPACE}` : location.origin + location.pathname;
    const url = aimed(new URL(outer), name, step), lang = document.documentElement.lang;
    if (framed && SPACE && lang && lang !== 'en') url.searchParams.set('lang', lang);
    return url.href;
  };
  /** Where Back or Forward leads: the same run at another step, or the card of another one. */
  const back = (stage) => {
    const query = new URL(location).searchParams;
    const name = query.get('trace'), step = query.get('step');
    const at = /^\\d{1,9}$/.test(step ?? '') ? Number(step) - 1 : null;
    if (shown && name === preset(shown.run)) {
      if (at !== null) stage.seekStep(at);
      return;
    }
    const cards = [...document.querySelectorAll('#gallery button')];
    const card = name ? cards.find((each) => each.dataset.name === name) : cards[0];
    if (!card || card.disabled) return;
    returning = true;
    wanted = at;
    card.click();
  };
  const loaded = (stage) => {
    if (wanted !== null) stage.seekStep(wanted);
    wanted = null;
  };
  return { onState, linkTo, back, loaded };
};
"""


def follow() -> str:
    """A script that defines ``follow()``: what a player's host does about the address."""
    return _SCRIPT.replace("NAME", json.dumps(os.environ.get("SPACE_ID", "")))
