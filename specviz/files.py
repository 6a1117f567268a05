"""Files that appear whole or not at all, and where what can be made again is kept."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

MODEL_FILES = (".safetensors", ".bin", ".json", ".model", ".jinja", ".txt")


def try_writing(path: Path) -> None:
    """Raise OSError when ``write_whole`` could not even begin; leaves nothing behind."""
    partial = path.with_name(path.name + ".part")
    partial.open("wb").close()
    partial.unlink()


def write_whole(path: str | Path, content: bytes) -> None:
    """Write ``content`` beside ``path`` first, then put it in place in one move.

    Raises OSError and leaves nothing behind when that fails.
    """
    path = Path(path)
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def named_folder(name: str) -> Path | None:
    """The folder that a person named, ``~`` and ``~user`` expanded; None where there is none.

    Whatever the name is, a user that nobody knows included, this raises nothing.
    """
    place = os.path.expanduser(name)
    return Path(place) if name and os.path.isdir(place) else None


def file_sha256(file: Path) -> str:
    """The sha256 of a file, in hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_digest(folder: Path) -> str:
    """16 hex digits over everything in a model's ``folder`` that can change tokens."""
    total = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.suffix in MODEL_FILES:
            total.update(file.name.encode() + file_sha256(file).encode())
    return total.hexdigest()[:16]


def cache_root() -> Path:
    """Where converted weights and measured costs are kept.

    SPECVIZ_CACHE, else the folder specviz in the user's cache.
    """
    own = os.environ.get("SPECVIZ_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "specviz"
