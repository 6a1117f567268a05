"""The draft tree."""

from __future__ import annotations

import pytest

from specviz.decoding import accept, clip
from specviz.tree import DraftTree

TREE = DraftTree((5, 1, 2, 1, 3), (-1, 0, 1, 0, 2))


def test_depths_children_and_paths() -> None:
    assert TREE.depths == (0, 1, 2, 1, 3)
    assert TREE.children == ((1, 3), (2,), (4,), (), ())
    assert TREE.path(4) == (0, 1, 2, 4)
    assert TREE.path(0) == (0,)


def test_paths_merge_into_one_tree() -> None:
    assert DraftTree.from_paths(5, [(1, 2, 3), (1, 4), (1, 2)]) == DraftTree(
        (5, 1, 2, 3, 4), (-1, 0, 1, 2, 1)
    )


@pytest.mark.parametrize(
    ("tokens", "parents"),
    [((), ()), ((1,), (0,)), ((1, 2), (-1, 1)), ((1, 2), (-1, -1)), ((1,), ())],
)
def test_what_is_not_a_tree_is_refused(tokens, parents) -> None:
    with pytest.raises(ValueError):
        DraftTree(tokens, parents)


@pytest.mark.parametrize(
    ("picks", "walk"),
    [((1, 2, 3, 0, 9), (1, 2, 4)), ((1, 9, 3, 0, 9), (1,)), ((9, 2, 3, 0, 9), ())],
)
def test_the_walk_follows_the_targets_picks(picks, walk) -> None:
    assert accept(TREE, picks) == walk


@pytest.mark.parametrize(
    ("budget", "kept"), [(9, (1, 2, 7)), (3, (1, 2, 7)), (2, (1, 2)), (1, (1,))]
)
def test_clipping_at_the_end_token_and_the_budget(budget: int, kept) -> None:
    assert clip((1, 2, 7, 4), frozenset({7, 4}), budget) == kept
