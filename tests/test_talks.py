"""Pictures and earlier turns through the one door: asked, refused, recorded, repeated."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFile

from specviz import jobs, recorded
from specviz.audit import audit
from specviz.counterfactual import change, offered, run_counterfactual
from specviz.jobs import Job, ProbeJob
from specviz.models import registry
from specviz.models.base import MOST_PICTURES, InputError, Message, Picture, Seen, Unsupported
from specviz.models.toy import ToyModel, rhyme_model
from specviz.models.toy_signs import sign
from specviz.pictures import open_picture
from specviz.pixels import picture_of
from specviz.player import plain
from specviz.trace import Header, Progress, Recording, Shown, StoredEvent, Trace, TraceError
from specviz.tracefile import load, parse, save
from specviz.tracefile import packed as packed_trace

RED, BLUE = sign("red"), sign("blue")
ASKED = Job(model="toy-signs", prompt="What does it say?", pictures=(RED,), max_new_tokens=12)
# What is in front of one question: a question with a picture of its own, and its answer.
BEFORE = (Message("user", "And this one?", (BLUE,)), Message("assistant", "The sign is blue."))
SAYS = "\nThe sign is red.\nA red sign tells you to stop"


def made(job: Job) -> Trace:
    return Trace(tuple(e for e in jobs.run(job) if not isinstance(e, Progress)))


def header(trace: Trace) -> Header:
    run = trace.run("decoder")
    assert run is not None
    return run.header


def text(trace: Trace) -> str:
    run = trace.run("decoder")
    assert run is not None
    return b"".join(trace.pieces[t] for t in run.tokens).decode()


def told(trace: Trace, **changed: Any) -> Trace:
    """``trace`` with other headers."""
    return Trace(
        tuple(e.model_copy(update=changed) if isinstance(e, Header) else e for e in trace.events)
    )


@pytest.fixture(scope="module")
def trace() -> Trace:
    return made(replace(ASKED, history=BEFORE, system="Be brief."))


# Asked


def test_the_picture_decides_what_is_said_and_is_recorded_as_it_was_given() -> None:
    found = made(ASKED)
    assert text(found) == SAYS
    (used,) = header(found).pictures
    assert used.given == recorded.shown(RED.png, 96, 96) and used.digest == RED.digest
    assert (used.name, used.span) == ("red.png", (0, 16))
    assert (used.seen.width, used.seen.height) == used.size == (64, 64)
    assert (used.notes, used.seen_notes) == ((), ("Shown to the model at 64 x 64 pixels.",))
    assert (used.said, used.remarks) == (used.seen_notes, ())
    assert [(t.role, t.text, t.pictures) for t in header(found).messages] == [
        ("user", "What does it say?", 1)
    ]
    base = found.run("baseline")
    assert base is not None, "the picture is kept once, as given and as seen"
    assert base.header.pictures == (used.model_copy(update={"given": None, "seen": None}),)
    assert audit(found) == ()


def test_earlier_turns_are_recorded_with_their_pictures_in_order(trace: Trace) -> None:
    found = header(trace)
    assert [(t.role, t.text, t.pictures) for t in found.messages] == [
        ("system", "Be brief.", 0), ("user", "And this one?", 1),
        ("assistant", "The sign is blue.", 0), ("user", "What does it say?", 1),
    ]  # fmt: skip
    assert [p.digest for p in found.pictures] == [BLUE.digest, RED.digest]
    assert audit(trace) == ()


def test_a_model_that_sees_answers_without_a_picture() -> None:
    found = made(replace(ASKED, pictures=()))
    assert text(found).startswith("\nThe sign is hidden.") and header(found).pictures == ()


def test_pictures_beyond_the_limit_of_a_talk_are_recorded_as_the_model_saw_them(
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(recorded, "GIVEN_BYTES", len(BLUE.png) + len(RED.png) - 1)
    found = made(replace(ASKED, history=BEFORE))
    kept, used = header(found).pictures
    assert kept.given == recorded.shown(BLUE.png, 96, 96)
    assert used.given is None and used.seen.width == 64
    assert not recorded.whole(header(found)) and offered(found) == () and audit(found) == ()
    with pytest.raises(TraceError) as caught:
        change(found)
    assert str(caught.value) == (
        "The recording holds the picture 'red.png' only as the model saw it (64 x 64 pixels), "
        "because the pictures of a talk are kept up to 0 MB in all: record the run again with "
        "smaller ones."
    )


def test_what_is_offered_of_a_whole_recording_is_asked_again(trace: Trace) -> None:
    assert recorded.whole(header(trace)) and offered(trace) != ()


def test_photos_of_a_phone_are_recorded_whole() -> None:
    """Three of six megabytes as PNG, which compression does not make smaller."""
    pixels = np.random.default_rng(1).integers(0, 256, (1400, 1400, 3), dtype=np.uint8)
    photo = picture_of(Image.fromarray(pixels), "photo.jpg")
    seen = Seen(photo, RED.png, 96, 96, (0, 4))
    assert len(photo.png) > 5_700_000
    first, *_, last = recorded.used_pictures([seen] * 5, "decoder")
    assert first.given is not None and recorded.picture(first).png == photo.png
    assert last.given is None
    (other,) = recorded.used_pictures([seen], "baseline")
    assert (other.given, other.seen, other.size) == (None, None, (0, 0))


def test_what_a_model_saw_is_recorded_no_larger_than_it_is_looked_at() -> None:
    large = picture_of(Image.new("RGB", (2048, 1536), "red"), "a.png")
    note = "Shown to the model at 2048 x 1536 pixels, in 12 tiles."
    (used,) = recorded.used_pictures(
        [Seen(large, large.png, 2048, 1536, (0, 4), (note,))], "decoder"
    )
    assert used.seen_notes == (note, "Recorded at 1024 x 768 pixels of that.")
    image = Image.open(io.BytesIO(base64.b64decode(used.seen.data)))
    assert image.size == (used.seen.width, used.seen.height) == (1024, 768)
    assert used.size == used.saw == (2048, 1536) and used.remarks == used.seen_notes
    assert image.getcolors() == [(1024 * 768, (255, 0, 0))]


def test_more_pictures_than_a_talk_may_have_are_refused_before_any_is_decoded(
    trace: Trace, monkeypatch: Any
) -> None:
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda self: pytest.fail("decoded"))
    first, _ = header(trace).pictures
    turns = tuple(
        t.model_copy(update={"pictures": MOST_PICTURES}) if t.pictures else t
        for t in header(trace).messages
    )
    forged = told(trace, pictures=(first,) * (2 * MOST_PICTURES), messages=turns)
    said = "This recording has 16 pictures, and 8 are the limit of a talk: choose a recording that "
    for ask in (change, recorded.talk, lambda t: ProbeJob(t.events).check()):
        with pytest.raises(TraceError, match=said):
            ask(forged)  # type: ignore[operator]


# Refused


def refused(job: Job) -> str:
    seen = []
    with pytest.raises(InputError) as caught:
        for event in jobs.run(job):
            seen.append(event)
    assert seen == [], "before anything waits or loads"
    said = str(caught.value)
    assert said.endswith(".") and "\n" not in said
    return said


@pytest.mark.parametrize("where", [{"pictures": (RED,)}, {"pictures": (), "history": BEFORE}])
def test_a_model_that_reads_no_pictures_refuses_them_before_it_is_loaded(
    where: dict[str, Any], monkeypatch: Any
) -> None:
    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("loaded")

    monkeypatch.setattr(registry, "load", never)
    said = refused(replace(ASKED, model="smollm2-135m", **where))
    assert said.startswith(
        "The model smollm2-135m reads no pictures: leave them out, or choose a model that does ("
    )
    assert "toy-signs" in said


def test_a_model_that_only_turns_out_to_read_none_refuses_them_too(
    known: Callable[[ToyModel], str],
) -> None:
    model = rhyme_model("blind")
    label = known(model)
    entry = registry.find(label)
    registry.register(replace(entry, supports=entry.supports | {"image"}))
    with pytest.raises(Unsupported, match="The model blind reads no pictures"):
        list(jobs.run(replace(ASKED, model=label)))


def test_there_is_a_limit_on_pictures_in_all_turns() -> None:
    some = (RED,) * (MOST_PICTURES - 1)
    made(replace(ASKED, pictures=some, history=BEFORE, max_new_tokens=1, baseline=False))
    assert refused(replace(ASKED, pictures=(*some, RED), history=BEFORE)) == (
        "There are 9 pictures in this talk, and 8 are the limit: leave some out."
    )


USER, ANSWER = BEFORE
ORDER = (
    "The earlier turns of a talk have to be questions and answers in turn, an answer last: leave "
    "out what is not."
)


@pytest.mark.parametrize(
    ("history", "sentence"),
    [
        ((USER,), ORDER),
        ((ANSWER, USER), ORDER),
        ((USER, USER), ORDER),
        ((USER, ANSWER, USER), ORDER),
        ((Message("system", "x"), USER, ANSWER), ORDER),
        ((Message("user", " "), ANSWER),
         "The question of an earlier turn is empty: leave that turn out."),
        ((USER, Message("assistant", "half \ud83d")),
         "The answer of an earlier turn holds half a character at position 6: type it again."),
        ((USER, Message("assistant", "x", (RED,))),
         "The answer in turn 1 comes with a picture: only questions can."),
    ],
)  # fmt: skip
def test_earlier_turns_that_cannot_be_are_refused(
    history: tuple[Message, ...], sentence: str
) -> None:
    assert refused(replace(ASKED, history=history)) == sentence


def test_an_answer_may_have_been_empty() -> None:
    history = (USER, Message("assistant", ""))
    found = made(replace(ASKED, history=history))
    assert header(found).messages[1].text == "" and audit(found) == ()


# The baseline of before


def test_a_baseline_is_reused_only_with_the_same_pictures_in_the_same_turns() -> None:
    before = made(ASKED).events

    def reused(job: Job) -> bool:
        run = made(replace(job, reuse=before)).run("baseline")
        assert run is not None
        return run.header.reused

    assert reused(ASKED)
    # As many tokens, and the very same ones: only the pixels differ.
    blue = replace(ASKED, pictures=(BLUE,))
    assert header(made(blue)).tokens == header(Trace(before)).tokens
    assert not reused(blue)
    assert not reused(replace(ASKED, pictures=()))
    assert not reused(replace(ASKED, history=BEFORE))


# Repeated


def test_a_run_is_repeated_with_its_pictures_and_turns_out_of_its_file(
    trace: Trace, tmp_path: Any
) -> None:
    save(tmp_path / "t.jsonl.gz", trace.events)
    kept = load(tmp_path / "t.jsonl.gz")
    job = change(kept)
    assert (job.system, job.prompt) == ("Be brief.", "What does it say?")
    assert [p.png for p in job.pictures] == [RED.png] and len(job.history) == 2
    assert [(m.role, m.text, [p.png for p in m.pictures]) for m in job.history] == [
        ("user", "And this one?", [BLUE.png]), ("assistant", "The sign is blue.", []),
    ]  # fmt: skip
    again = made(job)
    assert header(again).pictures == header(kept).pictures, "notes said once"
    assert header(again).run == header(kept).run and text(again) == text(kept)
    events = run_counterfactual(kept, knobs={"nodes": 2})
    recording = Recording()
    for event in events:
        recording.add(event)
    assert text(recording.trace) == text(kept)


def with_given(trace: Trace, **values: Any) -> Trace:
    first, second = header(trace).pictures
    digest = values.pop("digest", first.digest)
    assert first.given is not None
    given = first.given.model_copy(update=values)
    changed = first.model_copy(update={"given": given, "digest": digest})
    return told(trace, pictures=(changed, second))


def packed(image: Image.Image, kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


BOMB = Image.new("1", (9000, 9000))  # eighty million pixels in a few kilobytes
OTHERS = {
    "another picture": packed(Image.new("RGB", (96, 96), "red")),
    "cut": RED.png[:60],
    "no PNG": packed(Image.new("RGB", (96, 96)), "BMP"),
    "nothing": b"",
    "transparent": packed(Image.new("RGBA", (96, 96))),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("signed", [False, True])
def test_a_recorded_picture_that_is_not_the_one_is_refused(
    trace: Trace, name: str, signed: bool
) -> None:
    """Forged with its own digest or not."""
    raw = OTHERS[name]
    digest = hashlib.sha256(raw).hexdigest()[:16]
    values = {"digest": digest} if signed else {}
    forged = with_given(trace, data=base64.b64encode(raw).decode(), **values)
    if signed and name == "another picture":
        assert change(forged).history[0].pictures[0].png == raw  # it is sound, if not the one
        return
    with pytest.raises(TraceError, match=r"^The picture 'blue.png' of this recording is damaged"):
        change(forged)
    found = audit(forged)
    assert any(f.startswith("The decoder's picture 1 ") for f in found)


def test_a_bomb_in_a_recording_is_never_decoded(trace: Trace, monkeypatch: Any) -> None:
    raw, load_all = packed(BOMB), ImageFile.ImageFile.load

    def small(image: ImageFile.ImageFile) -> Any:
        return load_all(image) if image.width < 9000 else pytest.fail("decoded")

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", small)
    given: dict[str, Any] = {"data": base64.b64encode(raw).decode()}
    digest = hashlib.sha256(raw).hexdigest()[:16]
    for size in ({}, {"width": 9000, "height": 9000}):
        forged = with_given(trace, digest=digest, **given, **size)
        with pytest.raises(TraceError, match=r"damaged"):
            change(forged)
    found = audit(with_given(trace, digest=digest, **given))
    assert found[0] == "The decoder's picture 1 as given has 9000 x 9000 pixels, not 96 x 96."
    found = audit(with_given(trace, digest=digest, width=9000, height=9000, **given))
    assert "picture 1 as given is damaged, or larger than the pictures that specviz" in found[0]


@pytest.mark.parametrize("data", ["AAA", "A", "====", "AA=A"])
def test_broken_base64_is_refused(trace: Trace, data: str) -> None:
    with pytest.raises(TraceError, match="damaged"):
        change(with_given(trace, data=data))


# Audited


def test_a_sound_recording_and_every_beginning_of_it_pass(trace: Trace) -> None:
    for end in range(1, len(trace.events) + 1):
        assert audit(Trace(trace.events[:end])) == ()


def finding(trace: Trace, **changed: Any) -> tuple[str, ...]:
    first, second = header(trace).pictures
    return audit(told(trace, pictures=(first.model_copy(update=changed), second)))


def test_a_digest_a_size_or_a_place_that_cannot_be_is_found(trace: Trace) -> None:
    def both(finding: str) -> tuple[str, str]:
        return (f"The decoder's picture 1 {finding}", f"The baseline's picture 1 {finding}")

    assert finding(trace, digest="0" * 16) == both("is not the one whose digest is recorded.")
    seen = header(trace).pictures[0].seen
    wide = seen.model_copy(update={"width": 65})
    assert finding(trace, seen=wide) == both("as seen has 64 x 64 pixels, not 65 x 64.")
    none = Shown(width=64, height=64, data="AAAA")
    assert finding(trace, seen=none) == both("as seen is no PNG.")
    a, b = (p.span for p in header(trace).pictures)
    assert finding(trace, span=(a[0], b[0] + 1)) == both(
        f"ends at token {b[0] + 1}, the next begins at {b[0]}."
    )
    assert finding(trace, given=None) == ()
    inside = told(trace, document=(a[0], a[0] + 1))
    assert audit(inside)[0] == "The decoder's picture 1 stands inside the document."


def bomb(width: int, height: int) -> bytes:
    """A PNG whose few bytes claim so many pixels, all of them there."""
    out = io.BytesIO()
    Image.new("L", (width, height)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize("png", [bomb(9000, 9000), bomb(2000, 9), RED.png[:90]])
def test_a_picture_that_no_probe_would_open_is_found(trace: Trace, png: bytes) -> None:
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    shown = recorded.shown(png, width, height)
    digest = hashlib.sha256(png).hexdigest()[:16]
    wrong = "is damaged, or larger than the pictures that specviz records."
    first, second = header(trace).pictures
    forged = told(trace, pictures=(first.model_copy(update={"given": shown, "digest": digest}),
                                   second))  # fmt: skip
    assert audit(forged)[:1] == (f"The decoder's picture 1 as given {wrong}",)
    with pytest.raises(TraceError, match="is damaged or not the one"):
        ProbeJob(forged.events).check()
    assert finding(trace, seen=shown)[0] == f"The decoder's picture 1 as seen {wrong}"


def test_pictures_beyond_the_limit_are_found_before_any_is_decoded(
    trace: Trace, monkeypatch: Any
) -> None:
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda self: pytest.fail("decoded"))
    first, _ = header(trace).pictures
    turns = tuple(
        t.model_copy(update={"pictures": MOST_PICTURES}) if t.pictures else t
        for t in header(trace).messages
    )
    forged = told(trace, pictures=(first,) * (2 * MOST_PICTURES), messages=turns)
    assert audit(forged)[0] == (
        "The decoder's prompt has 16 pictures, 8 are the limit of a talk."
    )


def test_what_a_model_saw_is_written_once_and_older_traces_still_open(trace: Trace) -> None:
    base = trace.run("baseline")
    assert base is not None and [p.seen for p in base.header.pictures] == [None, None]
    seen = [p.seen for p in header(trace).pictures]
    older = [
        p.model_copy(update={"seen": s}) for p, s in zip(base.header.pictures, seen, strict=True)
    ]
    before = Trace(
        tuple(
            e.model_copy(update={"pictures": tuple(older)}) if e == base.header else e
            for e in trace.events
        )
    )
    assert parse(packed_trace(before.events)) == before and audit(before) == ()
    lines = packed_trace(trace.events, small=False).split(b"\n")
    data = seen[0].data.encode()
    assert [line.count(data) for line in lines if b'"type":"header"' in line] == [1, 0]
    forged = header(trace).model_copy(update={"pictures": base.header.pictures})
    with pytest.raises(TraceError, match="what the model saw of a picture is recorded"):
        parse(packed_trace((forged,)))


def test_two_runs_with_other_pictures_cannot_be_compared() -> None:
    red, blue = made(ASKED), made(replace(ASKED, pictures=(BLUE,)))

    def mixed(event: StoredEvent, other: StoredEvent) -> StoredEvent:
        return other if event.role == "baseline" else event

    both = Trace(tuple(map(mixed, red.events, blue.events)))
    assert "The two runs cannot be compared: they had other pictures." in audit(both)


# Continued


def test_a_recorded_talk_goes_on_from_its_answer(trace: Trace) -> None:
    system, history = recorded.talk(trace)
    assert system == "Be brief."
    assert [(m.role, m.text) for m in history] == [
        ("user", "And this one?"), ("assistant", "The sign is blue."),
        ("user", "What does it say?"), ("assistant", text(trace)),
    ]  # fmt: skip
    assert [p.png for m in history for p in m.pictures] == [BLUE.png, RED.png]
    third = made(replace(ASKED, pictures=(), history=history, system=system))
    assert [p.digest for p in header(third).pictures] == [BLUE.digest, RED.digest]


def test_an_answer_is_continued_without_its_end_token() -> None:
    whole = made(replace(ASKED, max_new_tokens=200))
    run = whole.run("decoder")
    assert run is not None and run.finish is not None and run.finish.reason == "eos"
    answer = recorded.talk(whole)[1][-1].text
    assert answer == text(whole).removesuffix("<end>") != text(whole)


def test_a_talk_without_an_answer_cannot_go_on(trace: Trace) -> None:
    with pytest.raises(TraceError, match="holds no answer yet"):
        recorded.talk(Trace(trace.events[:1]))


def test_a_picture_out_of_the_intake_is_what_the_model_is_asked(tmp_path: Any) -> None:
    (tmp_path / "red.jpg").write_bytes(
        packed(Image.new("CMYK", (90, 60), (0, 255, 255, 0)), "TIFF")
    )
    picture: Picture = open_picture(tmp_path / "red.jpg")
    found = made(replace(ASKED, pictures=(picture,)))
    assert text(found) == SAYS
    (used,) = header(found).pictures
    assert used.notes == picture.notes
    assert used.notes == (
        "Read as TIFF, although its name ends in .jpg.",
        "Its CMYK colours were turned into RGB.",
    )
    assert used.seen_notes == ("Shown to the model at 64 x 64 pixels.",)
    assert recorded.picture(used) == picture, "another model says itself how it is shown there"
    shown = plain(header(found))["pictures"][0]
    assert shown["notes"] == list(used.notes) and "seen_notes" not in shown
    assert shown["saw"] == [64, 64]
    assert audit(found) == ()
