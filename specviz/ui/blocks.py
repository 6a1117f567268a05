"""Page elements that show any text literally: data reach the browser as values, never as markup.

Gradio compiles templates from values, so the templates here are constant and the scripts write
with ``textContent``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import gradio as gr

from specviz import player
from specviz.catalog import text
from specviz.ui.place import follow

HELD = 8000  # ms that the page's own words stand in the status line
# What a script in the browser may ask: all its arguments come as one list.
Answer = Callable[[list[Any]], Any]


def plain(value: str = "", elem_id: str | None = None) -> gr.HTML:
    """A line of literal text: the value."""
    return gr.HTML(
        value,
        html_template='<p class="sv-plain"></p>',
        js_on_load=script("""
            const show = () => {
              element.querySelector('.sv-plain').textContent = props.value ?? '';
            };
        """),
        elem_id=elem_id,
    )


def status_line(elem_id: str | None = None) -> gr.HTML:
    """What is going on, or what went wrong: its value comes from ``status``."""
    return gr.HTML(
        status(),
        html_template=(
            '<div class="sv-status" data-kind="">'
            '<span class="sv-status-text" role="status"></span>'
            '<progress hidden></progress></div>'
        ),
        js_on_load=script("""
            let newest = 0, held = '', timer = 0;
            // What the page itself has to say is not swept away by the next line of a run.
            element.specvizSay = (words) => {
              held = words;
              clearTimeout(timer);
              timer = setTimeout(() => { held = ''; show(); }, HELD);
              show();
            };
            const show = () => {
              const value = JSON.parse(props.value), { done, total, at } = value;
              if (at < newest) return;  // answers of two events may overtake each other
              newest = at;
              const kind = held ? 'error' : value.kind, text = held || value.text;
              if (kind === 'error') document.querySelector('#player')?.stage?.open(null);
              // What the stage waits for stands on it, too, until it comes or fails.
              const stage = document.querySelector('#player')?.dataset ?? {};
              if (value.kind !== 'busy') delete stage.opening;
              else if (stage.opening) stage.opening = value.text;
              const line = element.querySelector('.sv-status-text');
              const bar = element.querySelector('progress');
              element.querySelector('.sv-status').dataset.kind = kind;
              line.setAttribute('role', kind === 'error' ? 'alert' : 'status');
              if (line.textContent !== text) line.textContent = text;
              line.title = text;  // it is cut where there is no room
              bar.hidden = kind !== 'busy';
              bar.setAttribute('aria-label', text);
              if (total > 0) { bar.max = total; bar.value = Math.min(done, total); }
              else bar.removeAttribute('value');
            };
        """.replace("HELD", str(HELD))),
        elem_id=elem_id,
    )


def status(text: str = "", kind: str = "", done: int = 0, total: int = 0) -> str:
    """The value of ``status_line``; ``kind``: busy, error, done or empty."""
    return json.dumps(
        {"kind": kind, "text": text, "done": done, "total": total, "at": monotonic()}
    )


def said(line: str) -> str:
    """The words of a status, for what stands far below it."""
    words: str = json.loads(line)["text"]
    return words


def facts_list(elem_id: str | None = None) -> gr.HTML:
    """A list of labels and values: its value comes from ``facts``."""
    return gr.HTML(
        facts([]),
        html_template='<dl class="sv-facts"></dl>',
        js_on_load=script("""
            const show = () => {
              const list = element.querySelector('.sv-facts');
              list.replaceChildren();
              for (const [label, value] of JSON.parse(props.value)) {
                const dt = document.createElement('dt'), dd = document.createElement('dd');
                dt.textContent = label;
                dd.textContent = value;
                list.append(dt, dd);
              }
            };
        """),
        elem_id=elem_id,
    )


def facts(rows: list[tuple[str, str]]) -> str:
    """The value of ``facts_list``: labels and texts."""
    return json.dumps(rows)


def gallery(value: str, opening: str, elem_id: str | None = None) -> gr.HTML:
    """Cards of recorded runs, those of a decoder under its name; ``click`` carries the ``name`` of
    the card. ``opening``: what is said until its run is there, with ``{title}`` in it."""
    return gr.HTML(
        value,
        html_template='<div class="sv-gallery"></div>',
        js_on_load=script(
            """
            const open = (card) => {
              const words = OPENING.replace('{title}', () => card.title);
              document.querySelector('#player').dataset.opening = words;
              const line = document.querySelector('#status .sv-status-text');
              if (line) line.textContent = words;
              document.querySelector('.sv-top').scrollIntoView({ block: 'start' });
              trigger('click', { name: card.name });
            };
            const show = () => {
              const { cards, current, locked } = JSON.parse(props.value);
              const gallery = element.querySelector('.sv-gallery');
              gallery.replaceChildren();
              let list = null;
              element.specvizOpen = (name) => {
                const card = cards.find((each) => each.name === name);
                if (card) open(card);
                else trigger('click', { name });  // the run that is shown has none
              };
              cards.forEach((card, i) => {
                if (card.decoder !== cards[i - 1]?.decoder) {
                  const group = document.createElement('section');
                  const head = document.createElement('p');
                  const name = document.createElement('b');
                  list = document.createElement('div');
                  list.setAttribute('role', 'list');
                  list.setAttribute('aria-label', card.decoder);
                  name.textContent = card.decoder;
                  head.append(name, ' ' + card.about);
                  const size = cards.filter((c) => c.decoder === card.decoder).length;
                  group.style.setProperty('--cards', size);
                  group.append(head, list);
                  gallery.append(group);
                }
                const item = document.createElement('div');
                const button = document.createElement('button');
                item.setAttribute('role', 'listitem');
                button.type = 'button';
                button.className = 'sv-card';
                button.dataset.name = card.name;
                button.disabled = Boolean(locked);
                button.title = locked ?? '';
                button.setAttribute('aria-pressed', String(card.name === current));
                for (const part of ['title', 'description', 'figures']) {
                  const line = document.createElement('span');
                  line.className = 'sv-card-' + part;
                  line.textContent = card[part];
                  button.append(line);
                }
                button.addEventListener('click', () => open(card));
                item.append(button);
                list.append(item);
              });
            };
            """.replace("OPENING", json.dumps(opening))
        ),
        elem_id=elem_id,
    )


def takeaway(labels: dict[str, str], make: Answer, elem_id: str) -> gr.HTML:
    """Download buttons for the run whose id is the value; files are made when asked for.

    ``make([run_id, kind])`` returns name, media type and bytes in base64, or None.
    """
    def make_file(arguments: list[Any]) -> Any:
        return make(arguments)

    buttons = "".join(
        f'<button type="button" class="sv-button" data-kind="{kind}" disabled></button>'
        for kind in labels
    )
    return gr.HTML(
        "",
        html_template=f'<div class="sv-takeaway">{buttons}</div>',
        js_on_load=script(
            """
            const labels = LABELS;
            const save = async (kind) => {
              const file = await server.make_file(props.value, kind);
              if (!file) return;
              const bytes = Uint8Array.from(atob(file.data), (c) => c.charCodeAt(0));
              const link = document.createElement('a');
              link.href = URL.createObjectURL(new Blob([bytes], { type: file.type }));
              link.download = file.name;
              link.click();
              setTimeout(() => URL.revokeObjectURL(link.href), 60000);
            };
            const show = () => {
              for (const button of element.querySelectorAll('button')) {
                const { kind } = button.dataset;
                button.textContent = labels[kind];
                button.disabled = !props.value;
                button.onclick = () => save(kind);
              }
            };
            """.replace("LABELS", json.dumps(labels))
        ),
        server_functions=[make_file],
        elem_id=elem_id,
    )


def player_stage(
    answer: Answer, lang: str, elem_id: str, recorded: Sequence[tuple[str, str, str]] = ()
) -> gr.HTML:
    """The animated player. Its value is JSON text: a packed payload to load or an update to push.

    ``answer([run_id, start])`` gives the events that the player misses when it notices a gap.
    ``recorded``: name, title and decoder of the runs that an address may ask for, the first where
    it asks for none, and of lessons as "lesson <name>": said until the run is there.
    """
    # Gradio marks the function that it may call, which a bound method does not allow.
    def get_events(arguments: list[Any]) -> Any:
        return answer(arguments)

    words = {"busy": text("ui.error.busy", lang), "lost": text("ui.error.earlier", lang)}
    options = {"strings": player.player_strings(lang), "lang": lang}
    return gr.HTML(
        "",
        html_template='<div class="sv-stage"></div>',
        js_on_load=player.bundle_js() + follow() + script(
            """
            const place = follow(WORDS);
            const query = new URLSearchParams(location.search), lesson = query.get('lesson');
            const asked = lesson ? 'lesson ' + lesson : query.get('trace');
            const awaited = RECORDED.find(([name]) => name === asked) ?? RECORDED[0];
            const stage = SpecvizPlayer.mount(element.querySelector('.sv-stage'), {
              ...OPTIONS,
              fetchEvents: (runId, from) => server.get_events(runId, from),
              onState: place.onState,
              linkTo: place.linkTo,
              saveHtml: () => document.querySelector('#takeaway [data-kind=html]')?.click(),
              lessonLink: place.lessonLink,
              onOpen: place.open,
              onLesson: place.onLesson,
              opening: awaited ? { title: awaited[1], decoder: awaited[2] } : null,
            });
            addEventListener('popstate', () => place.back(stage));
            element.specviz = element.closest('#player').stage = stage;
            const unpack = async (packed) => {
              const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
              const text = new Blob([bytes]).stream()
                .pipeThrough(new DecompressionStream('gzip'));
              return new Response(text).json();
            };
            const take = async (value) => {
              const message = JSON.parse(value);
              delete element.closest('#player')?.dataset.opening;
              if (message.load) {
                stage.load(await unpack(message.load));
                place.loaded(stage);
              }
              else await stage.push(message);
            };
            let taken = '', queue = Promise.resolve();
            const show = () => {
              const value = props.value;
              if (!value || value === taken) return;
              taken = value;
              queue = queue.then(() => take(value)).catch((e) => console.error(e));
            };
            """.replace("OPTIONS", json.dumps(options)).replace("RECORDED", json.dumps(recorded))
            .replace("WORDS", json.dumps(words))
        ),
        server_functions=[get_events],
        elem_id=elem_id,
    )


def script(source: str) -> str:
    """A component's script: ``source`` defines ``show``, which is called for every value."""
    # The first value does not count as a change, so it is shown here.
    return f"{source}\nshow();\nwatch('value', show);"
