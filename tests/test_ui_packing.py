"""What the server sends packed, and what it must not hold back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gradio as gr
import httpx
import pytest

from specviz.ui import launch_options
from specviz.ui.packing import Packing, packable

LONG = "This is the house that Jack built. " * 200


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with gr.Blocks(analytics_enabled=False) as page:
        gr.HTML(LONG)
        gr.Button().click(lambda: LONG, None, gr.Textbox(), api_name="long", queue=False)
    options = {**launch_options(), "prevent_thread_lock": True, "quiet": True}
    _, address, _ = page.launch(server_name="127.0.0.1", **options)
    with httpx.Client(base_url=address, timeout=60) as asks:
        yield asks
    page.close()


def test_the_page_and_an_answer_travel_packed_to_who_can_unpack_them(client: httpx.Client) -> None:
    asked = {
        "/": lambda headers: client.get("/", headers=headers),
        "run": lambda headers: client.post(
            "/gradio_api/run/long", json={"data": []}, headers=headers
        ),
    }
    for name, ask in asked.items():
        packed, plain = (ask({"accept-encoding": kind}) for kind in ("gzip", "identity"))
        assert packed.headers["content-encoding"] == "gzip", name
        assert "content-encoding" not in plain.headers, name
        assert LONG.strip() in packed.text and LONG.strip() in plain.text, name
        assert int(packed.headers["content-length"]) < len(plain.content) / 2, name


@pytest.mark.parametrize(
    ("path", "packs"),
    [
        ("/", True), ("/ru", True), ("/ru/", True), ("/config", True),
        ("/gradio_api/run/predict", True), ("/gradio_api/component_server", True),
        ("/gradio_api/queue/data", False), ("/gradio_api/heartbeat/run/x", False),
        ("/gradio_api/call/run/abc", False), ("/gradio_api/call/generate/abc", False),
        ("/gradio_api/upload_progress", False), ("/gradio_api/file=/tmp/run/a.gz", False),
        ("/assets/index.js", False),
    ],
)  # fmt: skip
def test_what_streams_and_what_is_packed_already_is_left_alone(path: str, packs: bool) -> None:
    assert packable(path) is packs


def test_every_event_of_a_stream_is_sent_before_the_next_is_made() -> None:
    log: list[Any] = []

    async def events(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/plain")]  # not told by what it calls itself
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for i in range(3):
            log.append(i)
            await send({"type": "http.response.body", "body": b"%d" % i * 9999, "more_body": i < 2})

    async def take(message: Any) -> None:
        if message["type"] == "http.response.body":
            log.append(message["body"])

    async def never() -> Any:
        raise AssertionError("nobody asks for more")

    headers = [(b"accept-encoding", b"gzip")]
    scope = {"type": "http", "path": "/gradio_api/queue/data", "headers": headers}
    with ThreadPoolExecutor(1) as thread:  # a browser's test before may leave its loop in this one
        thread.submit(asyncio.run, Packing(events)(scope, never, take)).result()
    assert log == [0, b"0" * 9999, 1, b"1" * 9999, 2, b"2" * 9999]
