"""Waiting in tests for what a page shows, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from playwright.sync_api import Page

T = TypeVar("T")
# Seconds until a thing has failed rather than taken its time on a machine that is busy.
PATIENCE = 60


def until(page: Page, look: Callable[[], T], wanted: T) -> None:
    """Look at the page until it shows what is ``wanted``: answers reach its parts one by one."""
    deadline = time.monotonic() + PATIENCE
    while (found := look()) != wanted and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    assert found == wanted
