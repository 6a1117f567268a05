"""Lessons on the page: a card for each, and what starts one on the player."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from specviz import lessons
from specviz.catalog import text
from specviz.ui.blocks import script

LONGEST_WAIT = 200  # times 100 ms for the first run to be drawn


def example_of(name: str, stop: str) -> str | None:
    """The recorded example of a lesson's stop, counted from 1 (the nearest one that there is);
    None for a lesson that there is not."""
    lesson = lessons.named(name)
    if lesson is None:
        return None
    short = stop.isascii() and stop.isdecimal() and len(stop) <= 9
    at = min(max(1, int(stop) if short else 1), len(lesson.stops))
    return lesson.stops[at - 1].example


def get_lesson(arguments: list[Any]) -> Any:
    """A lesson as the player takes it, by name and language; None where there is none."""
    name, lang = (str(each) for each in arguments)
    return next(iter(lessons.plain(lang, name)), None)


def lesson_cards(recorded: set[str], lang: str, elem_id: str) -> None:
    """A row of lessons whose runs are all ``recorded``. One that the address names begins at
    once: ``?lesson=memories&stop=3``."""

    # Gradio marks the function that it may call, so every page has its own.
    def lesson(arguments: list[Any]) -> Any:
        return get_lesson(arguments)

    offered = [card for card in lessons.cards(lang) if recorded.issuperset(card["examples"])]
    for card in offered:
        card["length"] = text("ui.lessons.length", lang, **{k: card[k] for k in LENGTH})
    if not offered:
        return
    gr.Markdown(
        f"{text('ui.lessons', lang)} <small>{text('ui.lessons.about', lang)}</small>",
        elem_classes="sv-section",
    )
    gr.HTML(
        json.dumps(offered),
        html_template='<div class="sv-lessons" role="list"></div>',
        js_on_load=script(
            _SCRIPT.replace("LANG", json.dumps(lang)).replace("WAIT", str(LONGEST_WAIT))
        ),
        server_functions=[lesson],
        elem_id=elem_id,
    )


LENGTH = ("stops", "minutes")
_SCRIPT = """
const stage = () => [...document.querySelectorAll('#player *')].find((e) => e.specviz)?.specviz;
const begin = async (name, stop) => {
  const plan = await server.lesson(name, LANG);
  if (!plan) return;
  for (let i = 0; i < WAIT && !(stage()?.state().events > 0); i++)
    await new Promise((r) => setTimeout(r, 100));
  stage().startLesson(plan, stop);
};
const show = () => {
  const row = element.querySelector('.sv-lessons');
  row.replaceChildren();
  for (const card of JSON.parse(props.value)) {
    const item = document.createElement('div'), button = document.createElement('button');
    item.setAttribute('role', 'listitem');
    button.type = 'button';
    button.className = 'sv-card';
    button.dataset.lesson = card.name;
    for (const part of ['title', 'about', 'length']) {
      const line = document.createElement('span');
      const looks = { title: 'title', about: 'description', length: 'figures' };
      line.className = 'sv-card-' + looks[part];
      line.textContent = card[part];
      button.append(line);
    }
    button.addEventListener('click', () => {
      // The way back to a lesson says at which stop it was.
      begin(card.name, Number(button.dataset.stop) || 1);
      delete button.dataset.stop;
      document.querySelector('.sv-top')?.scrollIntoView({ block: 'start' });
    });
    item.append(button);
    row.append(item);
  }
};
const asked = new URLSearchParams(location.search);
if (asked.get('lesson')) begin(asked.get('lesson'), Number(asked.get('stop')) || 1);
"""
