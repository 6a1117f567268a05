"""The image counterfactual: the answer read back, the refusals, the door."""

from __future__ import annotations

import base64
import io
import multiprocessing
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from specviz import jobs, probing, recorded, substitutes, tracefile
from specviz.audit import audit
from specviz.jobs import Job, ProbeJob
from specviz.models.base import InputError, Message, Picture, Unsupported
from specviz.models.toy import ToyModel
from specviz.models.toy_signs import SignsModel, sign
from specviz.pictures import open_picture
from specviz.recorded import messages
from specviz.trace import Event, Probe, Progress, StoredEvent, Trace, TraceError

JOB = Job(
    model="toy-signs", prompt="What does the sign say?", pictures=(sign("red"),),
    max_new_tokens=60, baseline=False, knobs={"calibration": "none"},
)  # fmt: skip
TEXT = (
    "\nThe sign is red.\nA red sign tells you to stop.\nSee the sign and stop, see the sign and "
    "stop.\nThe road goes up, the road goes down, the road goes round the old market town.\n"
    "The sign on the road is red, so stop."
)


def stored(job: Job | ProbeJob) -> tuple[StoredEvent, ...]:
    return tuple(e for e in jobs.run(job) if not isinstance(e, Progress))


@pytest.fixture(scope="module")
def events() -> tuple[StoredEvent, ...]:
    return stored(JOB)


def probed(job: ProbeJob) -> Probe:
    (found,) = stored(job)
    assert isinstance(found, Probe)
    return found


def told(events: tuple[StoredEvent, ...], **changed: Any) -> tuple[StoredEvent, ...]:
    """``events`` with another header."""
    return (events[0].model_copy(update=changed), *events[1:])


def words(trace: Trace, tokens: tuple[int, ...]) -> list[str]:
    return [trace.pieces[t].decode() for t in tokens]


def test_exactly_the_words_that_the_colour_decides_change(
    events: tuple[StoredEvent, ...],
) -> None:
    trace = Trace(events)
    run = trace.run("decoder")
    assert run is not None
    assert "".join(words(trace, run.tokens[:-1])) == TEXT and run.tokens[-1] == 0
    probe = probed(ProbeJob(events, "other", 0, sign("blue")))
    assert (probe.kind, probe.replaced, probe.name) == ("other", 0, "blue.png")
    after = Trace((*events, probe))
    assert probe.changed == (3, 6, 11, 17, 23, 50, 53)
    told = [" red", " red", " stop", " stop", " stop", " red", " stop"]
    assert words(after, tuple(run.tokens[i] for i in probe.changed)) == told
    now = [" blue", " blue", " park", " park", " park", " blue", " park"]
    assert words(after, tuple(probe.picks[i] for i in probe.changed)) == now
    assert probe.kept == run.tokens
    assert (probe.device, probe.dtype, probe.packed) == ("cpu", run.header.dtype, False)
    assert [probe.logps[3], probe.kept_logps[3]] == [-4.7083, -0.0932]
    same = set(range(len(run.tokens))) - set(probe.changed)
    assert all(probe.logps[i] == probe.kept_logps[i] for i in same)
    assert after.run("decoder") == run, "what was decoded stays"
    assert audit(after) == ()


def test_a_row_is_what_the_model_says_after_the_prompt_and_the_answer_so_far(
    events: tuple[StoredEvent, ...],
) -> None:
    run = Trace(events).run("decoder")
    assert run is not None
    probe = probed(ProbeJob(events, "other", 0, sign("green")))
    model = SignsModel()
    turn = Message("user", JOB.prompt, (sign("green"),))
    inputs = model.encode([turn])
    for row in (0, 3, 6, 55):
        tokens = (*inputs.tokens, *run.tokens[:row])
        session = model.open()
        scores = steps(session.score(tokens, inputs.pixels))
        assert scores.picks[-1] == probe.picks[row], row


def steps(generator: Any) -> Any:
    while True:
        try:
            next(generator)
        except StopIteration as done:
            return done.value


def test_a_blank_picture_is_white_and_a_shuffled_colour_is_the_same(
    events: tuple[StoredEvent, ...],
) -> None:
    probe = probed(ProbeJob(events))
    after = Trace((*events, probe))
    assert words(after, tuple(probe.picks[i] for i in probe.changed)) == [
        " white", " white", " turn", " turn", " turn", " white", " turn",
    ]  # fmt: skip
    shown = Image.open(io.BytesIO(base64.b64decode(probe.seen.data)))
    assert shown.getcolors() == [(64 * 64, (255, 255, 255))]
    with pytest.raises(InputError) as refused:
        stored(ProbeJob(events, "shuffled"))
    assert str(refused.value) == (
        "Nothing would change, because 'red.png' looks the same when its tiles are shuffled: "
        "choose another picture."
    )


