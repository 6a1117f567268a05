"""Files that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path


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
