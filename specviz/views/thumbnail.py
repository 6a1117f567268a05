"""A small picture of a run for a gallery: both lanes on one clock, and the tree of one step."""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace import Step, Trace

WIDTH, HEIGHT = 320, 132
LANE, TREE = 12, 40  # height of a lane; where the tree begins
NODE = (24.0, 11.0)
MOST = 96  # blocks of a lane; more would be thinner than what divides them
# Both themes, since an image does not know which one the page has chosen. Hues of Okabe and Ito.
STYLE = (
    ".b{fill:#0072b2}.b1{fill:#9fcbe8}.p{fill:#9aa3ad}.e{fill:none;stroke:#8b95a1}"
    ".n{fill:#fff;stroke:#8b95a1;stroke-dasharray:2 2}.r{stroke:#14181d;stroke-dasharray:none}"
    ".a{fill:#e3f0f9;stroke:#0072b2;stroke-width:2;stroke-dasharray:none}"
    ".x{fill:#fdeee2;stroke:#d55e00;stroke-dasharray:4 2}"
    ".s{fill:#fff5dd;stroke:#e69f00;stroke-width:2;stroke-dasharray:none}"
    ".e.a{fill:none;stroke-width:3}.e.s{fill:none}"
    "@media(prefers-color-scheme:dark){.n{fill:#1c232b}.r{stroke:#eef2f6}.a{fill:#12304a}"
    ".x{fill:#38210f}.s{fill:#3a2d0e}}"
)


def thumbnail(trace: Trace, step: int | None) -> str:
    """An SVG of the run; ``step`` is the index of the step whose tree is drawn, None for none.

    Same trace, same text. Lengths in px.
    """
    runs = [run for role in ("decoder", "baseline") if (run := trace.run(role)) is not None]
    longest = max((sum(s.seconds.total for s in run.steps) for run in runs), default=0.0)
    parts = [
        part
        for number, run in enumerate(runs)
        for part in _lane(run.steps, number, longest)
    ]
    if runs and step is not None:
        chosen = next((s for s in runs[0].steps if s.index == step), None)
        parts += _tree(chosen) if chosen is not None else []
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}"><style>{STYLE}</style>{"".join(parts)}</svg>\n'
    )


def _lane(steps: tuple[Step, ...] | list[Step], number: int, longest: float) -> Iterator[str]:
    """One block per pass, as wide as it took; so many that they would not be seen become one."""
    if longest <= 0:
        return
    top, begun = 2 + number * (LANE + 4), 0.0
    scale = (WIDTH - 4) / longest
    if len(steps) > MOST:
        whole = sum(step.seconds.total for step in steps) * scale
        yield _rect("p" if number else "b1", 2, top, whole, LANE)
        return
    for step in steps:
        name = "p" if number else "b" if len(step.emitted) > 1 else "b1"
        wide = step.seconds.total * scale
        yield _rect(name, 2 + begun, top, max(0.4, wide - 0.8), LANE)
        begun += wide


def _tree(step: Step) -> list[str]:
    """Boxes and edges of the draft, scaled to the room there is, with the model's own token."""
    parents = [node.parent for node in step.nodes]
    end = step.walk[-1] if step.walk else 0
    own = len(step.emitted) > len(step.walk)
    if own:
        parents.append(end)
    depth, row = _places(parents)
    wide, tall = NODE[0] + 14, NODE[1] + 5
    room = (WIDTH - 8, HEIGHT - TREE - 4)
    size = (max(depth) * wide + NODE[0], max(row) * tall + NODE[1])
    scale = min(1.3, room[0] / size[0], room[1] / size[1])
    left, top = 4 + (room[0] - size[0] * scale) / 2, TREE + (room[1] - size[1] * scale) / 2
    at = [(d * wide, r * tall) for d, r in zip(depth, row, strict=True)]
    names = [_state(step, i, end, own, len(parents)) for i in range(len(parents))]
    edges, boxes = [], []
    for i, ((x, y), parent) in enumerate(zip(at, parents, strict=True)):
        if i:
            px, py = at[parent][0] + NODE[0], at[parent][1] + NODE[1] / 2
            mid, to = (px + x) / 2, y + NODE[1] / 2
            name = f"e {names[i]}" if names[i] in ("a", "s") else "e"
            edges.append(
                f'<path class="{name}" d="M{px:.1f},{py:.1f}C{mid:.1f},{py:.1f} {mid:.1f},{to:.1f} '
                f'{x:.1f},{to:.1f}"/>'
            )
        boxes.append(_rect(f"n {names[i]}".strip(), x, y, *NODE, round_=3))
    move = f"translate({left:.1f},{top:.1f}) scale({scale:.3f})"
    return [f'<g transform="{move}">', *edges, *boxes, "</g>"]


def _places(parents: list[int]) -> tuple[list[int], list[float]]:
    """Depth and row of every node; a parent stands in the middle of its children."""
    depth = [0] * len(parents)
    children: list[list[int]] = [[] for _ in parents]
    for i, parent in enumerate(parents[1:], start=1):
        depth[i] = depth[parent] + 1
        children[parent].append(i)
    row = [0.0] * len(parents)
    leaves, order, stack = 0, [], [0]
    while stack:  # not recursive: a chain may be longer than Python's stack
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(children[node]))
    for node in order:
        if not children[node]:
            row[node] = float(leaves)
            leaves += 1
    for node in reversed(order):
        if children[node]:
            row[node] = (row[children[node][0]] + row[children[node][-1]]) / 2
    return depth, row


def _state(step: Step, node: int, end: int, own: bool, count: int) -> str:
    if node == 0:
        return "r"
    if own and node == count - 1:
        return "s"
    if node in step.walk:
        return "a"
    return "x" if step.nodes[node].parent == end and own else ""


def _rect(
    name: str, x: float, y: float, width: float, height: float, round_: float = 1.5
) -> str:
    return (
        f'<rect class="{name}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="{round_:g}"/>'
    )
