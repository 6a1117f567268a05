"""What a long measurement has done so far, on disk, so that it can be taken up again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specviz.files import write_whole
from specviz.models.base import InputError


class Ledger:
    """Finished units by key, appended to ``<result>.partial.jsonl`` as they come.

    The first line is the ``identity`` of the measurement: only one that agrees in everything may
    be gone on with. Without a ``result`` path nothing is kept.
    """

    def __init__(self, result: Path | None, identity: Mapping[str, Any], resume: bool) -> None:
        self.path = None if result is None else result.with_name(result.name + ".partial.jsonl")
        self.units: dict[str, dict[str, Any]] = {}
        self._identity = json.loads(json.dumps(identity))
        if self.path is None:
            return
        if self.path.exists():
            if not resume:
                raise InputError(
                    f"{self.path.name} holds an interrupted measurement: add --resume to go on "
                    "with it, or delete it."
                )
            self._read(self.path)
        lines = [{"identity": self._identity}]
        lines += [{"key": key, "unit": unit} for key, unit in self.units.items()]
        write_whole(self.path, "".join(json.dumps(line) + "\n" for line in lines).encode())

    def _read(self, path: Path) -> None:
        lines = []
        for line in path.read_text("utf-8", errors="replace").splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                break  # cut while it was written: what follows is measured again
        try:
            found = lines[0]["identity"]
            units = {line["key"]: line["unit"] for line in lines[1:]}
        except (IndexError, KeyError, TypeError):
            raise InputError(
                f"{path.name} holds no interrupted measurement: delete it to begin anew."
            ) from None
        other = sorted(k for k in {*found, *self._identity}
                       if found.get(k) != self._identity.get(k))  # fmt: skip
        if other:
            raise InputError(
                f"{path.name} was measured with another {' and another '.join(other)}: "
                "delete it to begin anew."
            )
        self.units = units

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
