"""The share menu of an exported file: every export is made in the browser, without a network."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from PIL.GifImagePlugin import GifImageFile
from player_traces import random_trace
from playwright.sync_api import Page

from specviz.tracefile import load
from specviz.views import rejects

from .exported import wait

EXAMPLES = Path(__file__).parents[2] / "examples"
SVG = "{http://www.w3.org/2000/svg}"
Show = Callable[..., Page]


def press(page: Page, act: str) -> None:
    page.evaluate(f"root.querySelector('.share [data-act={act}]').click()")


def saved(page: Page, act: str, tmp_path: Path) -> tuple[str, bytes]:
    """Name and bytes of the file that a button of the menu makes."""
    with page.expect_download(timeout=90_000) as download:  # a film is made frame by frame
        press(page, act)
    path = tmp_path / f"got-{act}"
    download.value.save_as(path)
    return download.value.suggested_filename, path.read_bytes()


def open_menu(page: Page) -> None:
    page.context.set_offline(True)
    page.evaluate("root.querySelector('.sv').focus()")
    page.keyboard.press("s")
    wait(page, "!root.querySelector('.share').hidden")


def texts(tree: ElementTree.Element) -> str:
    return "\n".join("".join(t.itertext()) for t in tree.iter(f"{SVG}text"))


def test_the_frame_is_a_standalone_svg_with_all_that_the_stage_shows(
    show: Show, tmp_path: Path
) -> None:
    page = show(load(EXAMPLES / "tea.jsonl.gz"), start_step=51)
    open_menu(page)
    name, raw = saved(page, "svg", tmp_path)
    assert name == "specviz-recap-5d66c22a7a2c-step-52.svg"
    tree = ElementTree.fromstring(raw)
    told = texts(tree)
    # Verdict, lanes, text, tree, evidence, caption, and which run it was.
    for words in ("RECAP", "1.83×", "78 tokens", "Answer so far", "loose", "weight", "0.71",
                  "of 5 positions right", "smollm2-135m · cpu float32"):  # fmt: skip
        assert words in told, words
    assert not list(tree.iter(f"{SVG}foreignObject"))
    assert "style" not in {a for each in tree.iter() for a in each.attrib}
    assert not re.findall(rb'(?:href|src)="(?!data:)|url\((?!#)|class="|var\(', raw)
    desc = tree.find(f"{SVG}desc")
    assert desc is not None and desc.text is not None
    assert desc.text.startswith("specviz 0.1.0 · RECAP · nodes=0 levels=123 gamma=1 ")
    assert "least_score=0.002" in desc.text and desc.text.endswith("max_new_tokens=144")
    # The boxes of the tree: accepted ones are filled in their colour, the refused one is dashed.
    drawn = [p for p in tree.iter(f"{SVG}rect") if p.get("stroke") == "#0072b2"]
    assert len([p for p in drawn if p.get("fill") == "#e3f0f9"]) == 4
    image = tmp_path / "frame.svg"
    image.write_bytes(raw)
    page.goto(image.as_uri())
    assert page.evaluate("document.documentElement.getBBox().width") > 1200


def test_the_png_has_the_tree_in_its_colours(show: Show, tmp_path: Path) -> None:
    page = show(load(EXAMPLES / "tea.jsonl.gz"), start_step=51)
    open_menu(page)
    name, raw = saved(page, "png", tmp_path)
    assert name == "specviz-recap-5d66c22a7a2c-step-52.png"
    image = Image.open(io.BytesIO(raw)).convert("RGB")
    assert image.width == 2560 and 1200 < image.height < 1500
    # The middle of the stage, where the tree stands.
    middle = image.crop((640, 440, 1840, 1000))
    colours = {colour: count for count, colour in middle.getcolors(1 << 24) or []}
    for hue in ((0, 114, 178), (227, 240, 249), (213, 94, 0), (230, 159, 0)):
        assert colours.get(hue, 0) > 300, hue
    assert colours[(255, 255, 255)] < 0.9 * middle.width * middle.height


def test_tables_hold_what_the_command_line_writes(show: Show, tmp_path: Path) -> None:
    for example in ("tea", "head-400", "sign", "overdone"):
        trace = load(EXAMPLES / f"{example}.jsonl.gz")
        page = show(trace)
        open_menu(page)
        _, table = saved(page, "csv", tmp_path)
        assert table.decode("utf-8-sig") == rejects.to_csv(trace)
        _, plain = saved(page, "json", tmp_path)
        assert json.loads(plain) == json.loads(rejects.to_json(trace))


@pytest.mark.parametrize("seed", range(3))
def test_hostile_texts_are_quoted_as_on_the_command_line(
    show: Show, tmp_path: Path, seed: int
) -> None:
    trace = random_trace(seed, steps=12, nodes=9)
    page = show(trace)
    open_menu(page)
    _, table = saved(page, "csv", tmp_path)
    assert table.decode("utf-8-sig") == rejects.to_csv(trace)
    rows = list(csv.reader(io.StringIO(table.decode("utf-8-sig"), newline="")))
    assert rows[0] == list(rejects.COLUMNS)


def test_a_film_of_a_step_can_be_made_and_stopped(show: Show, tmp_path: Path) -> None:
    page = show(load(EXAMPLES / "tea.jsonl.gz"), start_step=0)
    open_menu(page)
    fields = "root.querySelector('[data-act=gif_from]'), root.querySelector('[data-act=gif_to]')"
    assert page.evaluate(f"[{fields}].map((field) => field.value)") == ["1", "3"]
    said = "root.querySelector('.share .said').textContent"
    for last, line in (("99", "Choose whole numbers from 1 to 63, the first not after the last."),
                       ("11", "Choose at most 10 steps.")):  # fmt: skip
        page.evaluate("(last) => root.querySelector('[data-act=gif_to]').value = last", last)
        press(page, "gif")
        wait(page, f"{said} === '{line}'")
    page.evaluate("root.querySelector('[data-act=gif_to]').value = '10'")
    press(page, "gif")
    wait(page, f"{said}.startsWith('Frame ')")
    press(page, "cancel")
    wait(page, f"{said} === 'Stopped; no file was made.'")
    page.evaluate("root.querySelector('[data-act=gif_to]').value = '1'")
    name, raw = saved(page, "gif", tmp_path)
    assert name == "specviz-recap-5d66c22a7a2c-step-1.gif"
    film = Image.open(io.BytesIO(raw))
    assert isinstance(film, GifImageFile)
    # Before the step, its pass, the end of its walk, and what was written: nothing was guessed.
    assert (film.n_frames, film.width) == (4, 960)
    seen, shown_for = [], []
    for at in range(film.n_frames):
        film.seek(at)
        seen.append(film.convert("RGB").tobytes())
        shown_for.append(film.info["duration"])
    assert len(set(seen)) >= 3 and shown_for == [700, 420, 340, 1500]
    assert page.evaluate("root.querySelectorAll('[inert]').length") == 0


def test_the_menu_goes_by_keyboard_and_says_whose_text_it_is(show: Show) -> None:
    page = show(load(EXAMPLES / "sign.jsonl.gz"))
    open_menu(page)
    menu = "root.querySelector('.share')"
    assert page.evaluate("root.activeElement.getAttribute('aria-label')") == "Share this run"
    warning = page.evaluate(f"{menu}.querySelector('.warning').textContent")
    assert warning.startswith("This run holds a text and a picture that are not among the examples")
    assert "lives only in this page" in page.evaluate(f"{menu}.textContent")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("root.activeElement.dataset.act") == "png"
    page.keyboard.press("Escape")
    assert page.evaluate(f"{menu}.hidden && root.activeElement === root.querySelector('.sv')")
    page.evaluate("it.load({...data.payload, preset: 'sign'})")
    page.evaluate("root.querySelector('[data-act=share]').click()")
    assert page.evaluate(f"{menu}.querySelector('.warning')") is None
    assert "This file has no address" in page.evaluate(f"{menu}.textContent")


def test_words_are_copied_with_model_and_settings(show: Show) -> None:
    page = show(load(EXAMPLES / "tea.jsonl.gz"), start_step=51)
    page.evaluate(
        "document.execCommand = () => { window.copied = root.activeElement.value; return true; }"
    )
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })"
    )
    open_menu(page)
    press(page, "text")
    wait(page, "root.querySelector('.share .said').textContent === 'Text copied.'")
    caption, answer, facts = re.split(r"\n\n(?=To make|specviz )", page.evaluate("copied"))
    assert caption.startswith("4 of 5 positions right: ")
    assert answer.startswith("To make a good cup of tea") and answer.endswith("look for a tea")
    assert facts.startswith("specviz 0.1.0 · RECAP") and "smollm2-135m" in facts
