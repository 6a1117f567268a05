"""Prompts with the target's own answers, as tokens: a gzip file of JSON lines that only grows.

Every batch is a gzip member of its own, so a run that was killed leaves a file whose whole members
can be read, and the next run goes on behind them. Free of torch.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from specviz.files import write_whole
from specviz.models.base import InputError

FILE = "answers.jsonl.gz"


@dataclass(frozen=True)
class Exchange:
    """One prompt and its answer.

    ``prompt`` [n]: tokens, chat template included. ``answer`` [m]: what the target picks behind
    it, the end token included where it came. ``held``: kept from training.
    """

    kind: str
    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    held: bool

    @property
    def tokens(self) -> tuple[int, ...]:
        """Prompt and answer [n + m]."""
        return self.prompt + self.answer


@dataclass(frozen=True)
class Source:
    """What answers depend on: all of one file have this in common. ``longest``: in tokens."""

    model: str
    digest: str
    dtype: str
    longest: int


def append(path: Path, exchanges: Sequence[Exchange]) -> None:
    """Put ``exchanges`` behind what is there, as one gzip member."""
    with path.open("ab") as file:
        file.write(_member(asdict(e) for e in exchanges))


def resume(path: Path, source: Source) -> list[Exchange]:
    """What ``path`` holds so far, with a damaged end cut off; a new file gets its head.

    Raises InputError when other settings made it.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, _member([asdict(source)]))
        return []
    raw = path.read_bytes()
    members, sound = _members(raw)
    found, exchanges = _parse(path, members)
    if found != source:
        raise InputError(
            f"{path} holds answers of {found.model} {found.digest} in {found.dtype} up to "
            f"{found.longest} tokens, which differs from this run: give another folder."
        )
    if sound < len(raw):
        write_whole(path, raw[:sound])
    return exchanges


def read(path: Path) -> tuple[Source, list[Exchange]]:
    """What made the answers in ``path``, and all of them; raises InputError when it cannot."""
    try:
        members, _ = _members(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: generate the answers first.") from error
    return _parse(path, members)


def _member(rows: Iterator[dict[str, object]] | list[dict[str, object]]) -> bytes:
    lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    return gzip.compress(lines.encode(), mtime=0)


def _members(raw: bytes) -> tuple[list[bytes], int]:
    """The whole gzip members of ``raw``, unpacked, and where the last of them ends."""
    found: list[bytes] = []
    sound = 0
    while sound < len(raw):
        reader = zlib.decompressobj(wbits=31)
        try:
            text = reader.decompress(raw[sound:])
        except zlib.error:
            break
        if not reader.eof:
            break
        found.append(text)
        sound = len(raw) - len(reader.unused_data)
    return found, sound


def _parse(path: Path, members: list[bytes]) -> tuple[Source, list[Exchange]]:
    try:
        head, *rows = [json.loads(line) for member in members for line in member.splitlines()]
        source = Source(**head)
        exchanges = [
            Exchange(r["kind"], tuple(r["prompt"]), tuple(r["answer"]), r["held"]) for r in rows
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a file of answers: give another folder.") from error
    return source, exchanges
