"""Files that are no traces, or forged ones: one sentence, exit code 2, whatever the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specviz import cli, jobs
from specviz.trace import Progress
from specviz.tracefile import dumps

JOB = jobs.Job(model="toy", prompt="This is the house that Jack built. This is", max_new_tokens=12)
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sound() -> str:
    """A sound trace as JSON Lines."""
    return "".join(dumps(e) + "\n" for e in jobs.run(JOB) if not isinstance(e, Progress))


def step(lines: Lines) -> dict[str, Any]:
    return next(e for e in lines if e["type"] == "step" and len(e["nodes"]) > 2)


def changed(change: Callable[[Lines], Any]) -> Callable[[str], bytes]:
    """A forger that edits the parsed lines of a sound trace."""

    def forge(text: str) -> bytes:
        lines = [json.loads(line) for line in text.splitlines()]
        change(lines)
        return "".join(json.dumps(line) + "\n" for line in lines).encode()

    return forge


def baseline_only(text: str) -> bytes:
    (line,) = [x for x in text.splitlines() if '"role":"baseline"' in x and "header" in x[:20]]
    return line.encode() + b"\n"


NOT_ONE = "This is not a trace file: it does not begin with a decoder's header."
NOT_JSON = "This is not a trace file, a line is not JSON: choose a file that specviz wrote."
HOSTILE: dict[str, tuple[Callable[[str], bytes], str]] = {
    "nothing": (lambda _: b"", NOT_ONE),
    "white space": (lambda _: b" \n\n", NOT_ONE),
    "only a baseline": (baseline_only, NOT_ONE),
    "deep brackets": (lambda _: b"[" * 200_000 + b"\n", NOT_JSON),
    "deep brackets in an event": (lambda t: t.encode() + b'{"a":' * 200_000 + b"\n", NOT_JSON),
    "a number for a line": (lambda _: b"7\n", "This is not a valid trace ("),
    "no number": (
        lambda t: t.replace('"tail":', '"tail":NaN,"x":', 1).encode(), NOT_JSON,
    ),
    "bytes that are no text": (lambda t: t.encode() + b'{"type":"\xff\xfe"}\n', NOT_JSON),
    "logp above zero": (
        changed(lambda e: step(e)["nodes"][1].update(logp=3.5)),
        "This is not a valid trace (step.nodes.1.logp: ",
    ),
    "logp that overflows": (
        changed(lambda e: step(e)["nodes"][1].update(logp=1e400)), NOT_JSON,
    ),
    "pieces that are no bytes": (
        changed(lambda e: e[0]["pieces"].update({"5": "\u0416"})),
        "This is not a valid trace (header.pieces.5: ",
    ),
    "half a character": (
        changed(lambda e: e[0]["pieces"].update({"5": "\ud800"})),
        NOT_JSON,
    ),
    "no nodes": (
        changed(lambda e: step(e).update(nodes=[])), "This is not a valid trace (step.nodes: ",
    ),
    "nothing emitted": (
        changed(lambda e: step(e).update(emitted=[])), "This is not a valid trace (step.emitted: ",
    ),
    "a parent that comes later": (
        changed(lambda e: step(e)["nodes"][1].update(parent=2)), "Step ",
    ),
    "a walk out of the tree": (changed(lambda e: step(e).update(walk=[99])), "Step "),
    "a negative node": (
        changed(lambda e: step(e).update(walk=[-1])), "This is not a valid trace (step.walk.0: ",
    ),
    "a token below zero": (
        changed(lambda e: step(e)["nodes"][0].update(token=-5)),
        "This is not a valid trace (step.nodes.0.token: ",
    ),
    "two headers": (changed(lambda e: e.insert(1, e[0])), "This trace has two headers for the "),
    "a field too many": (
        changed(lambda e: e[0].update(colour="red")), "This is not a valid trace (header.colour: ",
    ),
    "a packed bomb": (lambda _: b"\x1f\x8b" + b"\xff" * 50, "This trace file is damaged: "),
}  # fmt: skip
COMMANDS = {
    "check": ("check", "{trace}"),
    "replay": ("replay", "{trace}"),
    "replay as JSON": ("replay", "{trace}", "--json"),
    "replay of a step": ("replay", "{trace}", "--step", "1"),
    "export to HTML": ("export", "{trace}", "-o", "{folder}/out.html"),
    "export of rejects": ("export", "{trace}", "-o", "{folder}/out.csv"),
    "export of steps": ("export", "{trace}", "--table", "steps", "-o", "{folder}/out.csv"),
}


def refused(trace: str, command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence with which ``command`` refuses ``trace``; it leaves nothing behind."""
    before = sorted(folder.iterdir())
    arguments = [a.format(trace=trace, folder=folder) for a in COMMANDS[command]]
    assert cli.main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sorted(folder.iterdir()) == before
    sentence = printed.err.removesuffix("\n")
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence.removeprefix(f"{trace}: ")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_sentence(
    name: str, command: str, sound: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forge, beginning = HOSTILE[name]
    path = tmp_path / "t.jsonl"
    path.write_bytes(forge(sound))
    assert refused(str(path), command, tmp_path, capsys).startswith(beginning)


@pytest.mark.parametrize("command", ["check", "replay", "export to HTML"])
@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/dev/zero", "This trace is larger than 96 MB."),
        ("/dev/null", NOT_ONE),
        ("no.jsonl", "The trace file no.jsonl cannot be read: No such file or directory."),
        ("/usr", "The trace file usr cannot be read: Is a directory."),
    ],
)
def test_what_is_no_file_is_refused_too(
    path: str, sentence: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(path, command, tmp_path, capsys) == sentence


@pytest.mark.parametrize("command", COMMANDS)
def test_the_sound_trace_itself_passes(
    command: str, sound: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(sound, "utf-8")
    assert cli.main([a.format(trace=path, folder=tmp_path) for a in COMMANDS[command]]) == 0
    assert capsys.readouterr().err == ""
