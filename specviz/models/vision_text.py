"""Chats with pictures in, token ids out: placeholders are ours, texts stay literal."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from threading import Lock
from typing import Any

import torch
from jinja2 import TemplateError

from specviz.models.base import (
    MOST_RATIO,
    InputError,
    Inputs,
    Message,
    Picture,
    Seen,
    Unsupported,
)
from specviz.models.hf_text import PLAIN, TextCodec, short
from specviz.models.vision_families import Family, Placed, View
from specviz.models.vision_seen import opened, png

log = logging.getLogger(__name__)
# What has shorter sides, or is longer for its width, may be too small for a grid of patches.
SMALL, NARROW = 64, 20

# In front of a template that knows texts only: its messages get the marks of their pictures. What
# a template writes itself is a control token, what a text holds is not.
MARKED = (
    "{{%- set talk = namespace(messages=[]) -%}}{{%- for m in messages -%}}"
    "{{%- set talk.messages = talk.messages + "
    "[dict(role=m.role, content={mark!r} * m.pictures ~ m.content)] -%}}"
    "{{%- endfor -%}}{{%- set messages = talk.messages -%}}"
)


class PictureCodec(TextCodec):
    """A :class:`TextCodec` whose messages may have pictures, read by ``family``."""

    def __init__(self, tokenizer: Any, family: Family, label: str) -> None:
        super().__init__(tokenizer, label)
        self.family = family
        self._reading = Lock()
        given = tokenizer.chat_template
        if isinstance(given, dict):  # several by name
            given = given.get("default")
        self._listed = bool(given) and self._knows_pictures()
        self._template = given if self._listed else self._marked(given or PLAIN)
        self._begin = self._prefix()

    def encode(self, messages: Sequence[Message]) -> Inputs:
        """Token ids of a chat, every picture in front of the text of its turn.

        Raises InputError for what :meth:`TextCodec.encode` refuses, and for a picture that the
        model's image processor cannot take.
        """
        self._check(messages)
        pictures = [picture for m in messages for picture in m.pictures]
        ids = self._ids(messages)
        marks = [at for at, token in enumerate(ids) if token == self.family.placeholder]
        if len(marks) != len(pictures):
            raise Unsupported(
                f"The chat template of {self.label} has {len(marks)} places for "
                f"{len(pictures)} pictures: give pictures with the last question only."
            )
        return self._filled(ids, [(p, self._view(p)) for p in pictures])

    def _filled(self, ids: Sequence[int], views: Sequence[tuple[Picture, View]]) -> Inputs:
        """``ids`` with every placeholder replaced by what stands for its picture."""
        tokens: list[int] = []
        seen: list[Seen] = []
        placed: list[Placed] = []
        waiting = iter(views)
        for token in ids:
            if token != self.family.placeholder:
                tokens.append(token)
                continue
            picture, view = next(waiting)
            start = len(tokens)
            tokens += self._special(view.text)
            rows = range(start, len(tokens))
            mine = tuple(row for row in rows if tokens[row] == self.family.placeholder)
            placed.append(Placed(view.values, mine))
            high, wide = view.pixels.shape[:2]
            note = f"Shown to the model at {wide} x {high} pixels{view.how}."
            span = (start, len(tokens))
            seen.append(Seen(picture, png(view.pixels), wide, high, span, (note,)))
        notes = () if self.tokenizer.chat_template else (self._untemplated(),)
        return Inputs(tuple(tokens), notes, pictures=tuple(seen), pixels=tuple(placed) or None)

    def _view(self, picture: Picture) -> View:
        wide, high = picture.width, picture.height
        refusal = InputError(
            f"{self.label} cannot read the picture {picture.name} of {wide} x {high} pixels: give "
            "one that is larger or less narrow."
        )
        short_side, long_side = sorted((wide, high))
        if long_side > MOST_RATIO * short_side:
            raise refusal
        image = opened(picture)
        try:
            with self._reading:
                return self.family.view(image)
        except (ValueError, TypeError, IndexError, ArithmeticError, RuntimeError) as error:
            tiny = short_side < SMALL or long_side > NARROW * short_side
            if tiny and not isinstance(error, torch.OutOfMemoryError):
                raise refusal from error
            log.error("%s could not read a picture", self.label, exc_info=error)
            raise Unsupported(
                f"{self.label} failed to read the picture {picture.name} ({short(error)}): try "
                "another picture, or choose another model."
            ) from error

    def _ids(self, messages: Sequence[Message]) -> list[int]:
        """Token ids with one placeholder for each picture."""
        try:
            ids = self._rendered(messages, self._listed, self._template)
        except TemplateError as error:
            raise self._refused(error) from error
        begun = not self._begin or ids[: len(self._begin)] == list(self._begin)
        return ids if begun else [*self._begin, *ids]

    def _rendered(
        self, messages: Sequence[Message], listed: bool, template: str | None
    ) -> list[int]:
        continues = messages[-1].role == "assistant"
        with self._lock:
            ids: list[int] = self.tokenizer.apply_chat_template(
                [_listed(m) if listed else _counted(m) for m in messages],
                chat_template=template,
                add_generation_prompt=not continues,
                continue_final_message=continues,
                sanitize_control_tokens=True,
                return_dict=False,
            )
        return ids

    def _special(self, text: str) -> list[int]:
        """The ids of a text of ours, control tokens and all."""
        with self._lock:
            found: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    def _knows_pictures(self) -> bool:
        """Whether the chat template turns a picture part of a message into its placeholder."""
        probe = Message("user", "x", (Picture("", b"", 1, 1),))
        try:
            found = self._rendered([probe], True, None)
        except (TemplateError, TypeError, ValueError, KeyError, AttributeError, IndexError):
            return False
        return found.count(self.family.placeholder) == 1

    def _marked(self, template: str) -> str:
        return MARKED.format(mark=self.family.inline) + template


def _listed(message: Message) -> dict[str, Any]:
    pictures = [{"type": "image"} for _ in message.pictures]
    return {
        "role": message.role,
        "content": [*pictures, {"type": "text", "text": message.text}],
    }


def _counted(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": message.text, "pictures": len(message.pictures)}
