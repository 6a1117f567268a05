"""Makes the recorded examples again: ``python examples/record.py``.

Each is the decoder's run and then, alone on the machine, its measured baseline. Nothing else should
run meanwhile. ``--only NAME`` makes one of them; ``--check`` records nothing, runs every decoder
again and compares its tokens with the recorded ones.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from specviz import jobs  # noqa: E402
from specviz.compare import first_difference  # noqa: E402
from specviz.inputs import open_document  # noqa: E402
from specviz.metrics import speedup_decode  # noqa: E402
from specviz.pictures import open_picture  # noqa: E402
from specviz.probing import with_probe  # noqa: E402
from specviz.recorded import talk  # noqa: E402
from specviz.recorder import record  # noqa: E402
from specviz.trace import Probe, Trace, TraceError  # noqa: E402
from specviz.tracefile import load, save  # noqa: E402

INDEX = FOLDER / "index.json"


@dataclass(frozen=True)
class Example:
    """One recorded run: what the gallery says about it, and the job that makes it."""

    name: str
    title: str
    description: str
    prompt: str
    decoder: str = "recap"
    documents: tuple[str, ...] = ()
    context: int | None = None
    knobs: dict[str, str] = field(default_factory=dict)
    max_new_tokens: int = 128
    model: str = "smollm2-135m"
    pictures: tuple[str, ...] = ()
    after: str = ""  # the example whose talk goes on
    probes: tuple[str, ...] = ()  # what is put in the place of the first picture

    @property
    def file(self) -> str:
        return f"{self.name}.jsonl.gz"

    def job(self) -> jobs.Job:
        """Float32 on the CPU, so that the same tokens come out everywhere."""
        job = jobs.Job(
            model=self.model,
            decoder=self.decoder,
            prompt=self.prompt,
            knobs=self.knobs,
            max_new_tokens=self.max_new_tokens,
            device="cpu",
            dtype="float32",
            pictures=tuple(open_picture(FOLDER / "images" / name) for name in self.pictures),
        )
        if self.after:
            _, history = talk(load(FOLDER / f"{self.after}.jsonl.gz"))
            job = replace(job, history=history)
        if not self.documents:
            return job
        read = [open_document(FOLDER / "documents" / name) for name in self.documents]
        return replace(
            job,
            document="\n\n".join(document.text for document in read),
            context=self.context,
            cut="tail",
            notes=tuple(note for document in read for note in document.notes),
        )

    def probed(self, trace: Trace) -> Trace:
        """``trace`` with what other pictures would have changed."""
        for name in self.probes:
            if name in ("blank", "shuffled"):
                job = jobs.ProbeJob(trace.events, name)
            else:
                other = open_picture(FOLDER / "images" / name)
                job = jobs.ProbeJob(trace.events, "other", 0, other)
            (probe,) = (event for event in jobs.run(job) if isinstance(event, Probe))
            trace = with_probe(trace, probe)
        return trace

    def entry(self) -> dict[str, str]:
        """Its entry in the page's gallery."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "decoder": self.decoder,
            "file": self.file,
        }