def test_of_several_pictures_over_turns_only_the_named_one_is_replaced() -> None:
    first = Message("user", "Look.", (sign("red"), sign("green")))
    job = replace(
        JOB, history=(first, Message("assistant", "I see.")), pictures=(sign("blue"),),
        max_new_tokens=7,
    )  # fmt: skip
    events = stored(job)
    trace = Trace(events)
    run = trace.run("decoder")
    assert run is not None
    assert words(trace, run.tokens) == ["\nThe", " sign", " is", " red", ".", "\nA", " green"]
    again = [
        replace(m, pictures=tuple(replace(p, notes=()) for p in m.pictures))
        for m in messages(run.header)
    ]
    assert tuple(again) == job.messages()
    note = "Shown to the model at 64 x 64 pixels."
    repeated = replace(job, history=messages(run.header)[:2])
    assert [p.seen_notes for p in stored(repeated)[0].pictures] == [(note,)] * 3  # type: ignore[union-attr]
    wanted = ((0, (3, " purple")), (1, (6, " purple")), (2, None))
    for replaced, change in wanted:
        probe = probed(ProbeJob(events, "other", replaced, sign("purple")))
        found = Trace((*events, probe))
        changed = [(i, words(found, probe.picks)[i]) for i in probe.changed]
        assert changed == ([] if change is None else [change]), replaced
        assert audit(found) == ()


def test_progress_counts_both_readings_as_one(events: tuple[StoredEvent, ...]) -> None:
    seen: list[Event] = list(jobs.run(ProbeJob(events)))
    checks = [(e.done, e.total) for e in seen if isinstance(e, Progress) and e.stage == "probe"]
    run = Trace(events).run("decoder")
    assert run is not None
    size = len(run.header.tokens) + len(run.tokens)
    assert checks == [(0, 2 * size), (size, 2 * size)]
    assert isinstance(seen[-1], Probe) and sum(isinstance(e, Probe) for e in seen) == 1


def test_a_recorded_picture_is_unpacked_once(
    events: tuple[StoredEvent, ...], monkeypatch: Any
) -> None:
    names: list[str] = []
    check = recorded.check_png
    monkeypatch.setattr(
        recorded, "check_png", lambda png, name: names.append(name) or check(png, name)
    )
    probed(ProbeJob(events))
    assert names == ["red.png"]


def test_a_stopped_run_is_read_as_far_as_it_came(events: tuple[StoredEvent, ...]) -> None:
    probe = probed(ProbeJob(events[:4]))
    run = Trace(events[:4]).run("decoder")
    assert run is not None
    assert len(probe.picks) == len(run.tokens) and probe.changed == (3,)


# Refusals


def test_what_cannot_be_read_back_is_said_in_a_sentence(
    events: tuple[StoredEvent, ...], known: Callable[[ToyModel], str]
) -> None:
    def refusal(job: ProbeJob) -> str:
        with pytest.raises((InputError, TraceError)) as refused:
            stored(job)
        return str(refused.value)

    header = events[0]
    (used,) = header.pictures  # type: ignore[union-attr]
    assert refusal(ProbeJob(events[:1])) == (
        "This trace holds no answer yet: choose one that goes on longer."
    )
    assert refusal(ProbeJob(stored(replace(JOB, pictures=())))) == (
        "This run was asked without a picture, so none can be replaced: choose another run."
    )
    for wrong in (1, -1):
        assert refusal(ProbeJob(events, replaced=wrong)) == (
            f"This run has no picture {wrong + 1}: choose one from 1 to 1."
        )
    assert refusal(ProbeJob(events, "other")) == (
        "Another picture has to be given for that: choose one, or blank."
    )
    assert refusal(ProbeJob(events, "other", other=sign("red", "same.png", side=40))) == (
        "Nothing would change, because 'red.png' looks the same as the picture given in its "
        "place: choose another picture."
    )
    lost = told(events, pictures=(used.model_copy(update={"given": None}),))
    assert refusal(ProbeJob(lost)) == (
        "The recording holds the picture 'red.png' only as the model saw it (64 x 64 pixels), "
        "because the pictures of a talk are kept up to 24 MB in all: record the run again with "
        "smaller ones."
    )
    assert refusal(ProbeJob(told(events, model="toy"))) == (
        "The model toy sees no pictures: choose a run of a model that supports image."
    )
    assert refusal(ProbeJob(told(events, digest="0123456789abcdef"))) == (
        f"The weights of toy-signs here ({header.digest[:8]}) are not those of the recording "  # type: ignore[union-attr]
        "(01234567): only a run of the same weights can be probed."
    )
    short = told(events, tokens=header.tokens[:-1])  # type: ignore[union-attr]
    assert refusal(ProbeJob(short)) == (
        "The prompt of the recording is not the same tokens here (32 recorded, 33 now): record "
        "the run again first."
    )


