"""Trace files: JSON Lines, gzip by their name; read with suspicion, written whole."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from specviz.evidence import MemoryEvidence, Span, WindowEvidence
from specviz.files import write_whole
from specviz.trace import (
    ADAPTER,
    READABLE,
    Event,
    Finish,
    Header,
    Prefill,
    Probe,
    Progress,
    Step,
    StoredEvent,
    Trace,
    TraceError,
)

HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")  # maybe: a whole pair looks like this, too
MAX_TRACE_BYTES = 96 * 1024 * 1024


def dumps(event: StoredEvent) -> str:
    """One line of JSON, the same for the same event; a header always says its schema."""
    return json.dumps(plain(event), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def plain(event: StoredEvent) -> dict[str, Any]:
    """What ``dumps`` writes, as lists, dictionaries, texts and numbers."""
    data = {"type": event.type, **event.model_dump(mode="json", exclude_defaults=True)}
    if isinstance(event, Header):
        data["trace_schema"] = event.trace_schema
    return data


def loads(line: str | bytes) -> StoredEvent:
    """The event of one line; raises TraceError."""
    try:
        text = line.decode("utf-8-sig") if isinstance(line, bytes) else line
        data: Any = json.loads(text, parse_constant=_no_constant)
        if HALF_PAIR.search(text):
            json.dumps(data, ensure_ascii=False).encode()  # no view could show half a character
    except (ValueError, RecursionError) as error:
        raise TraceError(
            "This is not a trace file, a line is not JSON: choose a file that specviz wrote."
        ) from error
    if isinstance(data, dict) and data.get("type") == "header":
        schema = data.get("trace_schema")
        if type(schema) is not int or schema not in READABLE:
            found = " ".join(json.dumps(schema)[:40].split())
            known = " and ".join(map(str, READABLE))
            raise TraceError(
                f"This trace has schema {found}, this version reads schemas {known}: "
                "open it with the specviz version that wrote it."
            )
    try:
        event: StoredEvent = ADAPTER.validate_python(data)
        return event
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(p) for p in first["loc"]) or "event"
        # Both may quote the file, which may hold anything.
        where, what = " ".join(where[:80].split()), " ".join(first["msg"][:120].split())
        raise TraceError(
            f"This is not a valid trace ({where}: {what}): choose a file that specviz wrote."
        ) from error


def save(path: str | Path, events: Iterable[Event]) -> None:
    """Write a trace. The file appears whole or not at all; raises TraceError as ``packed`` does."""
    path = Path(path)
    write_whole(path, packed(events, path.suffix == ".gz"))


def packed(events: Iterable[Event], small: bool = True) -> bytes:
    """A trace file, gzipped where it is to be ``small``; progress is left out.

    Raises TraceError for one that ``load`` would refuse for its size.
    """
    text = "".join(dumps(e) + "\n" for e in events if not isinstance(e, Progress)).encode()
    if len(text) > MAX_TRACE_BYTES:
        raise TraceError(
            f"This run has {len(text) >> 20} MB, and a trace file holds {MAX_TRACE_BYTES >> 20} MB "
            "at most: run it with fewer pictures or tokens."
        )
    return gzip.compress(text, mtime=0) if small else text


def load(path: str | Path) -> Trace:
    """Read a trace file; a cut file gives the events before the cut. Raises TraceError."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_TRACE_BYTES + 1)
    except OSError as error:
        raise TraceError(f"The trace file {path.name} cannot be read: {error.strerror}.") from error
    return parse(raw)