EXAMPLES = (
    Example(
        name="tea",
        title="Chat: a good cup of tea",
        description="A step-by-step answer. The memories of two and three tokens are empty at the "
        "start; only when the answer begins to repeat itself are whole phrases accepted.",
        prompt="How do I make a good cup of tea? Explain step by step.",
        max_new_tokens=144,
    ),
    Example(
        name="code",
        title="Code: a stack class",
        description="Indentation, self and def come again and again; watch whole lines being "
        "accepted in one pass.",
        prompt="Write a Python class Stack with push, pop, peek and is_empty methods, and a short "
        "test for each method.",
        max_new_tokens=160,
    ),
    Example(
        name="list",
        title="List: seven days, seven meals",
        description="Every line has the same shape, and this small model serves the same dish from "
        "Tuesday on: soon the name of the day is refused, the rest of the line accepted at once.",
        prompt="List the seven days of the week. For each day, suggest one meal to cook.",
        max_new_tokens=128,
    ),
    Example(
        name="chapter",
        title="A question about a chapter of Moby Dick",
        description="A prompt of some 5 500 tokens: passes are dearer, and the text itself "
        "is a source of guesses.",
        prompt="What happens in this chapter? Tell the main events in order.",
        documents=("moby-dick-133.txt",),
        max_new_tokens=96,
    ),
    Example(
        name="slower",
        title="Where speculation loses: 80 guesses on a CPU",
        description="The published static tree verifies 80 guesses in every pass, whether its "
        "memory knows anything or not. On a CPU such a pass costs several plain ones, "
        "and at the start the memory is empty: most guesses are wasted, the run is slower than "
        "plain decoding.",
        prompt="Write a short story about a lighthouse keeper and his cat.",
        decoder="token_recycling",
        knobs={"tree": "static"},
        max_new_tokens=96,
    ),
    Example(
        name="recycling",
        title="Token Recycling with a small best-first tree",
        description="The same memory of single tokens as the published tree, but only the guesses "
        "that seem worth their cost are verified.",
        prompt="How do I make a good cup of tea? Explain step by step.",
        decoder="token_recycling",
        knobs={"tree": "best_first"},
        max_new_tokens=144,
    ),
    Example(
        name="lookup",
        title="Prompt lookup: the best case for copying",
        description="Asked to correct a text, this small model repeats it word for word, so a "
        "chain copied from the prompt is right every time. Few tasks are like that.",
        prompt="Repeat this text and correct the spelling: The old lighthouse stood at the end of "
        "the harbour. Every evening the keeper climbed the stares and lit the lamp. Every morning "
        "the keeper climbed the stares and put out the lamp. The ships in the harbour new the "
        "light of the old lighthouse.",
        decoder="prompt_lookup",
        max_new_tokens=96,
    ),
    # Questions that specviz.training.raven_documents kept from training.
    Example(
        name="stones",
        title="Word problem: three heaps of stones",
        description="A recurrent-depth model drafts up to twenty tokens at once. A guess stands "
        "about three rounds after its place opens; one digit of the last sum takes seven. The full "
        "pass of 32 iterations confirms every one.",
        prompt="Kate has 20 stones. Noah has twice as many stones as Kate. Hugo has 30 more stones "
        "than Noah. How many stones do they have altogether?",
        decoder="das_wave",
        model="tiny-raven",
        max_new_tokens=128,
    ),
    Example(
        name="cubes",
        title="Function: the sum of the even cubes",
        description="Code for the same wave: the lines that every such function has stand after "
        "one round, the condition and what is summed take three.",
        prompt="Please write a small function which returns the sum of the cubes of the even "
        "numbers in a list.",
        decoder="das_wave",
        model="tiny-raven",
        max_new_tokens=128,
    ),
    Example(
        name="cups",
        title="Shell game: what the deep prefix knows already",
        description="A ball under one of three cups, up to 24 swaps a row, nothing written out "
        "in between. Where the ball ends the question's final keys and values hold already, so the "
        "answers settle like all else; what is refused are swaps and a row's end.",
        prompt="Cups:\n2 y z x x z y y y x z z x y y z z y z z x y y;"
        "2 z y z x y z x x z z x y x y y y z y x x;"
        "1 x z z y x x x z x z y x x x x y;3 z z x z z z y z y x y",
        decoder="das_wave",
        model="tiny-raven",
        max_new_tokens=128,
    ),
    Example(
        name="overdone",
        title="Where the wave loses: too much drafting",
        description="64 places in 32 rounds of 8 iterations, for an answer half as long: every "
        "guess is right, and still plain decoding is faster. Drafting costs more than the passes "
        "it saves.",
        prompt="John shares 30 flowers equally among 6 friends. Each friend already had 4 flowers. "
        "How many flowers does each friend have now?",
        decoder="das_wave",
        model="tiny-raven",
        knobs={"block": "64", "first": "64", "rounds": "32", "inner": "8", "freeze": "0"},
        max_new_tokens=96,
    ),
)

