"""Make docs/demo.gif from the running page: ``python docs/picture.py [example]``.

Starts app.py on a free port, opens one recorded example in headless Chromium and photographs the
player event by event. Needs the development requirements and Chromium.
"""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from specviz.bench.page_browser import chromium  # noqa: E402

TARGET = ROOT / "docs" / "demo.gif"
SIZE = {"width": 1280, "height": 760}
WIDTH = 960
STEPS = 3
STEP = "[...document.querySelectorAll('#player *')].find((e) => e.specviz)?.specviz.state().step"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    """Return when the page answers; raises TimeoutError after a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            probe.settimeout(0.5)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise TimeoutError("app.py did not open its port within a minute")


@contextmanager
def opened() -> Iterator[tuple[Browser, str]]:
    """A browser and the address of app.py, which ends with it; raises Unsupported or OSError."""
    port = free_port()
    env = {**os.environ, "GRADIO_SERVER_NAME": "127.0.0.1", "GRADIO_SERVER_PORT": str(port)}
    server = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=env)
    try:
        wait_for(port)
        with chromium() as browser:
            yield browser, f"http://127.0.0.1:{port}"
    finally:
        server.terminate()


def photograph(page: Page) -> list[Image.Image]:
    """One picture per event, until ``STEPS`` steps have been told."""
    player = page.locator("#player")
    player.locator("section.sv").focus()
    pictures = []
    first: int | None = None
    while True:
        shot = Image.open(io.BytesIO(player.screenshot())).convert("RGB")
        pictures.append(shot.resize((WIDTH, shot.height * WIDTH // shot.width), Image.LANCZOS))
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(350)
        step: int = page.evaluate(STEP)
        first = step if first is None else first
        if len(pictures) > 90 or step >= first + STEPS:
            return pictures


def contact_sheet(pictures: list[Image.Image]) -> Image.Image:
    """Every fourth picture below the other, so that one palette has the colours of all."""
    chosen = pictures[::4]
    sheet = Image.new("RGB", (WIDTH, sum(p.height for p in chosen)))
    top = 0
    for picture in chosen:
        sheet.paste(picture, (0, top))
        top += picture.height
    return sheet


def main() -> None:
    """Serve, photograph, write."""
    example = sys.argv[1] if len(sys.argv) > 1 else "code"
    with opened() as (browser, address):
        page = browser.new_page(viewport=SIZE)
        page.goto(f"{address}/?trace={example}&__theme=light")
        page.wait_for_timeout(3000)
        pictures = photograph(page)
    palette = contact_sheet(pictures).quantize(255)
    frames = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    frames[0].save(
        TARGET, save_all=True, append_images=frames[1:], duration=450, loop=0, optimize=True
    )


if __name__ == "__main__":
    main()