def parse(raw: bytes) -> Trace:
    """The trace in ``raw`` (plain or gzip); raises TraceError."""
    text = _gunzip(raw) if raw[:2] == b"\x1f\x8b" else raw
    if len(text) > MAX_TRACE_BYTES:
        raise TraceError(f"This trace is larger than {MAX_TRACE_BYTES >> 20} MB.")
    lines = text.split(b"\n")
    cut = lines.pop()
    events = [loads(line) for line in lines if line.strip()]
    if cut.strip():
        try:
            events.append(loads(cut))
        except TraceError:
            if not events:
                raise
    if not events or not isinstance(events[0], Header) or events[0].role != "decoder":
        raise TraceError("This is not a trace file: it does not begin with a decoder's header.")
    _check_order(events)
    return Trace(tuple(events))


def _gunzip(raw: bytes) -> bytes:
    inflate = zlib.decompressobj(wbits=31)
    try:
        text = inflate.decompress(raw, MAX_TRACE_BYTES + 1)
    except zlib.error as error:
        raise TraceError("This trace file is damaged: it cannot be decompressed.") from error
    return text


def _check_order(events: list[StoredEvent]) -> None:
    seen: set[tuple[str, str]] = set()
    ends: dict[str, int] = {}
    pictures = 0
    for event in events:
        if isinstance(event, Header):
            if (event.role, "header") in seen:
                raise TraceError(f"This trace has two headers for the {event.role}.")
            ends[event.role] = len(event.tokens) + event.max_new_tokens
            if event.role == "decoder":
                pictures = len(event.pictures)
        elif isinstance(event, (Prefill, Step, Finish)) and (event.role, "header") not in seen:
            raise TraceError(f"This trace has a {event.type} before the {event.role}'s header.")
        elif isinstance(event, Probe) and event.replaced >= pictures:
            raise TraceError(
                f"This trace has a probe of picture {event.replaced + 1}, its prompt has "
                f"{pictures}."
            )
        if isinstance(event, Prefill):
            _check_rows(event)
        if isinstance(event, Step):
            _check_tree(event)
            _check_sight(event, ends[event.role])
        seen.add((event.role, event.type))


def _check_rows(prefill: Prefill) -> None:
    rows = prefill.rows
    sizes = {len(rows.positions), len(rows.ids), len(rows.logps)}
    if rows.entropies is not None:
        sizes.add(len(rows.entropies))
    if len(sizes) > 1 or any(
        len(ids) != len(logps) for ids, logps in zip(rows.ids, rows.logps, strict=True)
    ):
        raise TraceError("The predictions read off this trace's prompt have unequal lengths.")


def _check_tree(step: Step) -> None:
    size = len(step.nodes)
    for i, node in enumerate(step.nodes):
        if (i == 0) != (node.parent == -1) or not -1 <= node.parent < i:
            raise TraceError(f"Step {step.index} of this trace does not hold a tree.")
    named = list(step.walk)
    at = 0
    for n in step.walk:
        if n >= size or step.nodes[n].parent != at:
            raise TraceError(f"Step {step.index} of this trace walks outside its tree.")
        at = n
    if isinstance(step.evidence, MemoryEvidence):
        for lookup in step.evidence.lookups:
            if any(len(hit.ids) != len(hit.probs) for hit in lookup.hits):
                raise TraceError(f"A memory row in step {step.index} of this trace is incomplete.")
            named += [lookup.node, *(max(c.node, 0) for c in lookup.candidates)]
        named += step.evidence.copied.nodes if step.evidence.copied else ()
    elif isinstance(step.evidence, Span):
        named += step.evidence.nodes
    elif isinstance(step.evidence, WindowEvidence):
        for part in step.evidence.expansions:
            named += [part.node, *(max(offer.node, 0) for offer in part.offers)]
    if any(n >= size for n in named):
        raise TraceError(f"Step {step.index} of this trace names nodes that it does not have.")


def _check_sight(step: Step, end: int) -> None:
    """What a head saw lies in the text, which has at most ``end`` tokens."""
    if isinstance(step.evidence, WindowEvidence):
        parts = step.evidence.entries
        if not parts or any(part.first + part.length > end for part in parts):
            raise TraceError(f"A head sees outside of the text in step {step.index} of this trace.")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")
