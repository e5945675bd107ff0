"""Chains of any order equal enumeration, ties and masks included; of order 1, those of `chain`."""

import itertools

import numpy as np
import pytest

from blockwolfe.errors import InputError
from blockwolfe.structures import chain, higher_chain

SETS_OF_ORDERS = [(1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]


def drawn(rng, n_positions, n_labels, orders):
    """Few values, so that there are many ties; and a mask that allows something everywhere."""
    unary = rng.integers(-2, 3, size=(n_positions, n_labels)).astype(float)
    tables = {j: rng.integers(-2, 3, size=(n_labels,) * (j + 1)).astype(float) for j in orders}
    allowed = rng.random(unary.shape) < 0.6
    allowed[np.arange(n_positions), rng.integers(n_labels, size=n_positions)] = True
    return unary, tables, allowed


def plain_score(unary, tables, y):
    """By the definition, run by run."""
    total = sum(unary[t, label] for t, label in enumerate(y))
    for order, table in tables.items():
        total += sum(table[tuple(y[t - order : t + 1])] for t in range(order, len(y)))
    return total


def first_of_the_best(unary, tables, outputs):
    """What ties resolve to: the first of the last labels, then the lowest before them."""
    order = max(tables)
    best = max(plain_score(unary, tables, y) for y in outputs)
    winners = [y for y in outputs if plain_score(unary, tables, y) == best]
    return min(winners, key=lambda y: (y[-order:], tuple(reversed(y[:-order]))))


@pytest.mark.parametrize("orders", SETS_OF_ORDERS, ids=str)
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4])
@pytest.mark.parametrize("n_positions", [1, 2, 3, 4, 5])
def test_equals_enumeration(n_positions, n_labels, orders):
    rng = np.random.default_rng([n_positions, n_labels, *orders])
    for _ in range(2 if n_labels**n_positions > 200 else 10):
        unary, tables, allowed = drawn(rng, n_positions, n_labels, orders)
        for mask in (None, allowed):
            outputs = list(chain.enumerate_outputs(n_positions, n_labels, mask))
            found = tuple(higher_chain.maximize(unary, tables, mask).tolist())
            assert found == first_of_the_best(unary, tables, outputs)
            assert higher_chain.score(unary, tables, found) == plain_score(unary, tables, found)


@pytest.mark.parametrize("n_labels", range(1, 14))
def test_of_many_labels_equals_a_plain_recursion(n_labels):
    """Rows are combined in fours; every remainder must be right."""
    rng = np.random.default_rng(n_labels)
    unary = rng.normal(size=(7, n_labels))
    pairs, triples = rng.normal(size=(n_labels,) * 2), rng.normal(size=(n_labels,) * 3)
    best = unary[0][:, None] + unary[1] + pairs
    for row in unary[2:]:
        best = (best[:, :, None] + triples).max(axis=0) + pairs + row
    tables = {2: triples, 1: pairs}
    found = higher_chain.maximize(unary, tables)
    assert higher_chain.score(unary, tables, found) == pytest.approx(best.max(), rel=1e-12)


def test_order_one_is_the_chain():
    rng = np.random.default_rng(0)
    for n_positions, n_labels in itertools.product((1, 2, 9), (1, 3, 8)):
        unary, tables, allowed = drawn(rng, n_positions, n_labels, (1,))
        expected = chain.maximize(unary, tables[1], allowed)
        np.testing.assert_array_equal(higher_chain.maximize(unary, tables, allowed), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((4, 3)), {2: np.eye(3)}), r"tables\[2\] has shape \(3, 3\); expected"),
        ((np.zeros((4, 3)), {1: np.eye(2)}), r"tables\[1\] has shape \(2, 2\); expected \(3, 3\)"),
        ((np.zeros((4, 3)), {0: np.zeros(3)}), r"the orders \[0\]; expected a table for"),
        ((np.zeros((4, 3)), {}), r"the orders \[\]; expected a table for at least one order"),
        ((np.zeros((4, 3)), {"1": np.eye(3)}), r"the orders \['1'\]"),
        ((np.zeros((4, 1)), {1: [[np.nan]]}), r"tables\[1\]\[0, 0\] is nan"),
        ((np.zeros((0, 3)), {1: np.eye(3)}), r"unary has shape \(0, 3\)"),
        ((np.zeros((2, 2)), {1: np.eye(2)}, [[True, True]]), r"allowed has shape \(1, 2\)"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(InputError, match=message):
        higher_chain.maximize(*arguments)
