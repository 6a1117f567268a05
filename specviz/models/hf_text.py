"""Text in, token ids out, and back to raw bytes: what a transformers tokenizer is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any

from jinja2 import TemplateError

from specviz.models.base import InputError, Inputs, Message, Unsupported, check_size

BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
PLAIN = "{{ messages | map(attribute='content') | join('\\n\\n') }}"


class TextCodec:
    """A tokenizer with every text inert and every token readable as bytes.

    ``label`` names the model in errors. One lock: encoding literal text flips a switch of the
    shared tokenizer for a moment.
    """

    def __init__(self, tokenizer: Any, label: str) -> None:
        self.tokenizer = tokenizer
        self.label = label
        self._lock = Lock()
        self._added = {i: t.content for i, t in tokenizer.added_tokens_decoder.items()}
        self._to_bytes = _piece_decoder(tokenizer)
        self._known: dict[int, bytes] = {}
        # Our own limit speaks in a sentence; the tokenizer's would print a warning.
        tokenizer.model_max_length = 10**30

    def encode(self, messages: Sequence[Message]) -> Inputs:
        """Token ids of a chat; control tokens inside a text become ordinary text.

        A final assistant message is continued. Without a chat template the texts follow one
        another as they are. Raises InputError for what is blank, too large or not encodable.
        """
        self._check(messages)
        template: str | None = None
        notes: tuple[str, ...] = ()
        prefix: tuple[int, ...] = ()
        if not self.tokenizer.chat_template:
            template, prefix = PLAIN, self._prefix()
            notes = (self._untemplated(),)
        continues = messages[-1].role == "assistant"
        try:
            with self._lock:
                ids = self.tokenizer.apply_chat_template(
                    [{"role": m.role, "content": m.text} for m in messages],
                    chat_template=template,
                    add_generation_prompt=not continues,
                    continue_final_message=continues,
                    sanitize_control_tokens=True,
                    return_dict=False,
                )
        except TemplateError as error:
            raise self._refused(error) from error
        return Inputs((*prefix, *ids), notes)

    def ends(self, text: str) -> tuple[int, ...]:
        """Characters of ``text`` read at the end of each of its tokens; see ``Model.ends``."""
        if not self.tokenizer.is_fast:
            raise Unsupported(
                f"The tokenizer of {self.label} does not say where its tokens lie in a text, so "
                "nothing can be cut by tokens: give a shorter document."
            )
        with self._lock:
            found = self.tokenizer(
                text,
                add_special_tokens=False,
                split_special_tokens=True,
                return_attention_mask=False,
                return_offsets_mapping=True,
            )
        return tuple(end for _, end in found["offset_mapping"])

    def _refused(self, error: Exception) -> InputError:
        """What is said where the chat template raised ``error``."""
        return InputError(
            f"The chat template of {self.label} refuses these messages ({short(error)}): "
            "leave out the system message, or begin with a user message."
        )

    def _untemplated(self) -> str:
        return f"{self.label} has no chat template: the text is given to it as it is."

    def _check(self, messages: Sequence[Message]) -> None:
        if not messages or not any(m.text.strip() for m in messages):
            raise InputError("The prompt is empty: write something to continue.")
        try:
            size = sum(len(m.text.encode()) for m in messages)
        except UnicodeEncodeError:
            raise InputError(
                "The text contains half of a surrogate pair: remove the broken character."
            ) from None
        check_size("The text", size)

    def _prefix(self) -> tuple[int, ...]:
        """The begin token, where the tokenizer itself would write one before plain text."""
        begin = self.tokenizer.bos_token_id
        return (begin,) if begin is not None and begin in self.tokenizer.encode("")[:1] else ()

    def token_bytes(self, token: int) -> bytes:
        """The raw bytes of ``token``; an added token gives its name, an unused id nothing."""
        known = self._known.get(token)
        if known is None:
            if token in self._added:
                known = self._added[token].encode()
            else:
                piece = self.tokenizer.convert_ids_to_tokens(token)
                known = b"" if piece is None else self._to_bytes(piece)
            self._known[token] = known
        return known

    def special_ids(self) -> frozenset[int]:
        """Tokens that steer rather than say something."""
        marked = {i for i, t in self.tokenizer.added_tokens_decoder.items() if t.special}
        return frozenset(marked | set(self.tokenizer.all_special_ids))


def _piece_decoder(tokenizer: Any) -> Callable[[str], bytes]:
    """How the vocabulary strings of ``tokenizer`` stand for bytes."""
    if "ByteLevel" in _decoder_kinds(tokenizer):
        table = {character: byte for byte, character in enumerate(_byte_characters())}
        return lambda piece: b"".join(
            bytes([table[c]]) if c in table else c.encode() for c in piece
        )
    return _spelled_piece


def _decoder_kinds(tokenizer: Any) -> set[str]:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or backend.decoder is None:
        return set()
    tree = json.loads(backend.decoder.__getstate__())
    return {part["type"] for part in (tree, *tree.get("decoders", ()))}


def _spelled_piece(piece: str) -> bytes:
    """A SentencePiece string: ``▁`` is a space, ``<0xE2>`` a byte, the rest is text."""
    single = BYTE_PIECE.fullmatch(piece)
    return bytes([int(single[1], 16)]) if single else piece.replace("\u2581", " ").encode()


def _byte_characters() -> Iterator[str]:
    """The 256 characters of byte-level vocabularies, in byte order.

    Printable Latin-1 stands for itself; the others take, in order, the code points from 256 on.
    Source: the GPT-2 vocabulary.
    """
    spare = 256
    for byte in range(256):
        if 33 <= byte <= 126 or (161 <= byte <= 255 and byte != 173):
            yield chr(byte)
        else:
            yield chr(spare)
            spare += 1


def short(error: Exception) -> str:
    """The beginning of what ``error`` says, on one line."""
    return " ".join(str(error).split())[:120].rstrip(".")
