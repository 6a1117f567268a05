"""Answers of the server that are long text travel packed; what streams is left as it is.

Gradio packs files by their ending and nothing else: neither the page, which holds all of its
components, nor a recorded run in an answer.
"""

from __future__ import annotations

import re

from gradio.route_utils import API_PREFIX
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from specviz.catalog import LANGUAGES

PAGES = ("", "config", *LANGUAGES, *(f"{lang}/config" for lang in LANGUAGES))
# What a press is answered with at once, and what a script of the page asks the server.
ANSWERS = re.compile(rf"{re.escape(API_PREFIX)}/(run/[^/]+|component_server)/?")
LEAST = 1000  # bytes; less is not worth it


class Packing:
    """Middleware that packs the pages, their configuration and answers that are not streamed.

    By what is asked for, not by what is answered: a list of events would be held back until there
    is enough of it to pack.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.packed = GZipMiddleware(app, minimum_size=LEAST, compresslevel=4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, packed where that is fitting and the browser can take it."""
        app = self.packed if scope["type"] == "http" and packable(scope["path"]) else self.app
        await app(scope, receive, send)


def packable(path: str) -> bool:
    """Whether an answer to ``path`` is text that comes in one piece."""
    return path.strip("/") in PAGES or ANSWERS.fullmatch(path) is not None
