"""What a machine found when it put a model to the proof: plain data, one row per question.

A row that never ran says so; a row that could not run says why. Nothing here holds a clock or a
path of the machine, so a file may be passed on.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from specviz.trace import Costs

SCHEMA = 1
# What could change a token, inside this package; peers and probes only look on.
DECIDING = ("decoding.py", "tree.py", "budget.py", "job.py", "jobs.py", "equality.py", "inputs.py",
            "pictures.py", "picture_modes.py", "drafters/*.py", "models/*.py")  # fmt: skip
ONLOOKERS = ("models/entries.py", "models/peers.py", "models/probe.py", "models/raven_costs.py",
             "models/raven_depths.py", "models/raven_probe.py", "models/registry.py")  # fmt: skip
LARGEST = 2**20  # bytes of a file; an honest one has a few dozen kilobytes

State = Literal["held", "failed", "skipped", "not yet run"]
Word = Annotated[str, Field(max_length=500)]
Amount = Annotated[float, Field(ge=0, le=1e12)]
Count = Annotated[int, Field(ge=0, lt=2**53)]


class VerdictError(ValueError):
    """A file holds no result that can be used; the message is one sentence for a person."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class _Row(_Record):
    """``why``: the sentence behind a state other than "held"."""

    dtype: Word
    state: State = "not yet run"
    why: Word = ""


class Loading(_Row):
    """Seconds until the model could be asked, and the most memory that the process had held by
    then (on the device, for a GPU)."""

    part: Literal["load"] = "load"
    seconds: Amount | None = None
    peak_bytes: Count | None = None
    packed: bool | None = None


class TreePass(_Row):
    """One pass over a tree against a plain pass over each branch: the largest difference of a logit
    in standard deviations of the logits."""

    part: Literal["tree"] = "tree"
    error: Amount | None = None
    limit: Amount | None = None


class Equality(_Row):
    """A decoder's tokens against those of ``reference``: transformers' own ``generate``, or our own
    plain loop for a model that transformers does not know.

    ``pictures`` of the ``prompts`` had one; ``identical`` prompts token by token; ``tied`` prompts
    differ by numeric ties alone, of which there were ``tied_tokens``; ``largest_margin`` in logits,
    at a first difference.
    """

    part: Literal["equality"] = "equality"
    decoder: Word
    reference: Literal["generate", "own loop"] = "generate"
    prompts: Count = 0
    pictures: Count = 0
    tokens: Count = 0
    identical: Count = 0
    tied: Count = 0
    tied_tokens: Count = 0
    largest_margin: Amount | None = None


class Passes(_Row):
    """What passes cost behind about ``context`` tokens, measured anew."""

    part: Literal["costs"] = "costs"
    context: Count
    packed: bool
    costs: Costs | None = None


class Speed(_Row):
    """Tokens per second after the prompt was read, and that over our own plain loop's; no memory
    from an earlier prompt."""

    part: Literal["speed"] = "speed"
    decoder: Word
    tokens_per_s: Amount | None = None
    speedup: Amount | None = None
    tau: Amount | None = None


class Example(_Row):
    """A recorded run: ``file`` lies beside the result."""

    part: Literal["example"] = "example"
    decoder: Word
    file: Word = ""


Row = Annotated[
    Loading | TreePass | Equality | Passes | Speed | Example, Field(discriminator="part")
]


class Reported(_Record):
    """A figure of a paper: the speed-up over plain decoding there. Reported, not ours."""

    decoder: Word
    speedup: Amount
    conditions: Word


class Verdict(_Record):
    """Everything that one machine found out about one model.

    ``facts`` of the architecture and ``driver`` facts are names with values. ``code``: a digest of
    everything that could change a token.
    """

    verdict_schema: int = SCHEMA
    model: Word
    digest: Word
    device: Word
    machine: Word
    driver: dict[Word, Word] = Field(default_factory=dict)
    versions: dict[Word, Word] = Field(default_factory=dict)
    code: Word = ""
    quick: bool = False
    max_new_tokens: Count = 0
    facts: dict[Word, int | str | bool | None] = Field(default_factory=dict)
    rows: Annotated[tuple[Row, ...], Field(max_length=1000)] = ()
    reported: tuple[Reported, ...] = ()

    @property
    def kind(self) -> str:
        """The device without its number: ``cpu`` or ``cuda``."""
        return self.device.split(":")[0]

    @property
    def held(self) -> bool:
        """Whether nothing that ran failed, and something ran."""
        states = {row.state for row in self.rows}
        return "failed" not in states and "held" in states

    @property
    def complete(self) -> bool:
        """Whether every row was come to."""
        return all(row.state != "not yet run" for row in self.rows)


def code_digest() -> str:
    """16 hex digits over every file of this package that could change a token."""
    package = Path(__file__).parent
    files = {file for pattern in DECIDING for file in package.glob(pattern)}
    total = hashlib.sha256()
    for file in sorted(files - {package / name for name in ONLOOKERS}):
        total.update(f"{file.relative_to(package).as_posix()}\n".encode() + file.read_bytes())
    return total.hexdigest()[:16]


def dumps(verdict: Verdict) -> bytes:
    """The same verdict, the same bytes."""
    return verdict.model_dump_json(indent=1).encode() + b"\n"


def load(path: str | Path) -> Verdict:
    """The verdict in a file; raises VerdictError."""
    path = Path(path)
    try:
        with path.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise VerdictError(f"{path.name} cannot be read: {reason}.") from error
    if len(raw) > LARGEST:
        raise VerdictError(f"{path.name} is no result of `specviz verify`: it is too large.")
    try:
        found = json.loads(raw)
        number = found.get("verdict_schema")
        if isinstance(number, int) and number != SCHEMA:
            raise VerdictError(
                f"{path.name} has schema {number}, this specviz reads {SCHEMA}: verify again."
            )
        return Verdict.model_validate_json(raw)
    except (ValidationError, UnicodeDecodeError, json.JSONDecodeError, AttributeError) as error:
        raise VerdictError(
            f"{path.name} is no result of `specviz verify`, or a damaged one: give the verify.json "
            "that it wrote."
        ) from error
    except RecursionError as error:
        raise VerdictError(f"{path.name} is no result of `specviz verify`.") from error


def schema() -> dict[str, Any]:
    """The JSON Schema of a result."""
    return Verdict.model_json_schema()
