"""A verification as a table, as a page of Markdown, and as a badge of few lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from specviz.budget import Curve
from specviz.catalog import sentence, text
from specviz.verdict import (
    Equality,
    Example,
    Loading,
    Passes,
    Row,
    Speed,
    State,
    TreePass,
    Verdict,
    code_digest,
)

MARKS: dict[State, str] = {"held": "✓", "failed": "✗", "skipped": "–", "not yet run": "·"}
MARKED = re.compile(r"([\\`*_{}\[\]<>#|~])")  # what Markdown obeys


def table(verdict: Verdict) -> Iterator[str]:
    """Lines for a terminal, one row of the verdict a line; texts as they came."""
    yield from _head(verdict)
    cells = [_cells(row) for row in verdict.rows]
    widths = [max((len(c[i]) for c in cells), default=0) for i in range(4)]
    for row in cells:
        fixed = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        yield f"{fixed}  {row[4]}".rstrip()
    yield from _tail(verdict)


def line(row: Row) -> str:
    """One row on its own."""
    return "  ".join(filter(None, _cells(row)))


def markdown(verdict: Verdict) -> str:
    """The same as a page: nothing in it is obeyed as Markdown."""
    head = [_inert(line) for line in _head(verdict)]
    titles = [text(f"verify.column.{name}") for name in ("state", "part", "what", "dtype", "found")]
    rows = [titles, ["---"] * 5, *([_inert(c) for c in _cells(row)] for row in verdict.rows)]
    body = [f"| {' | '.join(row)} |" for row in rows]
    tail = [_inert(line) for line in _tail(verdict)]
    title = _inert(text("verify.title", model=verdict.model))
    parts = [f"# {title}", "  \n".join(head), "\n".join(body), "  \n".join(tail)]
    return "\n\n".join(parts) + "\n"


def badge(
    results: Sequence[Verdict], digest: str, kinds: Iterable[str], lang: str = "en"
) -> list[str]:
    """What is known of a model: one line per machine and dtype, then where it never ran.

    ``digest`` of the weights in question, empty where it is not known; ``kinds``: kinds of device
    that the model could run on.
    """
    lines = []
    own = [v for v in results if not digest or v.digest == digest]
    for verdict in results:
        machine = sentence(verdict.machine, lang)
        if verdict not in own:
            lines.append(text("verify.badge.weights", lang, machine=machine))
            continue
        for dtype in dict.fromkeys(row.dtype for row in verdict.rows):
            lines += _badge(verdict, dtype, lang)
    done = {v.kind for v in own}
    missing = [text(f"verify.kind.{kind}", lang) for kind in kinds if kind not in done]
    if missing:
        lines.append(text("verify.badge.never", lang, kinds=", ".join(missing)))
    return lines


def _badge(verdict: Verdict, dtype: str, lang: str) -> Iterator[str]:
    rows = [row for row in verdict.rows if row.dtype == dtype]
    earlier = verdict.code not in ("", code_digest())
    code = text("verify.badge.earlier", lang) if earlier else ""
    equal = [row for row in rows if isinstance(row, Equality) and row.state == "held"]
    where = {"machine": sentence(verdict.machine, lang), "dtype": dtype}
    failed = sum(row.state == "failed" for row in rows)
    if failed:
        yield text("verify.badge.failed", lang, count=failed, code=code, **where)
    elif equal:
        prompts = max(row.prompts for row in equal)
        other = text(f"verify.reference.{equal[0].reference.replace(' ', '_')}", lang)
        ties = sum(row.tied for row in equal)
        told = text("verify.badge.ties", lang, count=ties) if ties else ""
        yield text(
            "verify.badge.held", lang, count=len(equal), prompts=prompts, other=other, ties=told,
            code=code, **where,
        )  # fmt: skip


def _head(verdict: Verdict) -> Iterator[str]:
    yield text("verify.model", model=verdict.model, digest=verdict.digest)
    yield text("verify.machine", machine=verdict.machine, device=verdict.device)
    for name in ("driver", "versions", "facts"):
        values = getattr(verdict, name)
        if values:
            told = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in values.items())
            yield text(f"verify.{name}", values=told)


def _tail(verdict: Verdict) -> Iterator[str]:
    if not verdict.reported:
        yield text("verify.reported.none")
    for figure in verdict.reported:
        ours = [
            f"{row.speedup:.2f}"
            for row in verdict.rows
            if isinstance(row, Speed) and row.decoder == figure.decoder and row.speedup
        ]
        yield text(
            "verify.reported", decoder=figure.decoder, speedup=f"{figure.speedup:.2f}",
            conditions=figure.conditions,
            ours=", ".join(ours) or text("verify.never"),
        )  # fmt: skip
    failed = sum(row.state == "failed" for row in verdict.rows)
    open_rows = sum(row.state == "not yet run" for row in verdict.rows)
    if open_rows:
        yield text("verify.sum.open", count=open_rows)
    if failed:
        yield text("verify.sum.failed", count=failed)
    elif verdict.held and not open_rows:
        yield text("verify.sum.held")


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    what = ""
    if isinstance(row, (Equality, Speed, Example)):
        what = row.decoder
    elif isinstance(row, Passes):
        kind = "packed" if row.packed else "stock"
        what = text(f"verify.passes.{kind}", context=row.context)
    found = _found(row) if row.state in ("held", "failed") else ""
    if row.state == "not yet run":
        found = text("verify.never")
    told = ". ".join(filter(None, (found, row.why)))
    return MARKS[row.state], text(f"verify.part.{row.part}"), what, row.dtype, told


def _found(row: Row) -> str:
    match row:
        case Loading(seconds=seconds) if seconds is not None:
            peak = "–" if row.peak_bytes is None else f"{row.peak_bytes / 2**20:.0f}"
            packed = text("verify.load.packed") if row.packed else ""
            return text("verify.load", seconds=f"{seconds:.1f}", megabytes=peak, packed=packed)
        case TreePass(error=error, limit=limit) if error is not None:
            return text("verify.tree", error=f"{error:.2g}", limit=f"{limit:g}")
        case Equality():
            return _equality(row)
        case Passes(costs=costs) if costs is not None:
            curve = Curve(costs.rows, costs.seconds)
            told = " ".join(f"c({n})={curve(n):.2f}" for n in costs.rows[1:])
            return text("verify.passes", ms=f"{1000 * costs.seconds[0]:.2f}", curve=told)
        case Speed(tokens_per_s=pace) if pace is not None:
            ratio = "–" if row.speedup is None else f"{row.speedup:.2f}"
            tau = "–" if row.tau is None else f"{row.tau:.2f}"
            return text("verify.speed", pace=f"{pace:.1f}", ratio=ratio, tau=tau)
        case Example(file=file) if file:
            return file
    return ""


def _equality(row: Equality) -> str:
    if not row.prompts:
        return ""
    told = text(
        "verify.equality", identical=row.identical, prompts=row.prompts, tokens=row.tokens,
        other=text(f"verify.reference.{row.reference.replace(' ', '_')}"),
    )  # fmt: skip
    if row.pictures:
        told = f"{told}, {text('verify.equality.pictures', count=row.pictures)}"
    if row.tied:
        margin = f"{row.largest_margin or 0:.4f}"
        ties = text("verify.equality.ties", count=row.tied, tokens=row.tied_tokens, margin=margin)
        told = f"{told} {ties}"
    return told


def _inert(raw: str) -> str:
    return MARKED.sub(r"\\\1", raw.replace("\n", " "))
