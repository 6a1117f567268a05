"""A page for the browser tests: toys that are slow, hostile, quick, small or broken.

With "examples" behind the port it offers the real recordings instead of the made-up ones.
Prints its address when it is ready and ends when its standard input is closed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from pathlib import Path

import numpy as np

from specviz import ui
from specviz.gallery import Example
from specviz.inputs import Document, open_document
from specviz.models import registry, toy
from specviz.models.base import Capture, Inputs, Scores
from specviz.models.entries import IMAGE
from specviz.models.registry import Entry
from specviz.models.toy import ToyModel, ToySession
from specviz.models.toy_signs import SignsModel, SignsSession
from specviz.pdf import Pages
from specviz.trace import Progress
from specviz.tree import DraftTree
from specviz.ui import reading
from specviz.ui.examples import Toy

HOSTILE = (
    "${alert(1)}", "`", "\\u", "{{x}}", "<img src=x onerror=alert(1)>", "</script>", "<b>bold</b>",
    "&lt;", "%{x}", "$a$", "\n", "\u202e", "=1+1",
)  # fmt: skip


class SlowModel(ToyModel):
    """Waits in every chunk of the prompt and in every pass."""

    prefill_wait, verify_wait = 0.25, 0.12

    def open(self, capture: Capture = Capture()) -> SlowSession:
        return SlowSession(self, capture)


class SlowSession(ToySession):
    model: SlowModel

    def prefill(self, inputs: Inputs) -> Generator[Progress, None, Scores]:
        return _waiting(super().prefill(inputs), self.model.prefill_wait)

    def verify(self, tree: DraftTree) -> Scores:
        time.sleep(self.model.verify_wait)
        return super().verify(tree)


def _waiting(
    reading: Generator[Progress, None, Scores], seconds: float
) -> Generator[Progress, None, Scores]:
    """``reading``, with a wait in every chunk."""
    while True:
        try:
            progress = next(reading)
        except StopIteration as done:
            scores: Scores = done.value
            return scores
        time.sleep(seconds)
        yield progress


class SlowSigns(SignsModel):
    """Sees, and waits in every chunk of the prompt."""

    def open(self, capture: Capture = Capture()) -> SlowSignsSession:
        return SlowSignsSession(self, capture)


class SlowSignsSession(SignsSession):
    def prefill(self, inputs: Inputs) -> Generator[Progress, None, Scores]:
        return _waiting(super().prefill(inputs), 0.25)


def _slow(device: str, dtype: str) -> SlowModel:
    rhyme = toy.rhyme_model("slow")
    return SlowModel(rhyme.logits, rhyme.pieces, label="slow", eos_ids=frozenset())


def _words(label: str, words: list[bytes], wait: float) -> SlowModel:
    """Says nothing but ``words``, in an order that drafters often get wrong."""
    first = 257
    pieces = [b"<end>", *(bytes([b]) for b in range(256)), *words]

    def logits(context: tuple[int, ...]) -> np.ndarray:
        row = np.full(len(pieces), -9.0)
        rng = np.random.default_rng([context[-1], len(context) % 29])
        row[first:] = 3 * rng.normal(size=len(words))
        return row

    model = SlowModel(logits, pieces, label=label)
    model.prefill_wait = model.verify_wait = wait
    return model


def _hostile(device: str, dtype: str) -> ToyModel:
    return _words("hostile", [w.encode() for w in HOSTILE], wait=0.0)


def _quick(device: str, dtype: str) -> ToyModel:
    return _words("quick", [f" w{i}".encode() for i in range(40)], wait=0.002)


def _small(device: str, dtype: str) -> ToyModel:
    rhyme = toy.rhyme_model("small")
    return ToyModel(rhyme.logits, rhyme.pieces, label="small", max_context=40)


def _broken(device: str, dtype: str) -> ToyModel:
    raise RuntimeError("a secret detail <b>for the log only</b>")


def _unhurried(path: Path, progress: Pages) -> Document:
    """Reads a file whose name begins with "slow" as if it had 20 pages."""
    for page in range(20 if path.name.startswith("slow") else 0):
        progress(page, 20)
        time.sleep(0.8)
    return open_document(path)


def main() -> None:
    reading.open_document = _unhurried  # type: ignore[assignment]
    loaders = {"slow": _slow, "hostile": _hostile, "quick": _quick, "small": _small,
               "broken": _broken}  # fmt: skip
    for label, load in loaders.items():
        registry.register(
            Entry(label, label, load, kind="toy", dtypes={"cpu": "float64"}, licence="test")
        )
    registry.register(
        Entry("slow-signs", "slow-signs", lambda device, dtype: SlowSigns("slow-signs"),
              kind="toy", supports=IMAGE, dtypes={"cpu": "float64"}, licence="test")
    )  # fmt: skip
    recorded = (
        Toy("rhyme", "A rhyme", "Made by the toy model.", "recap"),
        Toy("odd", "<b>${alert(1)}</b> `", "{{x}} &lt; </script>", "recap"),
        Example("gone", "Not there", "Its file is damaged.", "recap", Path(__file__)),
    )
    page = ui.build(recorded=None if sys.argv[2:] == ["examples"] else recorded)
    _, address, _ = page.launch(
        **ui.launch_options(), server_name="127.0.0.1", server_port=int(sys.argv[1]), quiet=True,
        prevent_thread_lock=True,
    )  # fmt: skip
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    page.close()


if __name__ == "__main__":
    main()