def test_a_model_that_turns_out_blind_is_refused(
    events: tuple[StoredEvent, ...], known: Callable[[ToyModel], str]
) -> None:
    blind = SignsModel("blind")
    label = known(blind)
    blind.supports = frozenset({"tree", "rollback"})
    with pytest.raises(Unsupported, match=r"^The model blind sees no pictures: "):
        stored(ProbeJob(told(events, model=label)))


class Uneven(SignsModel):
    """Takes one token more for a picture of another colour than red."""

    def encode(self, messages: Any) -> Any:
        inputs = super().encode(messages)
        red = messages[-1].pictures[0].digest == sign("red").digest
        return inputs if red else replace(inputs, tokens=(*inputs.tokens, 65))


def test_a_picture_that_takes_other_tokens_is_refused(
    events: tuple[StoredEvent, ...], known: Callable[[ToyModel], str]
) -> None:
    model = Uneven("uneven")
    label = known(model)
    with pytest.raises(InputError) as refused:
        stored(ProbeJob(told(events, model=label, digest=model.digest)))
    assert str(refused.value) == (
        "With the other picture the prompt has 34 tokens instead of 33, so the answers cannot be "
        "compared: choose another picture."
    )


def test_a_hostile_recording_of_a_picture_is_refused(events: tuple[StoredEvent, ...]) -> None:
    (used,) = events[0].pictures  # type: ignore[union-attr]
    whole = base64.b64decode(used.given.data)
    jpeg = io.BytesIO()
    Image.new("RGB", (96, 96)).save(jpeg, "JPEG")
    grey = io.BytesIO()
    Image.new("L", (96, 96)).save(grey, "PNG")
    for raw, width in ((whole[:-40], 96), (jpeg.getvalue(), 96), (grey.getvalue(), 96),
                       (whole, 95), (b"", 96)):  # fmt: skip
        for digest in (Picture("", raw, 1, 1).digest, "0" * 16):
            given = used.given.model_copy(
                update={"data": base64.b64encode(raw).decode(), "width": width}
            )
            broken = used.model_copy(update={"given": given, "digest": digest})
            with pytest.raises(TraceError, match="is damaged or not the one that the run was"):
                stored(ProbeJob(told(events, pictures=(broken,))))
    with pytest.raises(TraceError, match="is damaged or not the one"):
        stored(ProbeJob(told(events, pictures=(used.model_copy(update={"digest": "0" * 16}),))))
    odd = used.model_copy(update={"given": used.given.model_copy(update={"data": "A"})})
    with pytest.raises(TraceError, match="is damaged"):
        stored(ProbeJob(told(events, pictures=(odd,))))


# The door


def _work(job: bytes, out: Any) -> None:
    out.send_bytes(pickle.dumps(list(jobs.run(pickle.loads(job)))))


def test_a_probe_goes_through_a_forked_worker(events: tuple[StoredEvent, ...]) -> None:
    job = ProbeJob(events, "other", 0, sign("green"))
    mine, theirs = multiprocessing.Pipe(duplex=False)
    worker = multiprocessing.get_context("fork").Process(
        target=_work, args=(pickle.dumps(job), theirs)
    )
    worker.start()
    there = pickle.loads(mine.recv_bytes())
    worker.join(60)
    assert there == list(jobs.run(job)) and isinstance(there[-1], Probe)


def test_a_closed_probe_leaves_the_device_free(events: tuple[StoredEvent, ...]) -> None:
    stream = jobs.run(ProbeJob(events))
    while not (isinstance(event := next(stream), Progress) and event.stage == "probe"):
        pass
    stream.close()
    lock, _ = probing.turn("cpu")
    assert lock.acquire(timeout=60)
    waiting = jobs.run(ProbeJob(events))
    assert next(waiting) == Progress(stage="queue", done=0, total=1)
    waiting.close()
    lock.release()
    assert probed(ProbeJob(events)).changed[0] == 3


# What is put in its place


