"""What scripts in the browser may ask the server: anything may arrive, and a run id is the key."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from specviz import player
from specviz.audit import audit
from specviz.trace import TraceError
from specviz.tracefile import packed
from specviz.ui.address import preset_of
from specviz.ui.visit import Desk
from specviz.views import candidates, memory_table, rejects

SHEETS = {"csv": rejects, "candidates": candidates, "memory": memory_table}


@dataclass(frozen=True)
class Answers:
    """Answers from what ``desk`` keeps."""

    desk: Desk
    lang: str

    def get_events(self, arguments: list[Any]) -> list[Any]:
        """[run_id, start] -> the stored events from there on, for the player's gaps."""
        match arguments:
            case [str(run_id), int(start), *_]:
                return [player.plain(e) for e in self.desk.events(run_id, start)]
            case _:
                return []

    def make_file(self, arguments: list[Any]) -> dict[str, str] | None:
        """[run_id, kind] -> name, media type and base64 bytes of a download."""
        match arguments:
            case [str(run_id), str(kind)]:
                trace = self.desk.trace(run_id)
            case _:
                return None
        if trace is None or trace.run("decoder") is None:
            return None
        run = trace.run("decoder")
        assert run is not None
        stem = f"specviz-{run.header.decoder}-{run.header.run}"
        if kind == "trace":
            try:
                name, media, raw = ".jsonl.gz", "application/gzip", packed(trace.events)
            except TraceError:  # nobody could open it again
                return None
        elif kind == "html":
            name, media = ".html", "text/html"
            raw = player.export_html(
                trace, lang=self.lang, audited=not audit(trace), preset=preset_of(run_id)
            ).encode()
        elif kind in SHEETS:
            name, media = f"-{'rejects' if kind == 'csv' else kind}.csv", "text/csv"
            raw = SHEETS[kind].to_csv(trace).encode("utf-8-sig")
        else:
            return None
        return {"name": stem + name, "type": media, "data": base64.b64encode(raw).decode()}
