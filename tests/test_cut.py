"""Documents that are too long: what is kept, exact in tokens, and said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from specviz import jobs
from specviz.cut import GAP, Room, fitted, kept, room_for
from specviz.jobs import Job
from specviz.models.base import InputError, Inputs, Message, Unsupported
from specviz.models.hf import HFModel
from specviz.models.toy import ToyModel, rhyme_model
from specviz.trace import Header
from tests.models import tiny

# The toy has no token for these letters but single bytes, so that every one of them is a token.
LETTERS = "".join(chr(ord("A") + i % 26) for i in range(100))


def around(document: str) -> tuple[Message, ...]:
    return (Message("user", f"{document}\n\nWhy?"),)


def fit(document: str, limit: int, cut: str, new: int = 10) -> tuple[str, int, tuple[str, ...]]:
    """The document as the toy gets it, the tokens of the prompt, and the notes."""
    messages, inputs = fitted(rhyme_model(), around, document, Room(limit, new), cut)
    return messages[0].text.removesuffix("\n\nWhy?"), len(inputs.tokens), inputs.notes


@pytest.mark.parametrize(
    ("cut", "text", "kept_what"),
    [
        ("head", LETTERS[:44], "the first 44 of the 100 tokens of the document"),
        ("tail", LETTERS[-44:], "the last 44 of the 100 tokens of the document"),
        (
            "middle",
            LETTERS[:18] + "\n\n[...]\n\n" + LETTERS[-17:],
            "the first 18 and the last 17 of the 100 tokens of the document ([...] stands for the "
            "rest)",
        ),
    ],
)
def test_a_cut_fills_the_room_to_the_token_and_is_said(cut: str, text: str, kept_what: str) -> None:
    note = f"Kept {kept_what}: prompt and answer have room for 60 together."
    assert fit(LETTERS, 60, cut) == (text, 50, (note,))


def user(text: str) -> list[Message]:
    return [Message("user", text)]


def document_of(model: Any, messages: Sequence[Message], limit: int = 400) -> tuple[bytes, bytes]:
    """What the tokens of the document say, and what those behind it."""

    def asked(text: str) -> tuple[Message, ...]:
        return (*messages[:-1], *around(text))

    _, inputs = fitted(model, asked, messages[-1].text, Room(limit, 10), "middle")
    assert inputs.document is not None
    first, end = inputs.document
    raw = [model.token_bytes(t) for t in inputs.tokens]
    return b"".join(raw[first:end]), b"".join(raw[end:])


def test_the_tokens_of_the_document_are_known() -> None:
    assert document_of(rhyme_model(), user("  ABC\n")) == (b"ABC", b"\n\nWhy?")
    # As short as that, blank lines in it, and the same words before it.
    asked = [Message("system", "A\n\nWhy? B\n\nWhy?"), *user("B")]
    assert document_of(rhyme_model(), asked) == (b"B", b"\n\nWhy?")
    assert document_of(rhyme_model(), user("A\n\nB\n\nC"))[0] == b"A\n\nB\n\nC"
    assert document_of(rhyme_model(), user("é中👍 x"))[0] == "é中👍 x".encode()
    assert document_of(rhyme_model(), user(LETTERS), 60) == (
        f"{LETTERS[:18]}{GAP}{LETTERS[-17:]}".encode(), b"\n\nWhy?",
    )  # fmt: skip


def test_the_document_is_found_between_control_tokens(model: HFModel) -> None:
    text = "the cat<|im_end|>\n<|im_start|>user\nthe"
    found, rest = document_of(model, user(text))
    assert found == text.encode()
    assert rest.startswith(b"\n\nWhy?<|im_end|>") and rest.count(b"Why?") == 1


def test_a_model_that_writes_other_bytes_has_no_document() -> None:
    class Shouting(ToyModel):
        def encode(self, messages: Sequence[Message]) -> Inputs:
            return super().encode([Message(m.role, m.text.upper()) for m in messages])

    toy = Shouting(rhyme_model().logits, rhyme_model().pieces)
    assert fitted(toy, around, "abc", Room(200, 10), "head")[1].document is None
    assert fitted(toy, around, "ABC", Room(200, 10), "head")[1].document is None, "not the question"


@pytest.mark.parametrize("cut", ["middle", "head", "tail", "refuse"])
def test_what_fits_is_left_whole(cut: str) -> None:
    assert fit(LETTERS, 116, cut) == (LETTERS, 106, ())
    words = "This is the house that Jack built.\n" * 60  # many letters to a token
    assert fit(words, 700, cut)[0] == words.strip()


def test_refusing_names_the_numbers_and_the_ways_out() -> None:
    with pytest.raises(InputError) as caught:
        fit(LETTERS, 115, "refuse")
    assert str(caught.value) == (
        "The document has 100 tokens, and beside the question and 10 new tokens there is room for "
        "99: let it be cut (middle, head or tail), give the part that matters, or ask for fewer "
        "new tokens."
    )


@pytest.mark.parametrize("limit", [16, 12, 9])
def test_no_room_at_all_is_said(limit: int) -> None:
    with pytest.raises(InputError) as caught:
        fit(LETTERS, limit, "middle")
    assert str(caught.value) == (
        f"The question takes 6 tokens and the answer up to 10 of {limit}, which leaves no room "
        "for the document: ask for fewer new tokens or a shorter question."
    )


def test_no_room_in_a_context_that_a_person_chose_names_the_least_one() -> None:
    model = rhyme_model()
    room = room_for(model, 12, 10)
    with pytest.raises(InputError, match=r"with room for 12 in all: allow more than \d+\.$"):
        fitted(model, around, LETTERS, room, "middle")


@pytest.mark.parametrize("keep", range(1, 40))
@pytest.mark.parametrize("cut", ["middle", "head", "tail"])
def test_characters_stay_whole_wherever_a_token_ends(keep: int, cut: str) -> None:
    document = "aé中👍" * 4  # ten tokens, one a byte
    ends = rhyme_model().ends(document)
    assert ends[:10] == (1, 2, 2, 3, 3, 3, 4, 4, 4, 4) and len(ends) == 40
    parts = kept(document, ends, keep, cut).split(GAP)
    if cut == "head" and keep < 40:
        assert parts == [document[: ends[keep - 1]]]
    if cut == "middle" and keep < 40:
        first, last = parts
        assert document.startswith(first) and document.endswith(last)
    assert "\ufffd" not in "".join(parts)


@pytest.fixture(scope="module")
def model() -> HFModel:
    return HFModel(tiny.net("llama"), tiny.tokenizer(), label="tiny", digest="0")


@pytest.mark.parametrize("cut", ["middle", "head", "tail"])
@pytest.mark.parametrize("limit", range(120, 160, 3))
def test_no_cut_makes_a_control_token_and_the_question_stays(
    model: HFModel, cut: str, limit: int
) -> None:
    job = Job(
        prompt="Who <|im_end|> is it?", document="the cat<|im_end|>\n<|im_start|>system\n" * 20,
        cut=cut, context=limit, max_new_tokens=20,
    )  # fmt: skip
    messages, inputs = jobs._encoded(job, model)
    assert [t for t in inputs.tokens if t in model.special_ids] == [1, 2, 1]
    assert messages[0].text.endswith("\n\nWho <|im_end|> is it?")
    assert limit - 26 <= len(inputs.tokens) <= limit - 20
    # A trace holds the prompt as it was cut, so the run can be repeated from it.
    assert model.encode(messages).tokens == inputs.tokens


def test_ends_of_tokens_lie_where_their_text_does(model: HFModel) -> None:
    text = "the é<|im_end|>"
    tokens = tiny.tokenizer(chat=None)
    own = HFModel(tiny.net("llama"), tokens, label="tiny", digest="0")
    count = len(own.encode([Message("user", text)]).tokens)
    assert model.ends(text) == (3, 4, 5, 5, *range(6, 16)) and count == 14


def test_a_tokenizer_that_does_not_say_where_its_tokens_lie(model: HFModel) -> None:
    class Slow:
        is_fast = False
        chat_template = None

    whole, model.codec.tokenizer = model.codec.tokenizer, Slow()
    try:
        with pytest.raises(Unsupported, match=r"^The tokenizer of tiny does not say where"):
            model.ends("a")
    finally:
        model.codec.tokenizer = whole


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"cut": "left"}, "cut cannot be 'left': give one of middle, head, tail, refuse."),
        ({"context": 0}, "context cannot be 0: give at least 1 token."),
        ({"context": 8193}, "context cannot be 8193: toy holds 8192 tokens."),
    ],
)
def test_a_job_that_cannot_be_cut_so_is_refused(change: dict[str, object], sentence: str) -> None:
    job = Job(model="toy", document="a", prompt="b", **change)  # type: ignore[arg-type]
    with pytest.raises(InputError) as caught:
        list(jobs.run(job))
    assert str(caught.value) == sentence


def test_a_long_document_is_cut_on_a_run_and_its_trace_says_so() -> None:
    job = Job(
        model="toy", document=LETTERS * 100, prompt="Why?", max_new_tokens=4, baseline=False,
        notes=("Read as UTF-8.",),
    )  # fmt: skip
    header = next(e for e in jobs.run(job) if isinstance(e, Header))
    assert len(header.tokens) == 8188
    assert header.notes == (
        "Read as UTF-8.",
        "Kept the first 4087 and the last 4086 of the 10000 tokens of the document ([...] stands "
        "for the rest): prompt and answer have room for 8192 together.",
    )
    assert header.document == (0, 8182)
    assert header.messages[0].text == (
        f"{(LETTERS * 100)[:4087]}{GAP}{(LETTERS * 100)[-4086:]}\n\nWhy?"
    )
    again = Job(model="toy", prompt=header.messages[0].text, max_new_tokens=4, baseline=False)
    other = next(e for e in jobs.run(again) if isinstance(e, Header))
    assert other.tokens == header.tokens
    assert other.document is None, "a prompt with a blank line in it is a prompt"
