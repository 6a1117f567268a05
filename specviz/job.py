"""One request as plain data, and what can be told about it before a model is loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from specviz.cut import check_cut
from specviz.drafters.memory import Snapshot
from specviz.inputs import check_prompt, check_text, document_prompt, joined
from specviz.limits import NONE, Limits
from specviz.models.base import MOST_PICTURES, InputError, Message, Picture
from specviz.trace import Costs, StoredEvent


@dataclass(frozen=True)
class Job:
    """One request, as plain data.

    ``model`` is a registry label, a hub id or a local folder. With a ``document`` the prompt is the
    question about it; of one that is too long ``cut`` says what is kept ("middle": both ends,
    "head": the beginning, "tail": the end, "refuse": none of it), where prompt and answer share
    ``context`` tokens, or all that the model holds. ``reuse`` may hold the events of an earlier
    trace whose baseline is repeated instead of run again when model, prompt, settings and machine
    are the same. ``packed``: lay out CPU weights for speed (None: as ``SPECVIZ_PACKED`` says, else
    yes). ``costs``: believe these instead of measuring what a pass costs, so that trees get the
    same sizes again. ``pictures`` belong to the prompt; ``history``: earlier turns of the same
    talk, which may have pictures of their own. ``limits``: what a page allows its visitors.
    """

    model: str = "smollm2-135m"
    decoder: str = "recap"
    prompt: str = ""
    document: str | None = None
    cut: str = "middle"
    context: int | None = None
    system: str | None = None
    knobs: Mapping[str, Any] = field(default_factory=dict)
    max_new_tokens: int = 128
    device: str = "auto"
    dtype: str = "auto"
    packed: bool | None = None
    costs: Costs | None = None
    baseline: bool = True
    reuse: tuple[StoredEvent, ...] = ()
    memory: Snapshot | None = None
    scope: str = "default"
    notes: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    history: tuple[Message, ...] = ()
    limits: Limits = NONE

    def messages(self) -> tuple[Message, ...]:
        """The chat turns that this job stands for; raises InputError on a blank prompt, on
        earlier turns or pictures that cannot be, and beyond the limits."""
        check_prompt(self.prompt)
        for what, words in (("system prompt", self.system), ("scope", self.scope)):
            if words:
                check_text(what, words, "leave it out")
        check_cut(self.cut, self.context)
        check_talk(self.history)
        check_pictures(self.all_pictures)
        self.limits.check(self.max_new_tokens, len(self.all_pictures))
        if self.document is None:
            return self._turns(self.prompt)
        return self._turns(document_prompt(self.document, self.prompt))

    def about(self, document: str) -> tuple[Message, ...]:
        """The chat turns with ``document`` in place of the job's own, unchecked."""
        return self._turns(joined(document, self.prompt))

    @property
    def all_pictures(self) -> tuple[Picture, ...]:
        """Those of earlier turns, then those of the prompt."""
        return (*(p for turn in self.history for p in turn.pictures), *self.pictures)

    def carried(self) -> Snapshot | None:
        """The memory that was handed in, as far as this turn may see it: the levels that know their
        context go on in the turn that follows the very talk that filled them, and nowhere else."""
        if self.memory is None or not self.memory.deeper:
            return self.memory
        before = [("system", self.system or "", ())] if self.system else []
        turns = [(m.role, m.text, [p.digest for p in m.pictures]) for m in self.history]
        if self.history and self.memory.talk == talk([*before, *turns]):
            return self.memory
        return replace(self.memory, deeper=(), talk="")

    def _turns(self, text: str) -> tuple[Message, ...]:
        system = [Message("system", self.system)] if self.system else []
        return (*system, *self.history, Message("user", text, self.pictures))


def talk(turns: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """16 hex digits that name a talk by all that was said in it so far: role, text and digests of
    the pictures of each of its ``turns``, the system prompt first. Another answer, another talk."""
    said = json.dumps([[role, text, list(pictures)] for role, text, pictures in turns])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def check_talk(history: Sequence[Message]) -> None:
    """Raise InputError unless ``history`` is questions and answers in turn, the answer last."""
    roles = [turn.role for turn in history]
    if roles != ["user", "assistant"] * (len(roles) // 2):
        raise InputError(
            "The earlier turns of a talk have to be questions and answers in turn, an answer last: "
            "leave out what is not."
        )
    for number, turn in enumerate(history):
        if turn.role == "user":
            check_text("question of an earlier turn", turn.text, "leave that turn out")
        elif turn.text.strip():  # a model may have had nothing to say
            check_text("answer of an earlier turn", turn.text, "leave that turn out")
        if turn.role == "assistant" and turn.pictures:
            raise InputError(
                f"The answer in turn {number // 2 + 1} comes with a picture: only questions can."
            )


def check_pictures(pictures: Sequence[Picture]) -> None:
    """Raise InputError when there are more than one talk may hold."""
    if len(pictures) > MOST_PICTURES:
        raise InputError(
            f"There are {len(pictures)} pictures in this talk, and {MOST_PICTURES} are the limit: "
            "leave some out."
        )
