"""Lessons: every stop is found, its right answer follows from the recording, it has its words."""

from __future__ import annotations

import gzip
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from specviz import catalog, gallery, lessons, player
from specviz.lesson_rules import Spot

ROOT = Path(__file__).resolve().parent.parent
NAMES = [lesson.name for lesson in lessons.LESSONS]
STOPS = [(lesson.name, n) for lesson in lessons.LESSONS for n in range(len(lesson.stops))]
Events = list[dict[str, Any]]


@cache
def plans() -> dict[str, dict[str, Any]]:
    return {plan["name"]: plan for plan in lessons.plain()}


@cache
def recorded(name: str) -> Events:
    """The raw lines of an example, read without the package."""
    with gzip.open(ROOT / "examples" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def steps(events: Events, role: str = "decoder") -> Events:
    return [e for e in events if e["type"] == "step" and e.get("role", "decoder") == role]


def header(events: Events) -> dict[str, Any]:
    return next(e for e in events if e["type"] == "header")


def seconds_per_token(events: Events, role: str) -> float:
    mine = steps(events, role)
    spent = sum(s["seconds"]["total"] for s in mine)
    return spent / sum(len(s["emitted"]) for s in mine)


def costs(events: Events, part: str) -> float:
    """Seconds of a kind in one step of the decoder, in plain tokens."""
    mine = steps(events)
    spent = sum(s["seconds"][part] for s in mine) / len(mine)
    return spent / seconds_per_token(events, "baseline")


def answer_of(events: Events) -> list[int]:
    first = next(e for e in events if e["type"] == "prefill")["token"]
    return [first] + [t for s in steps(events) for t in s["emitted"]]


def accepted(step: dict[str, Any]) -> list[int]:
    found: list[int] = step["walk"][: len(step["emitted"])]
    return found


def hits(step: dict[str, Any], node: int) -> Events:
    found = [look for look in step["evidence"]["lookups"] if look["node"] == node]
    return sorted(found[0]["hits"], key=lambda h: -h["level"]) if found else []


def right_answer(kind: str, events: Events, spot: dict[str, int]) -> Any:
    """What the recording says, by the slow way; what it is compared with depends on the kind."""
    step, node = steps(events)[spot["step"]], spot["node"]
    evidence = step.get("evidence") or {}
    pick = step["nodes"][node]["pick"]
    if kind == "accept":
        return "yes" if node in accepted(step) else "no"
    if kind == "want":
        return step["nodes"][0]["pick"]
    if kind == "count":
        return len(accepted(step))
    if kind == "written":
        return len(step["emitted"])
    if kind == "equal":
        plain = [t for s in steps(events, "baseline") for t in s["emitted"]]
        return "yes" if plain == answer_of(events)[1:] else "no"
    if kind == "answered":
        return len(hits(step, 0))
    if kind == "level":
        return next(f"level{h['level']}" for h in hits(step, node) if h["ids"][0] == pick)
    if kind == "weight":
        return f"level{max(hits(step, node), key=lambda h: float(h['weight']))['level']}"
    if kind == "cut":
        look = next(each for each in evidence["lookups"] if each["node"] == node)
        return next(f"cut.{c[4]}" for c in look["candidates"] if c[0] == pick)
    if kind == "learned":
        look, level = next(
            (each, c[2]) for each in evidence["lookups"] for c in each["candidates"]
            if c[3] == node and each["expanded"]
        )  # fmt: skip
        row = next(h for h in look["hits"] if h["level"] == level)
        return f"learned.{'accepted' if row['written'][2] else 'refused'}"
    if kind == "seen":
        return sum(part[1] for part in evidence["entries"])
    if kind == "position":
        _, length, at, each = evidence["entries"][-1]
        return at + (length - 1) * each
    if kind == "offered":
        offers = next(e["offers"] for e in evidence["expansions"] if e["node"] == node)
        cut = next((o[3] for o in offers if o[0] == pick), None)
        return f"offered.{'unknown' if cut is None else 'left_out' if cut else 'drafted'}"
    return right_in_a_wave(kind, events, spot)


def right_in_a_wave(kind: str, events: Events, spot: dict[str, int]) -> Any:
    step = steps(events)[spot["step"]]
    rounds = (step.get("evidence") or {}).get("rounds", [])
    if kind == "changes":
        before, after = (rounds[spot["round"] - 1 + k]["cells"] for k in (0, 1))
        return sum(before[i][0] != after[i][0] for i in range(len(before)))
    if kind == "freezes":
        return f"state.{rounds[spot['round']]['cells'][spot['place']][3]}"
    if kind == "settles":
        final = rounds[-1]["cells"][spot["place"]][0]
        wrong = [
            k for k, made in enumerate(rounds, 1)
            if len(made["cells"]) <= spot["place"] or made["cells"][spot["place"]][0] != final
        ]  # fmt: skip
        return max(wrong) + 1
    if kind == "calls":
        return sum(made["iterations"] for made in rounds) + header(events)["depth"]
    probes = [e for e in events if e["type"] == "probe"]
    if kind == "depends":
        probe = probes[spot["probe"]]
        return "yes" if probe["picks"][spot["token"]] == probe["kept"][spot["token"]] else "no"
    if kind == "tally":
        probe = probes[spot["probe"]]
        return sum(a != b for a, b in zip(probe["picks"], probe["kept"], strict=True))
    if kind == "faster":
        plain, mine = (seconds_per_token(events, role) for role in ("baseline", "decoder"))
        return "faster" if mine < plain else "slower"
    if kind == "pass_cost":
        return round(costs(events, "verify"), 1)
    assert kind == "dearest"
    return "dear.draft" if costs(events, "draft") > costs(events, "verify") else "dear.pass"


def given(answer: dict[str, Any]) -> Any:
    """The value of an answer: its number, its token, or which of the sentences it is."""
    params, key = answer["params"], answer["key"].removeprefix("lesson.answer.")
    if key in ("number", "times"):
        return params["x"] if key == "number" else params["x"]["number"]
    return params["token"]["token"] if key == "token" else key


@pytest.mark.parametrize(("name", "n"), STOPS)
def test_the_right_answer_follows_from_the_recording(name: str, n: int) -> None:
    stop, made = lessons.named(name), plans()[name]["at"][n]
    assert stop is not None
    kind = stop.stops[n].question.__name__
    values = [given(answer) for answer in made["answers"]]
    assert 2 <= len(values) <= 4
    assert len(set(values)) == len(values)
    expected = right_answer(kind, recorded(made["example"]), made["spot"])
    assert values[made["right"]] == expected


@pytest.mark.parametrize("name", NAMES)
def test_every_lesson_has_five_to_seven_stops_on_recorded_runs(name: str) -> None:
    plan = plans()[name]
    index = json.loads((ROOT / "examples" / "index.json").read_text("utf-8"))
    assert 5 <= plan["stops"] == len(plan["at"]) <= 7
    assert set(plan["examples"]) <= {entry["name"] for entry in index}
    assert plan["at"][0]["example"] == plan["examples"][0]
    for stop in plan["at"]:
        count = len(steps(recorded(stop["example"])))
        assert 0 <= stop["asked"]["step"] < count
        assert stop["asked"]["step"] == stop["told"]["step"] == stop["spot"]["step"]
    right = sum(len(accepted(s)) for e in plan["examples"] for s in steps(recorded(e)))
    assert plan["drafter"]["right"] == right


def sentences(made: Any) -> list[dict[str, Any]]:
    """Every sentence within plain data, nested ones included."""
    if isinstance(made, list):
        return [found for each in made for found in sentences(each)]
    if not isinstance(made, dict):
        return []
    own = {"key": made.get("key") or made.get("say"), "params": made.get("params")}
    found = [own] if isinstance(own["key"], str) and own["params"] is not None else []
    return found + [inner for each in made.values() for inner in sentences(each)]


@pytest.mark.parametrize("lang", catalog.FORMS)
@pytest.mark.parametrize(("name", "n"), STOPS)
def test_every_stop_can_be_said_in_every_language(name: str, n: int, lang: str) -> None:
    known, made = player.player_strings(lang), plans()[name]["at"][n]
    said = sentences(made)
    assert [each["key"] for each in said if each["key"] == f"lesson.{name}.{n + 1}.say"]
    for each in said:
        assert each["key"] in known, each["key"]
        assert set(catalog.PLACEHOLDER.findall(known[each["key"]])) <= set(each["params"])
    for part in ("title", "about"):
        assert known[f"lesson.{name}.{part}"] == lessons.plain(lang, name)[0][part]


def test_every_number_and_token_that_is_told_can_be_shown() -> None:
    for plan in plans().values():
        for stop in plan["at"]:
            pieces = {int(i) for e in recorded(stop["example"]) for i in e.get("pieces", {})}
            for each in sentences(stop):
                for value in each["params"].values():
                    if isinstance(value, dict) and "token" in value:
                        assert value["token"] in pieces
                    elif isinstance(value, dict) and "number" in value:
                        assert math.isfinite(value["number"])


def test_a_lesson_teaches_what_it_says() -> None:
    """The stops whose words lean on what is seen there; a new recording must still show it."""
    at = {(name, n + 1): plans()[name]["at"][n] for name, n in STOPS}

    def told(name: str, n: int) -> str:
        key: str = at[name, n]["because"]["key"]
        return key.removeprefix("lesson.told.")

    assert (told("speculation", 1), told("speculation", 5)) == ("accept.no", "equal.yes")
    assert told("memories", 1) == "answered.none"
    assert told("memories", 5) == "learned.refused"
    assert (told("window", 2), told("window", 5)) == ("position.new", "position.true")
    assert told("wave", 2) == "state.frozen"
    assert (told("pictures", 1), told("pictures", 2)) == ("depends.yes", "depends.no")
    assert told("pictures", 5) == "depends.no"
    assert [told("losing", n) for n in (3, 5, 6)] == ["slower", "dear.draft", "slower"]
    assert (told("losing", 1), told("losing", 4)) == ("count.whole", "count.ended")
    assert at["memories", 5]["node"] == at["memories", 5]["spot"]["node"] > 0
    assert at["wave", 5]["node"] is None


def test_a_losing_run_is_explained_by_its_own_figures() -> None:
    for example, stop in (("slower", 3), ("head-full", 6)):
        events, made = recorded(example), plans()["losing"]["at"][stop - 1]
        said = {k: v["number"] for k, v in made["because"]["params"].items() if k != "sign"}
        emitted = sum(len(s["emitted"]) for s in steps(events))
        assert made["example"] == example
        assert said["tau"] == round(emitted / len(steps(events)), 2)
        assert said["cost"] == round(costs(events, "total"), 2)
        assert said["pass"] == round(costs(events, "verify"), 2)
        assert said["rest"] == pytest.approx(said["cost"] - said["pass"])
        assert said["speed"] < 1 < said["cost"] / said["tau"]


def test_a_rule_without_a_step_says_so() -> None:
    for lesson in lessons.LESSONS:
        for stop in lesson.stops:
            assert isinstance(stop.rule(gallery.example(stop.example).trace), Spot)
    wave = next(lesson for lesson in lessons.LESSONS if lesson.name == "wave").stops[0]
    with pytest.raises(LookupError):
        wave.rule(gallery.example("list").trace)


def test_an_exported_file_holds_a_lesson_on_its_run_alone() -> None:
    trace = gallery.example("list").trace
    page = player.export_html(trace, lesson=plans()["speculation"])
    data = json.loads(page.split('id="run">')[1].split("</script>")[0])
    assert data["lesson"] == plans()["speculation"]
    assert data["payload"]["run_id"] == "example-list"
    with pytest.raises(ValueError, match="on that run only"):
        player.export_html(trace, lesson=plans()["memories"])


def test_cards_name_the_lessons_without_reading_a_recording(monkeypatch: Any) -> None:
    monkeypatch.setattr(gallery, "load", lambda path: pytest.fail("read a recording"))
    for lang in catalog.FORMS:
        assert [card["name"] for card in lessons.cards(lang)] == NAMES
    assert lessons.cards("ru")[0]["title"].startswith("Спекулятивное")
    assert lessons.named("nobody") is None
