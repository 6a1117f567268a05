"""The languages of the page: links between them, and what ``?lang=`` in an address asks for."""

from __future__ import annotations

import json

import gradio as gr

from specviz.catalog import LANGUAGES

# Before anything is drawn: an address that asks for another language leads to its page. The bar of
# pages that Gradio draws goes: it would name one of them alone, and lose what is shown.
HEAD_TAGS = """<style>.nav-holder { display: none !important; }</style><script>{
  const langs = LANGS, url = new URL(location), asked = url.searchParams.get('lang');
  const last = url.pathname.split('/').pop();
  const here = langs.includes(last) && last !== 'en' ? last : 'en';
  if (langs.includes(asked) && asked !== here) {
    const path = here === 'en' ? url.pathname : url.pathname.slice(0, -last.length);
    url.pathname = path.replace(/\\/?$/, '/') + (asked === 'en' ? '' : asked);
    url.searchParams.delete('lang');
    location.replace(url);
  }
}</script>""".replace("LANGS", json.dumps(list(LANGUAGES)))


def speak(lang: str) -> str:
    """A script that tells the browser, and whoever reads the page aloud, its language."""
    return f"() => {{ document.documentElement.lang = {json.dumps(lang)}; }}"


def language_links(lang: str, elem_id: str) -> gr.HTML:
    """A link to the page of every other language, at the recorded run and step that are shown.

    A run that is no recorded one belongs to its tab, so beside it the link opens another tab.
    """
    links = "".join(
        f'<a class="sv-language" lang="{other}" hreflang="{other}" data-lang="{other}">{name}</a>'
        for other, name in LANGUAGES.items()
        if other != lang
    )
    return gr.HTML(
        "",
        html_template=links,
        js_on_load="""
            const root = window.gradio_config.root.replace(/\\/?$/, '/');
            for (const link of element.querySelectorAll('a')) {
              const { lang } = link.dataset;
              const lead = () => {
                const url = new URL(lang === 'en' ? root : root + lang, location);
                const player = [...document.querySelectorAll('#player *')].find((e) => e.specviz);
                const { run = '', step } = player?.specviz.state() ?? {};
                const recorded = run.startsWith('example-');
                const { lesson } = player?.specviz.state() ?? {};
                if (lesson) {
                  for (const [name, value] of Object.entries(lesson))
                    url.searchParams.set(name, value);
                } else if (recorded) {
                  url.searchParams.set('trace', run.slice('example-'.length));
                  url.searchParams.set('step', Math.max(0, step) + 1);
                }
                link.href = url.href;
                link.target = recorded || !run ? '' : '_blank';
              };
              link.href = root + (lang === 'en' ? '' : lang);
              for (const press of ['pointerdown', 'click']) link.addEventListener(press, lead);
            }
        """,
        elem_id=elem_id,
    )
