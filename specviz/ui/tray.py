"""What shows the pictures of the next prompt, and the small gallery of example pictures.

Names, notes and sentences are written with ``textContent``; a picture is a data URL made here.
"""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from specviz.catalog import text
from specviz.ui.blocks import script

_FIELD = "const field = () => document.querySelector('#pictures-add-row input[type=file]');"


def catcher(elem_id: str, most: int) -> gr.HTML:
    """Nothing to see: files that are pasted into the form, or dropped on the prompt, go the way of
    those that are chosen, so that the server gets them as they are. ``most``: MB of a file."""
    return gr.HTML(
        "",
        html_template="<span hidden></span>",
        js_on_load=script(
            _FIELD
            + """
            // What is folded away is not there yet.
            const opened = async () => {
              if (!field()) document.querySelector('#pictures button')?.click();
              for (let i = 0; i < 100 && !field(); i++) await new Promise((r) => setTimeout(r, 50));
              return field();
            };
            // Gradio refuses what is too large in a message of its own, which is gone in a moment:
            // such files are left out here, and said where the others are.
            document.addEventListener('change', (event) => {
              if (event.target !== field()) return;
              const files = [...event.target.files];
              const large = files.filter((file) => file.size > LARGEST);
              if (!large.length) return;
              const held = new DataTransfer();
              for (const file of files) if (!large.includes(file)) held.items.add(file);
              document.dispatchEvent(new CustomEvent('sv-large',
                { detail: { name: large[0].name, which: held.files.length } }));
              event.target.files = held.files;
              if (!held.files.length) event.stopImmediatePropagation();
            }, true);
            const give = async (files) => {
              const held = new DataTransfer();
              for (const file of files) held.items.add(file);
              const input = await opened();
              if (!input) return;
              input.files = held.files;
              input.dispatchEvent(new Event('change', { bubbles: true }));
            };
            document.addEventListener('sv-pictures', (event) => give(event.detail));
            document.querySelector('#controls')?.addEventListener('paste', (event) => {
              const files = [...(event.clipboardData?.files ?? [])];
              if (!files.some((file) => file.type.startsWith('image/'))) return;
              event.preventDefault();
              give(files);
            });
            const box = element.closest('[role=tabpanel]') ?? element;
            const over = (event, on) => {
              if (![...(event.dataTransfer?.types ?? [])].includes('Files')) return;
              event.preventDefault();
              box.classList.toggle('sv-over', on);
            };
            for (const name of ['dragenter', 'dragover'])
              box.addEventListener(name, (event) => over(event, true));
            box.addEventListener('dragleave', (event) => over(event, false));
            box.addEventListener('drop', (event) => {
              over(event, false);
              // Whatever it is: a file that is no picture is refused in words.
              const files = [...(event.dataTransfer?.files ?? [])];
              if (files.length) give(files);
            });
            const show = () => {};
            """.replace("LARGEST", str(most << 20))
        ),
        elem_id=elem_id,
    )


