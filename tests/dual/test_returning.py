"""A share of the way back is the mixture of both points; the average does not move."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.dual.returning import go_back, whereabouts
from blockwolfe.methods.base import Setup
from blockwolfe.methods.registry import as_method
from blockwolfe.problem.workers import Workers
from zoo import PROBLEMS

METHODS = ["bcfw", "bcfw+pairwise", "bcfw+gap+pairwise+cache", "bcfw+averaging"]
METHODS += ["bcfw+blended+averaging"]


def engine_of(problem, method):
    blocks = problem.blocks
    rng, state = np.random.default_rng(0), problem.initial_state()
    return as_method(method).start(Setup(blocks, state, 0.01, rng, Workers(blocks, 1)))


def dense(problem, store):
    """Block means as a matrix, and ell."""
    mean = np.zeros((len(problem), problem.blocks.n_parts))
    for i in range(len(problem)):
        at = slice(store.start[i], store.start[i] + store.length[i])
        mean[i, store.part[at]] = store.mean[at]
    return mean, store.ell.copy()


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
def test_the_mixture(name, method, share):
    problem = PROBLEMS[name]()
    engine = engine_of(problem, method)
    for _ in range(3):
        engine.advance(len(problem), lambda: True)
    point, there = engine.point, dense(problem, engine.point.store())
    before = whereabouts(point)
    for _ in range(4):
        engine.advance(len(problem), lambda: True)
    here, visits = dense(problem, point.store()), engine.ledger.visits
    average = dense(problem, point.store(visits)) if point.has_average else None
    assert not np.allclose(here[0], there[0])
    go_back(point, before, share, visits)
    found = dense(problem, point.store())
    for now, a, b in zip(found, here, there, strict=True):
        assert now == pytest.approx((1.0 - share) * a + share * b, abs=1e-12)
    if average is not None:
        for now, was in zip(dense(problem, point.store(visits)), average, strict=True):
            assert now == pytest.approx(was, abs=1e-10)


@pytest.mark.parametrize("method", METHODS[1:3])
def test_weights_and_losses_stay_those_of_corners(method):
    problem = PROBLEMS["chain-dense"]()
    engine = engine_of(problem, method)
    engine.advance(len(problem), lambda: True)
    before = whereabouts(engine.point)
    for _ in range(5):
        engine.advance(len(problem), lambda: True)
    go_back(engine.point, before, 0.4, engine.ledger.visits)
    state = engine.last_state()
    weight = np.add.reduceat(state.active.weight, state.active.start[:-1])
    assert weight == pytest.approx(np.ones(len(problem)))
    certificate = bw.certify(problem, state, 0.01)
    assert certificate.exact
    assert certificate.gap >= 0.0
    engine.point.check_ell(is_tidy=False)
