"""The one decoding loop: draft a tree, verify it in one pass, walk, commit, learn."""

from __future__ import annotations

from collections.abc import Generator, Sequence, Set
from time import perf_counter

from specviz.budget import Curve
from specviz.drafters.base import Draft, Drafter
from specviz.models.base import InputError, Inputs, Model, Scores, Session, Unsupported
from specviz.trace import Finish, Node, Prefill, Progress, Reason, Rows, Seconds, Step
from specviz.tree import DraftTree


def accept(tree: DraftTree, picks: Sequence[int]) -> tuple[int, ...]:
    """The accepted nodes below the root: from there, follow the target's pick while it is a child.

    Among equal siblings the first is taken. ``picks`` [len(tree)]: the greedy token after each
    node. The pick after the last node returned (or after the root) is the bonus token.
    """
    walk: list[int] = []
    node = 0
    while True:
        match = next((c for c in tree.children[node] if tree.tokens[c] == picks[node]), None)
        if match is None:
            return tuple(walk)
        walk.append(match)
        node = match


def clip(tokens: Sequence[int], eos_ids: Set[int], budget: int) -> tuple[int, ...]:
    """``tokens`` up to and including the first end token, and at most ``budget`` of them."""
    for i, token in enumerate(tokens[:budget]):
        if token in eos_ids:
            return tuple(tokens[: i + 1])
    return tuple(tokens[:budget])


def check_abilities(label: str, supports: Set[str], drafter: Drafter) -> None:
    """Raise Unsupported when the model ``label`` cannot do what ``drafter`` needs of it."""
    missing = drafter.needs - supports
    if "depth" in missing:
        raise Unsupported(
            f"The decoder {drafter.name} guesses with fewer iterations of a shared block, and "
            f"{label} has none, its layers run once each: choose a recurrent-depth model."
        )
    if "head" in missing:
        raise Unsupported(
            f"The decoder {drafter.name} drafts with a head that reads the target's states, which "
            f"{label} does not show: choose a transformers model, such as smollm2-135m."
        )
    if missing:
        raise Unsupported(
            f"The decoder {drafter.name} needs {', '.join(sorted(missing))}, which the model "
            f"{label} does not offer: choose another decoder or model."
        )


def check_fit(model: Model, drafter: Drafter, inputs: Inputs, max_new_tokens: int) -> None:
    """Raise InputError or Unsupported when this run could not end well."""
    check_abilities(model.label, model.supports, drafter)
    drafter.check(model)
    if not inputs.tokens:
        raise InputError("The prompt is empty: write something to continue.")
    if max_new_tokens < 1:
        raise InputError("max new tokens must be at least 1.")
    room = model.max_context - len(inputs.tokens)
    if room < 1:
        raise InputError(
            f"The prompt has {len(inputs.tokens)} tokens, the context of {model.label} ends at "
            f"{model.max_context}: shorten the prompt."
        )
    if room < max_new_tokens:
        raise InputError(
            f"The prompt has {len(inputs.tokens)} tokens and {model.label} holds "
            f"{model.max_context}: ask for at most {room} new tokens or shorten the prompt."
        )


def decode(
    model: Model,
    inputs: Inputs,
    drafter: Drafter,
    max_new_tokens: int,
    costs: Curve | None = None,
) -> Generator[Progress | Prefill | Step | Finish, None, None]:
    """Greedy decoding of ``inputs`` with guesses of ``drafter``; yields what happened.

    The output depends on model, inputs and budget only, never on the drafter. ``costs``: what a
    pass costs here, for drafters that fit their tree to it. Closing the generator closes the
    session. Raises InputError or Unsupported before any work; an error on the way is raised after
    a ``Finish`` that says so.
    """
    check_fit(model, drafter, inputs, max_new_tokens)
    session = model.open(drafter.capture())
    spent = 0.0
    output: list[int] = []
    try:
        started = perf_counter()
        reading = session.prefill(inputs)
        while True:
            try:
                progress = next(reading)
            except StopIteration as done:
                scores: Scores = done.value
                break
            spent += perf_counter() - started
            yield progress
            started = perf_counter()
        drafter.start(session, inputs.tokens, scores, costs)
        output.append(scores.picks[-1])
        spent += perf_counter() - started
        yield _prefill(scores, spent, seeded=drafter.capture().prompt_rows != "last")

        context = [*inputs.tokens, *output]
        index = 0
        while output[-1] not in model.eos_ids and len(output) < max_new_tokens:
            step = _step(session, drafter, context, max_new_tokens - len(output), index)
            spent += step.seconds.total
            output.extend(step.emitted)
            context.extend(step.emitted)
            index += 1
            yield step
        reason: Reason = "eos" if output[-1] in model.eos_ids else "length"
        yield Finish(reason=reason, tokens=len(output), seconds=round(spent, 6))
    except Exception as error:
        message = str(error) if isinstance(error, InputError) else "The run failed; see the log."
        yield Finish(reason="error", tokens=len(output), seconds=round(spent, 6), message=message)
        raise
    finally:
        session.close()


def _step(
    session: Session, drafter: Drafter, context: Sequence[int], budget: int, index: int
) -> Step:
    t0 = perf_counter()
    draft: Draft = drafter.propose(context, budget)
    t1 = perf_counter()
    scores: Scores = session.verify(draft.tree)
    t2 = perf_counter()
    walk = accept(draft.tree, scores.picks)
    end = walk[-1] if walk else 0
    tokens = (*(draft.tree.tokens[n] for n in walk), scores.picks[end])
    emitted = clip(tokens, session.model.eos_ids, budget)
    # The last emitted token becomes the next root, so its own row is never kept.
    session.commit((0, *walk[: len(emitted) - 1]))
    t3 = perf_counter()
    evidence = drafter.observe(draft, scores, walk[: len(emitted)])
    t4 = perf_counter()
    nodes = _nodes(draft, scores)
    return Step(
        index=index,
        nodes=nodes,
        walk=walk,
        emitted=emitted,
        cache_length=session.length,
        evidence=evidence,
        seconds=Seconds(
            draft=round(t1 - t0 + t4 - t3, 6),
            verify=round(t2 - t1, 6),
            commit=round(t3 - t2, 6),
            total=round(perf_counter() - t0, 6),
        ),
    )


def _nodes(draft: Draft, scores: Scores) -> tuple[Node, ...]:
    tree = draft.tree
    return tuple(
        Node(
            token=tree.tokens[i],
            parent=tree.parents[i],
            source=draft.sources[i],
            order=draft.order[i],
            score=draft.scores[i],
            logp=scores.own_logps[i],
            pick=scores.picks[i],
            margin=scores.margins[i],
            top=tuple(zip(scores.top_ids[i], scores.top_logps[i], strict=True)),
            tail=scores.tails[i],
            entropy=None if scores.entropies is None else scores.entropies[i],
        )
        for i in range(len(tree))
    )


def _prefill(scores: Scores, seconds: float, seeded: bool) -> Prefill:
    rows = Rows()
    if seeded:
        rows = Rows(
            positions=scores.positions,
            ids=scores.top_ids,
            logps=scores.top_logps,
            entropies=scores.entropies,
        )
    return Prefill(
        seconds=round(seconds, 6),
        token=scores.picks[-1],
        margin=scores.margins[-1],
        top=tuple(zip(scores.top_ids[-1], scores.top_logps[-1], strict=True)),
        rows=rows,
    )