# One question about two chapters, with as much of them as the context has room for.
HEADS = (
    (
        "head-400", 400, {}, "Drafter head: 400 tokens",
        "A prompt of 304 tokens, a little more than the 256 positions that the head was trained "
        "for. The answer goes round in circles, so 70 of 72 tested guesses are right: compare the "
        "three lengths by their strips, not by their speeds.",
    ),
    (
        "head-2000", 2_000, {}, "Drafter head: 2 000 tokens",
        "The same question with more of the book. Still the head sees 251 tokens, four sinks and "
        "the last 247, told as 0 to 250; a draft takes no longer, only the pass that verifies.",
    ),
    (
        "head-7000", 7_000, {}, "Drafter head: 7 000 tokens",
        "Of nearly 7 000 tokens the head sees 251. The answer is less sure of itself: 30 of 74 "
        "tested guesses are right, which still pays. The next five recordings take something "
        "away.",
    ),
    (
        "head-pressed", 7_000, {"mode": "reindex_only"}, "Without a window",
        "All 6 997 tokens are seen, with 256 positions for them: steps of 0.04 where the head "
        "learned whole ones. 21 of 70 tested guesses are right, and turning every key anew "
        "makes a draft three times as dear.",
    ),
    (
        "head-true", 7_000, {"mode": "window_abs"}, "Without new positions",
        "The sinks are 6 996 positions away, 27 times farther than the head ever learned. It "
        "hardly minds: 29 of 75 tested guesses are right, with new positions 30 of 74.",
    ),
    (
        "head-no-sinks", 7_000, {"sinks": "0"}, "Without sinks",
        "Rotary positions only tell distances, so without sinks counting anew changes nothing. "
        "This head does not miss its sinks: 30 of 74 tested guesses are right, as with them; only "
        "the clock ran differently.",
    ),
    (
        "head-full", 7_000, {"mode": "full"}, "Without either: a head as it comes",
        "It sees all 6 997 tokens where they stand. 20 of 68 tested guesses "
        "are right, a draft takes longer, in eight steps no guess is worth its cost: slower than "
        "plain decoding.",
    ),
    (
        "head-truncated", 7_000, {"features": "truncated"}, "Without the far text's states",
        "The head's states come from a model that read the window alone, so nothing from outside "
        "can reach it: 26 of 74 tested guesses are right instead of 30. The second pass of every "
        "step is the price of looking.",
    ),
)  # fmt: skip
EXAMPLES += tuple(
    Example(
        name=name,
        title=title,
        description=description,
        prompt="Who is Ahab? Describe him and what he wants.",
        documents=("moby-dick-133.txt", "moby-dick-134.txt"),
        context=context,
        decoder="window",
        knobs=knobs,
        max_new_tokens=96,
    )
    for name, context, knobs, title, description in HEADS
)
EXAMPLES += (
    Example(
        name="departures",
        title="A departure board, read line by line",
        description="Every line has the same shape and another content: the words between are "
        "guessed, times and places have to be looked up in the picture.",
        prompt="Read the departure board.",
        pictures=("departure-board.png",),
    ),
    Example(
        name="bars",
        title="A bar chart: which is the tallest?",
        description="A chart with its numbers, described. Labels and values come from the "
        "picture, the sentences around them from memory.",
        prompt="Describe the chart.",
        pictures=("number-chart.png",),
    ),
    Example(
        name="figures",
        title="Coloured shapes, row by row",
        description="Colours and kinds are what the memory cannot know; watch where guesses fail.",
        prompt="What is in the picture?",
        pictures=("coloured-shapes.png",),
    ),
    Example(
        name="second-turn",
        title="A second question about the same board",
        description="The talk about the departure board goes on. The memories of two and three "
        "tokens are empty again: each turn is a request of its own.",
        prompt="What is the next departure?",
        after="departures",
    ),
    Example(
        name="sign",
        title="What if it were another picture?",
        description="The sign is read; then the same answer is read back with a blank picture, "
        "with its own tiles shuffled and with another sign: marked tokens would have been others.",
        prompt="Read the text line by line.",
        pictures=("letter-sign.png",),
        probes=("blank", "shuffled", "score-board.png"),
    ),
)
SEEING = "smol-boards"
EXAMPLES = tuple(
    replace(e, model=SEEING) if e.pictures or e.after else e for e in EXAMPLES
)


def index_text() -> str:
    """What the gallery reads."""
    entries = [example.entry() for example in EXAMPLES]
    return json.dumps(entries, ensure_ascii=False, indent=2) + "\n"


def make(examples: Sequence[Example]) -> None:
    """Record ``examples``, each with its baseline, and the index of all."""
    # The first run of a model pays for loading and for the first use of every kernel.
    for first in {example.model: example for example in reversed(examples)}.values():
        record(replace(first.job(), max_new_tokens=8))
    for example in examples:
        trace = record(example.job(), FOLDER / example.file)
        if example.probes:
            trace = example.probed(trace)
            save(FOLDER / example.file, trace.events)
        speedup, check = speedup_decode(trace), trace.check
        told = "?" if speedup is None else f"{speedup:.2f}x"
        say(f"{example.name}: {told}, equal: {check.equal if check else None}")
    INDEX.write_text(index_text(), "utf-8")


def check(examples: Sequence[Example]) -> bool:
    """Whether every example still gives its recorded tokens."""
    same = True
    for example in examples:
        try:
            old = load(FOLDER / example.file).run()
        except TraceError as error:
            say(f"{example.name}: {error}")
            same = False
            continue
        new = record(replace(example.job(), baseline=False)).run()
        at = first_difference(old.tokens if old else (), new.tokens if new else ())
        say(f"{example.name}: " + ("the same" if at is None else f"differs at token {at}"))
        same = same and at is None
    return same


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Parse options, record or check; the exit code tells a difference."""
    parser = argparse.ArgumentParser(description="Make the recorded examples again.")
    names = [example.name for example in EXAMPLES]
    parser.add_argument("--only", choices=names, help="one example instead of all")
    parser.add_argument("--check", action="store_true", help="compare tokens, record nothing")
    options = parser.parse_args()
    chosen = [e for e in EXAMPLES if options.only in (None, e.name)]
    if options.check:
        return 0 if check(chosen) else 1
    make(chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
