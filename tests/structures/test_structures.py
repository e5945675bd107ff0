"""Each structure equals enumeration, ties and masks included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from amount import some
from blockwolfe.errors import InputError
from blockwolfe.structures import chain, choice

SCORES = st.integers(-3, 3).map(float)  # few values: many ties


@st.composite
def chains(draw):
    n_labels = draw(st.integers(1, 11))
    n_positions = draw(st.integers(1, 4 if n_labels < 5 else 2))
    unary = draw(hnp.arrays(float, (n_positions, n_labels), elements=SCORES))
    transition = draw(hnp.arrays(float, (n_labels, n_labels), elements=SCORES))
    allowed = draw(hnp.arrays(bool, (n_positions, n_labels)))
    allowed[
        np.arange(n_positions),
        draw(hnp.arrays(int, n_positions, elements=st.integers(0, n_labels - 1))),
    ] = True
    return unary, transition, allowed


def lowest_best_backwards(unary, transition, outputs):
    """The maximiser that ties resolve to: lowest last label, then lowest label before it, ..."""
    best = max(chain.score(unary, transition, y) for y in outputs)
    winners = [y for y in outputs if chain.score(unary, transition, y) == best]
    return min(winners, key=lambda y: tuple(reversed(y)))


@settings(max_examples=some(1500), deadline=None)
@given(chains(), st.booleans())
def test_chain_equals_enumeration(case, has_mask):
    unary, transition, allowed = case
    mask = allowed if has_mask else None
    outputs = list(chain.enumerate_outputs(*unary.shape, mask))
    found = chain.maximize(unary, transition, mask)
    assert tuple(found) == lowest_best_backwards(unary, transition, outputs)


@settings(max_examples=300, deadline=None)
@given(hnp.arrays(float, st.integers(1, 6), elements=SCORES))
def test_choice_equals_enumeration(theta):
    best = max(choice.enumerate_outputs(len(theta)), key=lambda k: theta[k])
    assert choice.maximize(theta) == best


def test_chain_does_not_change_its_input():
    unary = np.ones((2, 2))
    chain.maximize(unary, np.zeros((2, 2)), [[True, False], [False, True]])
    assert (unary == 1).all()


@pytest.mark.parametrize("n_labels", range(1, 40))
def test_chain_of_many_labels_equals_a_plain_recursion(n_labels):
    """The rows of transitions are combined in fours; every remainder must be right."""
    rng = np.random.default_rng(n_labels)
    for _ in range(20):
        unary, transition = rng.normal(size=(6, n_labels)), rng.normal(size=(n_labels, n_labels))
        best = unary[0]
        for row in unary[1:]:
            best = (best[:, None] + transition).max(axis=0) + row
        found = chain.maximize(unary, transition)
        assert chain.score(unary, transition, found) == pytest.approx(best.max(), rel=1e-12)


@pytest.mark.parametrize("n_positions", [1, 2, 500])
def test_chain_of_any_length(n_positions):
    rng = np.random.default_rng(0)
    unary = rng.normal(size=(n_positions, 3))
    found = chain.maximize(unary, np.zeros((3, 3)))
    assert (found == unary.argmax(axis=1)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((4, 3)), np.eye(2)), r"transition has shape \(2, 2\); expected \(3, 3\)"),
        (([[np.nan, 1.0]], np.eye(2)), r"unary\[0, 0\] is nan"),
        (([[0.0, 1.0]], [[0.0, 0.0], [np.inf, 0.0]]), r"transition\[1, 0\] is inf"),
        ((np.zeros((0, 3)), np.eye(3)), r"unary has shape \(0, 3\)"),
        ((np.zeros(3), np.eye(3)), r"unary has shape \(3,\); expected \(n_positions, n_labels\)"),
        (([["a"]], [[0.0]]), "unary is no array of numbers"),
        ((np.zeros((2, 2)), np.eye(2), [[True, True]]), r"allowed has shape \(1, 2\)"),
    ],
)
def test_chain_refuses(arguments, message):
    with pytest.raises(InputError, match=message):
        chain.maximize(*arguments)


def test_choice_takes_lists_and_refuses_nothing():
    assert choice.maximize([0.0, 1.0]) == 1
    for theta in ([], [0.0, np.nan], [[0.0]], None):
        with pytest.raises(InputError, match="theta"):
            choice.maximize(theta)
