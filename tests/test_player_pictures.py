"""Pictures in the player's payload and in the exported file."""

from __future__ import annotations

import json
import re

import pytest

from specviz import player
from specviz.jobs import Job, ProbeJob, run
from specviz.models.toy_signs import sign
from specviz.trace import Finish, Header, Progress, Trace
from specviz.ui.answers import Answers
from specviz.ui.visit import Desk


@pytest.fixture(scope="module")
def trace() -> Trace:
    """Two pictures, a baseline, and the answer read back with a blank one."""
    job = Job(
        model="toy-signs", prompt="What does it say?", max_new_tokens=12,
        pictures=(sign("red"), sign("green")),
    )  # fmt: skip
    events = [e for e in run(job) if not isinstance(e, Progress)]
    events += [e for e in run(ProbeJob(tuple(events))) if not isinstance(e, Progress)]  # type: ignore[misc]
    return Trace(tuple(events))


def headers(found: list[dict]) -> list[dict]:  # type: ignore[type-arg]
    return [event for event in found if event["type"] == "header"]


def test_the_pictures_travel_once_with_the_decoders_run(trace: Trace) -> None:
    decoder, baseline = headers(player.payload(trace)["events"])
    whole = trace.run("decoder").header  # type: ignore[union-attr]
    assert [p["seen"]["data"] for p in decoder["pictures"]] == [p.seen.data for p in whole.pictures]
    assert [p["given"]["data"] for p in decoder["pictures"]] == [
        p.given.data for p in whole.pictures if p.given
    ]
    assert "pictures" not in baseline or baseline["pictures"] == []
    assert Header.model_validate(baseline).tokens == whole.tokens, "still a header"


def test_pictures_as_given_are_sent_up_to_a_limit_in_all(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = trace.run("decoder").header.pictures[0].given  # type: ignore[union-attr]
    assert first is not None
    monkeypatch.setattr(player, "GIVEN_CHARS", len(first.data))
    for found in (
        player.payload(trace)["events"],
        player.update(trace, "r", 0)["events"],
        player.update(trace.events[:1], "r", 0)["events"],
    ):
        shown = headers(found)[0]["pictures"]
        assert [len(p["given"]["data"]) for p in shown] == [len(first.data), 0]
        assert [p["saw"] for p in shown] == [[64, 64]] * 2
        assert [bool(p["seen"]["data"]) for p in shown] == [True, True]


def test_what_the_player_misses_is_as_light_as_what_it_got(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player, "GIVEN_CHARS", 0)
    desk = Desk()
    desk.publish("r", trace)
    found = headers(Answers(desk, "en").get_events(["r", 0]))
    assert [p["given"]["data"] for p in found[0]["pictures"]] == ["", ""]


def test_the_exported_file_holds_the_pictures_and_may_show_data_alone(trace: Trace) -> None:
    page = player.export_html(trace)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert re.findall(r"img-src ([^;]*)", policy[1]) == ["data:"]
    data = re.search(r'<script type="application/json" id="run">(.*?)</script>', page, re.S)
    assert data is not None
    events = json.loads(data[1])["payload"]["events"]
    probe = next(e for e in events if e["type"] == "probe")
    assert probe["seen"]["data"] == trace.probes[0].seen.data
    seen = trace.run("decoder").header.pictures[0].seen.data  # type: ignore[union-attr]
    assert page.count(seen) == 1


def test_what_was_done_to_a_picture_and_how_a_run_ended_travels_in_every_language(
    trace: Trace,
) -> None:
    header, *rest = trace.events
    assert isinstance(header, Header)
    notes = ("Turned upright as its EXIF says.", "Something new.")
    used = header.pictures[0].model_copy(update={"notes": notes, "seen_notes": ()})
    message = "The model computed numbers that are not finite: choose dtype float32 or bfloat16."
    end = Finish(reason="error", tokens=3, seconds=1, message=message)
    found = player.payload(
        Trace((header.model_copy(update={"pictures": (used,)}), *rest[:2], end)), lang="en"
    )["events"]
    russian = "У модели получились бесконечности или не числа: выберите dtype float32 или bfloat16."
    assert found[0]["told"] == {"ru": {notes[0]: "Повёрнута прямо, как говорит её EXIF."}}
    assert found[-1]["told"] == {"ru": {message: russian}}
    assert [event for event in found[1:-1] if "told" in event] == [], "nothing was said there"
    plain = player.payload(trace)["events"]
    assert [event for event in plain if "told" in event] == [], "and nothing in this run"
