"""Beam search on label sequences: against a naive one, and against Viterbi where it is exact."""

import itertools

import numpy as np
import pytest

from blockwolfe.structures import chain, chain_beam, higher_chain


def naive(unary, tables, order, width):
    """Prefixes as tuples; tables[j] has a score for every run of j + 1 labels."""
    beam = {(): 0.0}
    for t, k_scores in enumerate(unary):
        best = {}
        for prefix, score in beam.items():
            for k, own in enumerate(k_scores):
                labels = (*prefix, k)
                total = score + own
                total += sum(tables[j][labels[-j - 1 :]] for j in tables if t >= j)
                state = labels[-order:]
                if state not in best or total > best[state][1]:
                    best[state] = (labels, total)
        kept = sorted(best.values(), key=lambda found: -found[1])[:width]
        beam = dict(kept)
    return max(beam.items(), key=lambda found: found[1])[0]


def flat(tables):
    return np.concatenate([tables[j].ravel() for j in sorted(tables)])


def by_beam(unary, tables, order, width):
    n_positions, n_labels = unary.shape
    bits = sum(1 << (j - 1) for j in tables)
    kept = np.full((n_positions + 1, 2, width), 99, dtype=np.int64)  # (scratch: whatever was there)
    best, labels = np.full((n_positions, n_labels**order), 1e9), np.zeros(n_positions, dtype=int)
    chain_beam.maximize_into(unary, flat(tables), bits, kept, best, labels)
    return labels


@pytest.mark.parametrize("orders", [[1], [1, 2], [2], [1, 3]])
def test_against_a_naive_beam(orders):
    rng, order = np.random.default_rng(0), max(orders)
    for length, width in itertools.product([1, 2, 3, 7], [1, 2, 5, 3**order]):
        unary = rng.normal(size=(length, 3))
        tables = {j: rng.normal(size=(3,) * (j + 1)) for j in orders}
        found = by_beam(unary, tables, order, width)
        np.testing.assert_array_equal(found, naive(unary, tables, order, width))


@pytest.mark.parametrize("orders", [[1], [1, 2], [3]])
def test_as_wide_as_there_are_states_it_is_exact(orders):
    rng, order = np.random.default_rng(1), max(orders)
    for length in (1, 2, 4, 9):
        unary = rng.normal(size=(length, 3))
        tables = {j: rng.normal(size=(3,) * (j + 1)) for j in orders}
        bits, best = sum(1 << (j - 1) for j in orders), np.zeros((length, 3**order))
        labels = np.zeros(length, dtype=np.int64)
        higher_chain.maximize_into(unary, flat(tables), bits, best, labels)
        np.testing.assert_array_equal(by_beam(unary, tables, order, 3**order), labels)


def test_a_wider_beam_is_better_in_the_mean():
    rng = np.random.default_rng(2)
    scores = {width: [] for width in (1, 2, 4)}
    for _ in range(200):
        unary, transition = rng.normal(size=(8, 4)), 2.0 * rng.normal(size=(4, 4))
        for width, seen in scores.items():
            labels = chain_beam.maximize(unary, transition, width)
            seen.append(chain.score(unary, transition, labels))
        best = chain.score(unary, transition, chain.maximize(unary, transition))
        assert scores[4][-1] == pytest.approx(best, abs=1e-12)
        assert max(scores[1][-1], scores[2][-1]) <= best + 1e-12
    means = [np.mean(seen) for seen in scores.values()]
    assert means[0] < means[1] < means[2]


def test_labels_that_are_not_allowed_are_left_out():
    rng = np.random.default_rng(3)
    for _ in range(50):
        unary, transition = rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
        allowed = (rng.random((6, 3)) < 0.5) | np.eye(3, dtype=bool)[rng.integers(3, size=6)]
        labels = chain_beam.maximize(unary, transition, 2, allowed)
        assert allowed[np.arange(6), labels].all()
