"""All of the player by keys, and what is heard of it, in exact words."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page
from wave_traces import small_wave
from window_traces import small_window

from specviz.jobs import Job, run
from specviz.trace import Progress, Trace

from .exported import wait
from .patience import until
from .test_pictures import made, wide

ACTIVE = """() => {
  const e = root.activeElement;
  if (!e) return document.activeElement.id;
  const ring = getComputedStyle(e);
  const name = e.getAttribute('aria-label') ?? e.textContent.trim();
  return [name, ring.outlineStyle, parseFloat(ring.outlineWidth)];
}"""


OUTLINE = [
    "␣every, last token so far",
    ">␣night, accepted, the drafter head, score, the "
    "drafter's estimate that the branch is right up to here: 0.90",
    ">>., the model's own next token",
]
TIP = ["␣worried", "first token, from reading the prompt", "token 1, step 0, id 276"]
OUTLINE_START = ["␣the, last token so far"]
STRIP = (
    "The text so far has 19 tokens. Of these the head sees sinks 0 to 1, told as 0 to 1; "
    "a window 13 to 18, told as 2 to 7. greatest distance 7, within the 12 it was trained for."
)
GRID = '- \'grid "How the draft settled: rounds down, positions across, the full pass below"\':'
SEEN = "Picture 1 of the prompt, wide.png, as the model saw it: 64 × 64 pixels"
BLANK = "What stood there instead: a blank picture, 64 × 64 pixels"
PICTURES = [
    '- region "The picture that the model saw":',
    '  - figure "as recorded":',
    f"    - 'button \"{SEEN} Enlarge picture 1\"':",
    f"      - 'img \"{SEEN}\"'",
    "      - text: Enlarge picture 1",
    "    - text: as recorded",
    '  - figure "blank":',
    f"    - 'button \"{BLANK} Enlarge both pictures\"':",
    f"      - 'img \"{BLANK}\"'",
    "      - text: Enlarge both pictures",
    "    - text: blank",
    '  - group "Compare with another picture":',
    '    - button "off"',
    '    - button "blank" [pressed]',
    '  - button "7 of 56 tokens depend on it"',
]


def rhyme() -> Trace:
    job = Job(model="toy", decoder="recap", prompt="This is the dog that", max_new_tokens=40)
    return Trace(tuple(e for e in run(job) if not isinstance(e, Progress)))


def stops(page: Page) -> list[str]:
    """Names of everything that Tab reaches, in order; each has a ring of two pixels or more."""
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('button'), {id: 'after'}))"
    )
    page.locator("section.sv").focus()
    names = []
    while len(names) < 80:
        page.keyboard.press("Tab")
        found = page.evaluate(ACTIVE)
        if found == "after":
            return names
        name, style, width = found
        assert style == "solid" and width >= 2, f"no ring around {name}"
        names.append(name)
    raise AssertionError("Tab never left the player")


def test_tab_reaches_every_control_in_the_order_in_which_they_stand(
    show: Callable[..., Page],
) -> None:
    page = show(made(("blank", 0, None), pictures=(wide(),)), reduced_motion="reduce")
    names = stops(page)
    controls = page.evaluate(
        """() => [...root.querySelectorAll('button, select, [role=slider], .scroll')]
             .filter((e) => e.checkVisibility() && !e.disabled)
             .map((e) => e.getAttribute('aria-label') ?? e.textContent.trim())"""
    )
    assert set(controls) <= set(names)
    assert names[0] == "Enlarge picture 1"
    order = [
        "off", "blank", "seconds", "passes", "tokens", "Answer so far", "Zoom in", "Zoom out",
        "Evidence", "Play", "Step", "Step back", "Event back", "Next event", "Next step", "Next miss", "Next full accept", "Speed", "Loop step",
        "Ask before reveal", "Expert", "Big type", "Keys, signs and words",
    ]  # fmt: skip
    places = [names.index(name) for name in order if name in names]
    assert len(places) == len(order), [n for n in order if n not in names] + names
    assert places == sorted(places)
    for _ in names:
        page.keyboard.press("Shift+Tab")
    assert page.evaluate(ACTIVE)[0] == names[0]


def test_words_of_the_glossary_open_with_the_focus_and_close_with_escape(
    show: Callable[..., Page],
) -> None:
    page = show(rhyme())
    term = page.locator(".figures .term:visible").first
    term.focus()
    tip = page.get_by_role("tooltip")
    assert tip.is_visible()
    assert term.get_attribute("aria-describedby") == "tip"
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    assert page.evaluate("root.activeElement.classList.contains('term')"), "the focus stays"


def test_arrows_read_the_answer_and_enter_shows_the_step(show: Callable[..., Page]) -> None:
    page = show(rhyme(), start_step=2, reduced_motion="reduce")
    shown = page.evaluate("it.state().tokens")
    page.locator(".answer .scroll").focus()
    page.keyboard.press("ArrowRight")
    token = "root.activeElement.dataset.i"
    assert int(page.evaluate(token)) == shown - 1, "begins with the newest"
    for _ in range(shown + 3):
        page.keyboard.press("ArrowLeft")
    assert page.evaluate(token) == "0"
    tip = page.get_by_role("tooltip").locator("div").all_inner_texts()
    assert page.evaluate("root.activeElement.getAttribute('aria-label')") == ". ".join(tip)
    assert tip == TIP
    assert page.evaluate("root.activeElement.role") == "button"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    said = page.get_by_role("tooltip").locator("div").last.inner_text()
    assert said.startswith(f"token 3, step {page.evaluate('it.state().step') + 1}, id ")
    page.keyboard.press("Escape")
    assert page.evaluate("root.activeElement.className") == "scroll"
    assert page.locator(".answer [role=button]").count() == 0, "plain text again"


def outline(page: Page) -> list[str]:
    page.wait_for_timeout(350)
    found: list[str] = page.evaluate(
        """() => [...root.querySelectorAll('[aria-label="The draft tree in words"] li')].map((li) =>
             '>'.repeat([...function* () {
               for (let n = li.parentElement.closest('li'); n; n = n.parentElement.closest('li'))
                 yield n;
             }()].length) + li.firstChild.data)"""
    )
    return found


def test_the_tree_is_heard_as_nested_lists_once_the_player_rests(
    show: Callable[..., Page],
) -> None:
    page = show(small_window(), start_step=1, reduced_motion="reduce")
    until(page, lambda: outline(page), OUTLINE)
    page.keyboard.press("Home")
    until(page, lambda: outline(page), OUTLINE_START)
    page.evaluate("it.play()")
    wait(page, "it.state().step >= 0")
    assert outline(page) == OUTLINE_START, "nothing changes while it plays"


def test_a_wave_is_heard_as_its_table(show: Callable[..., Page]) -> None:
    page = show(small_wave(), reduced_motion="reduce")
    assert outline(page) == []
    assert page.get_by_role("grid").aria_snapshot().splitlines()[0] == GRID
    first = page.locator("td[data-round='0'][data-at='0']")
    words = "round 1, position 1: token ␣has, probability 0.40, age 2 core iterations, first guess"
    assert first.get_attribute("aria-label") == f"{words}, final token"
    page.locator("section.sv").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("it.state().phase") == "draft"
    assert first.get_attribute("aria-label") == words, "not before it is known"


def test_the_strip_and_the_picture_are_heard_in_words(show: Callable[..., Page]) -> None:
    page = show(small_window(), start_step=1, reduced_motion="reduce")
    assert page.get_by_role("slider").first.get_attribute("aria-label") == STRIP
    page = show(made(("blank", 0, None), pictures=(wide(),)), reduced_motion="reduce")
    assert page.locator(".pictures").aria_snapshot().splitlines() == PICTURES


def test_the_caption_is_read_out_at_rest_and_seldom_while_it_plays(
    show: Callable[..., Page],
) -> None:
    page = show(rhyme(), start_step=2)
    page.evaluate(
        """() => {
          window.spoken = [];
          new MutationObserver(() => spoken.push(root.querySelector('.sv > .voice').textContent))
            .observe(root.querySelector('.sv > .voice'), { childList: true });
        }"""
    )
    # All at once: keys that are pressed from outside come slowly where the machine is busy.
    page.evaluate(
        """() => {
          const keys = { key: 'ArrowRight', code: 'ArrowRight', shiftKey: true, bubbles: true };
          root.querySelector('section.sv').focus();
          for (let i = 0; i < 6; i++)
            root.activeElement.dispatchEvent(new KeyboardEvent('keydown', keys));
        }"""
    )
    wait(page, "window.spoken.length > 0")
    page.wait_for_timeout(600)
    caption = page.locator(".caption p").all_text_contents()
    assert page.evaluate("spoken") == [" ".join(caption)], "only where it came to rest"
    page.evaluate("it.seek(0)")
    wait(page, "window.spoken.length > 1")
    before = page.evaluate("spoken.length")
    page.evaluate("it.set('speed', '8'); it.play()")
    page.wait_for_timeout(2500)
    assert page.evaluate("spoken.length") <= before + 1
