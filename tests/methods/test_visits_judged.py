"""Visits judge the oracle as certificates do: one that is caught certifies nothing afterwards."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.problem.python_task import PythonScratch
from blockwolfe.rules.sampling import Sampling
from dense import Enumerated, enumerated_data

LAM = 0.05


class Lying(Enumerated):
    """While it lies it gives the truth, which is no better than what is known already."""

    lies = False

    def augmented_decode(self, x, y, w):
        return int(y) if self.lies else super().augmented_decode(x, y, w)


def lying():
    task, X, Y = enumerated_data()
    task = Lying(task.costs, task.n_features)
    return task, bw.Problem(task, list(X), list(Y))


@pytest.mark.parametrize(
    "method", ["bcfw+cyclic", "bcfw+cyclic+pairwise", bw.BCFW(bw.Cyclic(), batch_size=3)]
)
def test_an_oracle_that_is_caught_in_a_visit_certifies_nothing(method):
    task, problem = lying()
    engine = engine_of(problem, method, LAM)
    for _ in range(2):
        engine.advance(5, lambda: True)
    before = engine.certify()
    assert before.exact
    task.lies = True
    engine.advance(5, lambda: True)
    task.lies = False
    assert (engine.gaps == 0.0).sum() >= 3  # (a gap below zero is no gap)
    after = engine.certify()
    assert after.gap > 0.0
    assert not after.exact
    assert not after.valid


def test_an_oracle_that_is_a_little_worse_than_the_truth_is_refused():
    """At a w where the truth is better than any other output by 1e-9, another one is given."""

    class Worse(Enumerated):
        def augmented_decode(self, x, y, w):
            return 1 - int(y)

    X = [np.array([[1.0, 0.0], [0.0, 1.0]])] * 2
    costs = np.array([[0.0, 0.5], [0.5, 0.0]])
    problem, w = bw.Problem(Worse(costs, 2), X, [0, 0]), np.array([0.5 + 1e-9, 0.0])
    with pytest.raises(bw.OracleError, match="below that of the true output"):
        problem.primal(w, LAM)
    assert problem.primal(w - [2e-9, 0.0], LAM) > 0.0  # (and there it is right)


def test_estimates_are_never_negative():
    task, problem = lying()
    engine = engine_of(problem, "bcfw+cyclic", LAM)
    for _ in range(2):
        engine.advance(5, lambda: True)
    task.lies = True
    certificate = engine.certify()
    assert (certificate.block_gaps < 0.0).any()
    assert not certificate.valid
    assert (engine.gaps >= 0.0).all()


@pytest.mark.parametrize("method", ["bcfw+cyclic", "bcfw+cyclic+pairwise", "bcfw+cyclic+cache"])
def test_large_terms_that_cancel_are_no_fault_of_the_oracle(method):
    """A feature of 1e9 that all outputs share, its weight held at -1: scores are near -1e9."""
    task, X, Y = enumerated_data(n_features=6)
    X[:, :, 0] = 1e9
    bounds = [-1.0, *[-np.inf] * 5], [-1.0, *[np.inf] * 5]
    problem = bw.Problem(task, list(X), list(Y), bounds=bounds)
    engine = engine_of(problem, method, LAM)
    for _ in range(30):
        engine.advance(5, lambda: True)
    assert engine.ledger.counts.violations == 0
    assert engine.certify().valid


def test_an_answer_is_for_the_w_that_it_was_asked_at():
    task, X, Y = enumerated_data()
    oracle = bw.Problem(task, list(X), list(Y)).blocks.data
    scratch, w = PythonScratch(), np.arange(8.0)
    scratch.put_answers(oracle.method, w, [0, 1], ["kept", "kept too"])
    assert scratch.answer(oracle, 0, w.copy()) == "kept"
    elsewhere = w + 1.0
    assert scratch.answer(oracle, 1, elsewhere) == oracle.ask(1, elsewhere)
    scratch.put_answers("rough_decode", w, [0], ["by another oracle"])
    assert scratch.answer(oracle, 0, w) == oracle.ask(0, w)


def test_a_task_may_look_at_w_and_not_change_it():
    class Writing(Enumerated):
        def augmented_decode(self, x, y, w):
            found = super().augmented_decode(x, y, w)
            w[:] = 0.0
            return found

    task, X, Y = enumerated_data()
    problem = bw.Problem(Writing(task.costs, task.n_features), list(X), list(Y))
    with pytest.raises(ValueError, match="read-only"):
        bw.solve(problem, LAM)


def test_without_a_gap_to_compare_with_the_oracle_is_called():
    """A threshold of zero would let rounding noise pass for a hit, for ever."""
    task, X, Y = enumerated_data()
    problem = bw.Problem(task, list(X), list(Y))
    engine = engine_of(problem, bw.BCFW(bw.Cyclic(), bw.Pairwise(), bw.Cache()), LAM)
    for _ in range(4):
        engine.advance(5, lambda: True)
    engine.ledger.put(gap=np.zeros(5))
    engine.ledger.total_gap = 0.0
    before = engine.counts
    engine.advance(5, lambda: True)
    assert engine.counts.oracle_calls == before.oracle_calls + 5
    assert engine.counts.cache_hits == before.cache_hits


def test_the_slack_of_bounds_is_no_progress_to_be_made():
    """The gap that the cache compares with is that of the outputs that were found."""

    class Loose(Enumerated):
        exact = False

        def augmented_decode_bound(self, x, y, w):
            best = self.augmented_decode(x, y, w)
            return best, float(x[best] @ w + self.costs[y, best]) + 0.2

    task, X, Y = enumerated_data()
    problem = bw.Problem(Loose(task.costs, task.n_features), list(X), list(Y))
    engine = engine_of(problem, "bcfw+cyclic+cache", LAM)
    engine.advance(5, lambda: True)
    certificate = engine.certify()
    assert certificate.slack == pytest.approx(0.2)
    assert engine.ledger.total_gap == pytest.approx(certificate.gap - 0.2)
    assert engine.gap_estimate == pytest.approx(certificate.gap - 0.2)


def test_a_block_is_once_in_a_batch():
    """Its second corner would be of the w before its first step."""

    @dataclass(frozen=True)
    class Twice(Sampling):
        name: ClassVar[str] = "twice"
        words: ClassVar[str] = "twice"

        def order(self, n_blocks, rng):
            return np.array([3, 0, 0, 3, 1])

    task, X, Y = enumerated_data()
    problem = bw.Problem(task, list(X), list(Y))
    engine = engine_of(problem, bw.BCFW(Twice(), batch_size=5), LAM)
    engine.advance(5, lambda: True)
    assert (engine.counts.visits, engine.counts.oracle_calls) == (3, 3)
    assert (engine.ledger.notes.last_visit >= 0).tolist() == [True, True, False, True, False]
