"""What the measurements of the page rely on, and what they found that must not come back."""

from __future__ import annotations

import pytest

from specviz.bench.page_browser import Tab

from .visitor import STATE, Visitor


@pytest.fixture
def tab(visitor: Visitor) -> Tab:
    devtools = visitor.page.context.new_cdp_session(visitor.page)
    devtools.send("Performance.enable")
    return Tab(visitor.page, visitor.page.context, devtools)


def test_a_measurement_waits_until_nothing_comes_though_a_stream_stays_open(tab: Tab) -> None:
    tab.ask(
        """() => {
          window.asked = 0;
          const ask = setInterval(() => {
            fetch(`/config?${asked}`);
            if (++asked === 5) clearInterval(ask);
          }, 600);
        }"""
    )
    tab.quiet()
    assert tab.ask("asked") == 5


def test_runs_that_are_opened_again_and_again_leave_nothing_behind(
    tab: Tab, visitor: Visitor
) -> None:
    def opened(times: int) -> tuple[float, float]:
        for name in ("odd", "rhyme") * times:
            visitor.page.click(f".sv-card[data-name={name}]")
            visitor.wait(f"{STATE}.run === 'example-{name}'")
            tab.quiet()
        told = tab.settled()
        return told["Nodes"], told["JSEventListeners"]

    nodes, listeners = opened(1)
    after = opened(2)
    # Charts that are not let go of hold two thousand elements and more for every opening.
    assert after[0] < nodes + 1000
    assert after[1] < listeners + 100