def noise(width: int, height: int) -> Picture:
    pixels = np.random.default_rng(3).integers(0, 256, (height, width, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return Picture("noise.png", out.getvalue(), width, height)


def array(picture: Picture) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(picture.png)))


@pytest.mark.parametrize("size", [2, 3, 64])
def test_every_tile_goes_to_another_place(size: int) -> None:
    order = substitutes.cycle(size)
    assert sorted(order) == list(range(size))
    assert all(i != j for i, j in enumerate(order))


def test_shuffled_tiles_are_an_eighth_of_each_side_and_the_rest_stays() -> None:
    source = noise(67, 41)  # tiles of 8 x 5 pixels, 3 columns and a row left over
    found = substitutes.shuffled(source)
    before, after = array(source), array(found)
    assert (found.width, found.height) == (67, 41) == after.shape[1::-1]
    assert (after[:, 64:] == before[:, 64:]).all() and (after[40:] == before[40:]).all()
    tiles = [
        [a[y : y + 5, x : x + 8].tobytes() for y in range(0, 40, 5) for x in range(0, 64, 8)]
        for a in (before, after)
    ]
    assert sorted(tiles[0]) == sorted(tiles[1])
    assert not any(a == b for a, b in zip(*tiles, strict=True))
    assert found.png == substitutes.shuffled(source).png


def test_another_picture_is_fitted_undistorted_into_white() -> None:
    found = substitutes.fitted(sign("blue", side=50), 120, 60)
    pixels = array(found)
    assert pixels.shape == (60, 120, 3) and (pixels[:, 30:90] == (40, 90, 210)).all()
    assert (pixels[:, :30] == 255).all() and (pixels[:, 90:] == 255).all()
    blue = sign("blue")
    assert substitutes.fitted(blue, 96, 96) is blue
    assert open_picture(found.png, "x.png").digest == found.digest


# The trace


def test_a_probe_is_stored_read_back_and_a_prefix_is_valid(
    events: tuple[StoredEvent, ...], tmp_path: Any
) -> None:
    probe = probed(ProbeJob(events))
    path = tmp_path / "probed.jsonl.gz"
    tracefile.save(path, (*events, probe))
    assert tracefile.load(path) == Trace((*events, probe))
    raw = "".join(tracefile.dumps(e) + "\n" for e in (*events, probe)).encode()
    assert tracefile.parse(raw[:-100]) == Trace(events)
    # The words of the other picture come with the probe where nothing had named them before.
    assert probe.pieces == {}
    assert sorted(probed(ProbeJob(unnamed(events))).pieces.values()) == [" turn", " white"]


def unnamed(events: tuple[StoredEvent, ...]) -> tuple[StoredEvent, ...]:
    """``events`` that do not say what two words are."""
    return tuple(
        e.model_copy(
            update={"pieces": {t: p for t, p in e.pieces.items() if p not in (" white", " turn")}}
        )
        for e in events
    )


def test_a_probe_of_what_the_prompt_lacks_is_no_trace(events: tuple[StoredEvent, ...]) -> None:
    probe = probed(ProbeJob(events))
    wrong = probe.model_copy(update={"replaced": 1})
    lines = [tracefile.dumps(e) for e in (*events, wrong)]
    with pytest.raises(TraceError, match=r"^This trace has a probe of picture 2, its prompt has 1"):
        tracefile.parse("\n".join(lines).encode() + b"\n")
    short = tracefile.dumps(probe).replace('"picks":[', '"picks":[1,', 1)
    with pytest.raises(TraceError, match="every row of a probe has its values"):
        tracefile.parse("\n".join([*lines[:-1], short]).encode() + b"\n")


def test_the_audit_finds_probes_of_another_run(events: tuple[StoredEvent, ...]) -> None:
    probe = probed(ProbeJob(events))

    def found(*steps: StoredEvent, **changed: Any) -> tuple[str, ...]:
        return audit(Trace((*(steps or events), probe.model_copy(update=changed))))

    assert found() == ()
    assert found(*events[:4]) == ("Probe 1 reads back 56 tokens, the answer has 4.",)
    (used,) = events[0].pictures  # type: ignore[union-attr]
    assert found(digest=used.digest) == ("Probe 1 replaces a picture by itself.",)
    small = probe.seen.model_copy(update={"width": 63})
    assert found(seen=small) == (
        "Probe 1 shows the model a picture of another size.",
        "The picture of probe 1 has 64 x 64 pixels, not 63 x 64.",
    )
    white = next(t for t, p in Trace(events).pieces.items() if p == b" turn")
    assert found(*unnamed(events)) == (f"The bytes of token {white} are missing.",)
