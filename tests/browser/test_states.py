"""The player and the tables say the same about every guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from specviz import player
from specviz.decoding import decode
from specviz.drafters.base import Drafter
from specviz.models.base import Inputs
from specviz.models.toy import ToyModel, random_logits
from specviz.trace import Header, Progress, Step, Trace, with_pieces
from specviz.views.steps import node_states
from tests.adversaries import Chain, Duplicates, RandomTree, oracle

SAME = {"refused": "rejected", "passed": "rejected", "unreached": "not reached"}
# The states of all nodes when a step is over, step by step.
STATES = """() => {
  const payload = JSON.parse(document.getElementById('run').textContent).payload;
  const found = {};
  for (let t = 1; t <= SpecvizPlayer.lastTime(payload); t++) {
    const {step, tree, place} = SpecvizPlayer.scene(payload, t);
    if (place.phase === 'emit') found[step] = tree.nodes.map((n) => n.state);
  }
  return Object.values(found);
}"""


def traced(model: ToyModel, drafter: Drafter, budget: int) -> Trace:
    """One run of ``drafter`` on the toy as a trace."""
    header = Header(
        run="r", decoder=drafter.name, knobs={}, model=model.label, digest="d", device="cpu",
        dtype="float64", machine="m", versions={}, messages=(), tokens=(1, 2),
        eos_ids=tuple(model.eos_ids), max_new_tokens=budget, vocab_size=model.vocab_size,
    )  # fmt: skip
    seen: set[int] = set()
    events = (header, *decode(model, Inputs((1, 2)), drafter, budget))
    return Trace(
        tuple(
            with_pieces(e, seen, model.token_bytes, model.special_ids)
            for e in events
            if not isinstance(e, Progress)
        )
    )


def test_the_player_and_the_tables_name_the_same_states(
    open_page: Callable[..., Page], tmp_path: Path
) -> None:
    pieces = [b"<end>", b" a", b" b", b" c", b" d"]
    model = ToyModel(random_logits(5, len(pieces)), pieces, eos_ids=frozenset())
    answer = oracle(model, (1, 2), 60)
    told: Counter[str] = Counter()
    for drafter in (RandomTree(3, len(pieces), 14), Duplicates(answer, 2, 3), Chain(answer, 2, 5)):
        trace = traced(model, drafter, 40)
        path = tmp_path / f"{drafter.name}.html"
        path.write_text(player.export_html(trace), "utf-8")
        shown = open_page(path.as_uri()).evaluate(STATES)
        steps = [e for e in trace.events if isinstance(e, Step)]
        expected = [list(node_states(s)) for s in steps]
        assert [[SAME.get(state, state) for state in step] for step in shown] == expected
        told.update(state for step in expected for state in step)
    assert min(told[s] for s in ("accepted", "rejected", "duplicate", "not reached")) > 5
    assert told["discarded"] > 0
