"""What a long measurement has done so far, on disk, so that it can be taken up again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specviz.bench.kept import Fits
from specviz.files import write_whole
from specviz.models.base import InputError


class Ledger:
    """Finished units by key, appended to ``<result>.partial.jsonl`` as they come.

    The first line is the ``identity`` of the measurement: only one that agrees in everything may
    be gone on with. Of the others, ``again`` lines were left out because they are damaged or hold
    nothing that ``fits``. Without a ``result`` path nothing is kept.
    """

    def __init__(
        self,
        result: Path | None,
        identity: Mapping[str, Any],
        resume: bool,
        fits: Fits = lambda key, unit: True,
    ) -> None:
        self.path = None if result is None else result.with_name(result.name + ".partial.jsonl")
        self.units: dict[str, dict[str, Any]] = {}
        self.again = 0
        self._identity = json.loads(json.dumps(identity))
        if self.path is None:
            return
        if self.path.is_dir():
            raise InputError(f"{self.path.name} is a folder: delete it, or choose another file.")
        if self.path.exists():
            if not resume:
                raise InputError(
                    f"{self.path.name} holds an interrupted measurement: add --resume to go on "
                    "with it, or delete it."
                )
            self._read(self.path, fits)
        lines = [{"identity": self._identity}]
        lines += [{"key": key, "unit": unit} for key, unit in self.units.items()]
        write_whole(self.path, "".join(json.dumps(line) + "\n" for line in lines).encode())

    def _read(self, path: Path, fits: Fits) -> None:
        try:
            first, *lines = path.read_text("utf-8", errors="replace").rstrip("\n").split("\n")
        except OSError as error:
            raise InputError(f"{path.name} cannot be read: {error.strerror}.") from error
        begun = _object(first)
        found = begun.get("identity")
        if not isinstance(found, dict):
            raise InputError(
                f"{path.name} holds no interrupted measurement: delete it to begin anew."
            )
        other = sorted(k for k in {*found, *self._identity}
                       if found.get(k) != self._identity.get(k))  # fmt: skip
        if other:
            more = f" and {len(other) - 2} more" if len(other) > 2 else ""
            told = (", another " if more else " and another ").join(k[:40] for k in other[:2])
            raise InputError(
                f"{path.name} was measured with another {told}{more}: delete it to begin anew."
            )
        for line in lines:
            kept = _object(line)  # nothing in it where it was cut while it was written
            key, unit = kept.get("key"), kept.get("unit")
            if isinstance(key, str) and isinstance(unit, dict) and fits(key, unit):
                self.units[key] = unit
            else:
                self.again += 1

    def add(self, key: str, unit: dict[str, Any]) -> None:
        """Keep a finished unit."""
        self.units[key] = unit
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"key": key, "unit": unit}) + "\n")

    def remove(self) -> None:
        """The measurement is complete."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _object(line: str) -> dict[str, Any]:
    """The JSON object of a line, empty where it is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
