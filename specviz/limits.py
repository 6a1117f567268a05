"""How much one run of a public page may ask for: what its operator allows, as plain data.

The page and its API hand these limits to every job; the command line hands in none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from specviz.models.base import InputError

PREFIX = "SPECVIZ_MAX_"
# A Space answers strangers on borrowed hardware, so there some of everything is the limit.
ON_A_SPACE = {"new_tokens": 512, "prompt_tokens": 8192}


class Limits(BaseModel):
    """None: no limit beside those that the models and files have anyway.

    ``new_tokens``, ``prompt_tokens``, ``pictures``: of one run. ``file_mb``: of one file that is
    handed in. ``gpu_seconds``: that one call may ask for where a GPU is lent.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    new_tokens: int | None = Field(default=None, ge=1)
    prompt_tokens: int | None = Field(default=None, ge=1)
    pictures: int | None = Field(default=None, ge=0)
    file_mb: int = Field(default=32, ge=1, le=32)
    gpu_seconds: int = Field(default=120, ge=20, le=3600)

    def check(self, new_tokens: int, pictures: int) -> None:
        """Raise InputError for a run with more new tokens or pictures than are allowed."""
        if self.new_tokens is not None and new_tokens > self.new_tokens:
            raise InputError(
                f"This page allows up to {self.new_tokens} new tokens and {new_tokens} were asked "
                "for: lower them, or run specviz yourself."
            )
        if self.pictures is not None and pictures > self.pictures:
            raise InputError(
                f"This page allows up to {self.pictures} pictures in a talk and there are "
                f"{pictures}: leave some out, or run specviz yourself."
            )

    def check_prompt(self, tokens: int) -> None:
        """Raise InputError for a prompt of more ``tokens`` than are allowed."""
        if self.prompt_tokens is not None and tokens > self.prompt_tokens:
            raise InputError(
                f"This page allows prompts of up to {self.prompt_tokens} tokens and this one has "
                f"{tokens}: shorten it, or run specviz yourself."
            )

    def room(self, context: int | None, new_tokens: int, holds: int) -> int | None:
        """Tokens that a document, its question and the answer may share, where ``context`` was
        asked for and the model holds ``holds``; None for all of these."""
        if self.prompt_tokens is None:
            return context
        most = self.prompt_tokens + new_tokens
        if context is None:
            return most if most < holds else None
        return min(context, most)


NONE = Limits()


def from_environment(env: Mapping[str, str] | None = None) -> Limits:
    """The operator's limits: ``SPECVIZ_MAX_NEW_TOKENS`` and so on; raises InputError for a value
    that cannot be one. On a Space there are some without being asked for."""
    env = os.environ if env is None else env
    given = {
        name: env[PREFIX + name.upper()].strip()
        for name in Limits.model_fields
        if env.get(PREFIX + name.upper(), "").strip()
    }
    try:
        return Limits.model_validate({**(ON_A_SPACE if env.get("SPACE_ID") else {}), **given})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        low, high = _range(name)
        most = f" to {high}" if high is not None else " on"
        raise InputError(
            f"{PREFIX}{name.upper()} cannot be {given[name][:80]!r}: give a whole number from "
            f"{low}{most}, or unset it."
        ) from None


def _range(name: str) -> tuple[int, int | None]:
    """The least and the most that a field takes."""
    found = {type(m).__name__: m for m in Limits.model_fields[name].metadata}
    most = getattr(found.get("Le"), "le", None)
    return getattr(found["Ge"], "ge", 0), most