def tray(value: str, labels: dict[str, str], elem_id: str) -> gr.HTML:
    """The pictures of the next prompt: its value comes from ``contents``. ``click`` carries ``act``
    (remove, replace, keep, use, anew, large) and ``which``: a number, or the label of a model; of a
    file that is too ``large`` its ``name``, and as ``which`` how many others came with it."""
    return gr.HTML(
        value,
        html_template=(
            '<div class="sv-tray"><div class="sv-talk" hidden></div>'
            '<ul class="sv-thumbs"></ul>'
            '<p class="sv-tray-said" role="status"></p><p class="sv-offers"></p></div>'
        ),
        js_on_load=script(
            _FIELD
            + """
            const labels = LABELS;
            const make = (tag, name, words) => {
              const made = document.createElement(tag);
              if (name) made.className = name;
              if (words !== undefined) made.textContent = words;
              return made;
            };
            const button = (words, act, which, name) => {
              const made = make('button', name ?? 'sv-small', words);
              made.type = 'button';
              made.addEventListener('click', () => trigger('click', { act, which }));
              return made;
            };
            const choose = (which) => {
              const input = field();
              if (!input) return;
              trigger('click', { act: 'replace', which });
              // Nothing was chosen: the next picture is one more.
              input.addEventListener('cancel',
                () => trigger('click', { act: 'keep', which }), { once: true });
              input.click();
            };
            const thumb = (picture, which) => {
              const item = make('li'), image = make('img'), words = make('div', 'sv-thumb-words');
              image.src = picture.url;
              image.alt = picture.alt;
              words.append(make('b', '', picture.name), make('span', '', picture.size));
              for (const note of picture.notes) words.append(make('span', 'sv-note', note));
              item.append(image, words);
              item.classList.toggle('sv-asked', picture.fixed);
              if (picture.fixed) return item;
              const acts = make('div', 'sv-thumb-acts');
              const other = make('button', 'sv-small', labels.replace);
              other.type = 'button';
              other.setAttribute('aria-label', `${labels.replace}: ${picture.name}`);
              other.addEventListener('click', () => choose(which));
              const away = button(labels.remove, 'remove', which);
              away.setAttribute('aria-label', `${labels.remove}: ${picture.name}`);
              acts.append(other, away);
              item.append(acts);
              return item;
            };
            document.addEventListener('sv-large',
              ({ detail }) => trigger('click', { act: 'large', ...detail }));
            let newest = 0;
            const show = () => {
              const { pictures, said, kind, offers, talk, at } = JSON.parse(props.value);
              if (at < newest) return;  // answers of two events may overtake each other
              newest = at;
              const line = element.querySelector('.sv-tray-said');
              element.querySelector('.sv-tray').dataset.kind = kind;
              line.setAttribute('role', kind === 'error' ? 'alert' : 'status');
              if (line.textContent !== said) line.textContent = said;
              element.querySelector('.sv-offers').replaceChildren(
                ...offers.map(({ label, words }) => button(words, 'use', label)));
              element.querySelector('.sv-thumbs').replaceChildren(...pictures.map(thumb));
              const going = element.querySelector('.sv-talk');
              going.hidden = !talk;
              going.replaceChildren(...(talk
                ? [make('span', '', talk), button(labels.anew, 'anew', 0)] : []));
            };
            """.replace("LABELS", json.dumps(labels))
        ),
        elem_id=elem_id,
    )


def samples(
    cards: list[dict[str, str]], lang: str, elem_id: str, opens: str = "{}"
) -> gr.HTML:
    """Example pictures: {file, url, title, question} each; ``click`` carries the ``file``.

    A picture that is dropped on them goes into the form; where they stand outside of it, the script
    ``opens`` shows it then.
    """
    return gr.HTML(
        json.dumps(cards),
        html_template='<div class="sv-samples" role="list"></div>',
        js_on_load=script(
            """
            const over = (event, on) => {
              if (![...(event.dataTransfer?.types ?? [])].includes('Files')) return;
              event.preventDefault();
              event.stopPropagation();
              element.classList.toggle('sv-over', on);
            };
            for (const name of ['dragenter', 'dragover'])
              element.addEventListener(name, (event) => over(event, true));
            element.addEventListener('dragleave', (event) => over(event, false));
            element.addEventListener('drop', (event) => {
              over(event, false);
              const files = [...(event.dataTransfer?.files ?? [])];
              if (!files.length) return;
              document.dispatchEvent(new CustomEvent('sv-pictures', { detail: files }));
              if (!element.closest('#controls')) OPEN
            });
            const show = () => {
              const list = element.querySelector('.sv-samples');
              list.setAttribute('aria-label', LABEL);
              list.replaceChildren(...JSON.parse(props.value).map((card) => {
                const item = document.createElement('div');
                const made = document.createElement('button');
                const image = document.createElement('img');
                const words = document.createElement('span');
                item.setAttribute('role', 'listitem');
                made.type = 'button';
                made.dataset.file = card.file;
                made.title = card.question;
                image.src = card.url;
                image.alt = '';
                words.textContent = card.title;
                made.append(image, words);
                made.addEventListener('click', () => trigger('click', { file: card.file }));
                item.append(made);
                return item;
              }));
            };
            """.replace("LABEL", json.dumps(text("ui.samples", lang))).replace("OPEN", opens)
        ),
        elem_id=elem_id,
        visible=bool(cards),
    )


def contents(
    pictures: list[dict[str, Any]],
    said: str,
    kind: str,
    offers: list[tuple[str, str]],
    talk: str,
    at: float,
) -> str:
    """The value of ``tray``. ``kind`` of what is ``said``: busy, error or empty; ``offers``: labels
    of models that see, and the words of their buttons; ``at``: when it was made."""
    return json.dumps(
        {
            "pictures": pictures,
            "said": said,
            "kind": kind,
            "offers": [{"label": label, "words": words} for label, words in offers],
            "talk": talk,
            "at": at,
        }
    )
