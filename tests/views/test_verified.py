"""A verification told: as lines, as Markdown that obeys nothing, under the model on the page."""

from __future__ import annotations

import pytest

from specviz import verdict as verdicts
from specviz.models import registry
from specviz.trace import Costs
from specviz.verdict import (
    Equality,
    Example,
    Loading,
    Passes,
    Reported,
    Speed,
    TreePass,
    Verdict,
)
from specviz.views.verified import markdown, table

COSTS = Costs(context=128, rows=(1, 2, 8), seconds=(0.01, 0.03, 0.02))


def verdict(**changes: object) -> Verdict:
    rows = (
        Loading(dtype="float32", state="held", seconds=1.25, peak_bytes=3 * 2**20, packed=True),
        TreePass(dtype="float32", state="failed", why="It differs.", error=0.5, limit=0.01),
        Equality(
            dtype="bfloat16", decoder="recap", state="held", prompts=6, identical=4, tied=2,
            tokens=288, tied_tokens=3, largest_margin=0.0625,
        ),
        Passes(dtype="float32", context=100, packed=True, state="held", costs=COSTS),
        Passes(dtype="float32", context=7000, packed=False, state="skipped", why="Too short."),
        Speed(
            dtype="float32", decoder="recap", state="held", tokens_per_s=41.26, speedup=1.504,
            tau=2.251,
        ),
        Speed(dtype="float32", decoder="generate"),
        Example(dtype="float32", decoder="recap", state="held", file="recap.jsonl.gz"),
    )  # fmt: skip
    given = {"model": "m", "digest": "d", "device": "cuda:0", "machine": "H200", "rows": rows}
    return Verdict(**{**given, **changes})


def test_a_table_of_everything_that_a_row_can_be() -> None:
    figure = Reported(decoder="recap", speedup=1.66, conditions="A100")
    lines = list(table(verdict(driver={"cuda": "13.0"}, reported=(figure,))))
    assert {line.index("float32") for line in lines if "float32" in line} == {37}
    assert [" ".join(line.split()) for line in lines] == [
        "model: m (weights d)",
        "machine: H200 (cuda:0)",
        "driver: cuda 13.0",
        "✓ loading float32 1.2 s, at most 3 MB held, weights packed",
        "✗ tree pass float32 differs from plain passes by 0.5 (allowed: 0.01). It differs.",
        "✓ same tokens recap bfloat16 4 of 6 prompts identical to generate (288 tokens) and 2 but "
        "for numeric ties (3 tied tokens, margin at most 0.0625)",
        # Two rows were dearer than eight: they count as cheap as those.
        "✓ pass costs 100 tokens, packed float32 one row 10.00 ms, c(2)=2.00 c(8)=2.00",
        "– pass costs 7000 tokens, stock float32 Too short.",
        "✓ speed recap float32 41.3 tokens/s, 1.50x plain, tau 2.25",
        "· speed generate float32 not yet run",
        "✓ recorded run recap float32 recap.jsonl.gz",
        "reported, not ours: recap 1.66x (A100); measured here: 1.50",
        "1 question was not come to",
        "1 question did not hold",
    ]


def test_a_page_obeys_nothing_of_what_it_is_given() -> None:
    page = markdown(verdict(model="a|b*c<i>", machine="x\ny"))
    assert "# Verification of a\\|b\\*c\\<i\\>\n" in page
    assert "machine: x y (cuda:0)" in page
    assert "| – | pass costs | 7000 tokens, stock | float32 | Too short. |" in page


def test_the_page_says_it_under_the_model(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from specviz.ui.form import about_model

    shipped = registry.SHIPPED.__class__(str(tmp_path))
    monkeypatch.setattr(registry, "SHIPPED", shipped)
    monkeypatch.setenv("SPECVIZ_CACHE", str(shipped / "none"))
    assert about_model("smollm2-135m-hub") == "not yet run on: CPU, CUDA"
    assert about_model("/etc") == about_model(None) == ""
    rows = (Equality(dtype="bfloat16", decoder="recap", state="held", prompts=6, identical=6),)
    for label in ("smollm2-135m-hub", "owner/name"):
        raw = verdicts.dumps(verdict(model=label, rows=rows))
        (shipped / f"{label[:3]}.json").write_bytes(raw)
    line = "verified on H200, bfloat16: 1 decoder equal to generate on 6 prompts"
    assert about_model("smollm2-135m-hub") == f"{line}\nnot yet run on: CPU"
    assert about_model("owner/name") == line
