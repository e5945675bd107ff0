"""Every visit of every step rule against the same mathematics written anew with dense arrays."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.methods.bcfw.engine import NO_BATCH
from blockwolfe.methods.bcfw.rules import FROM_STOCK
from blockwolfe.rules.sampling import Draws, Sampling
from blockwolfe.running.engine import CapTooSmallError
from dense import Dense, enumerated_data
from zoo import chain_data

LAM = 0.05
N_VISITS = 60


def order_of_visits():
    """Never a block twice in a row: a block at its optimum has corners of equal height, and slopes
    of zero up to rounding."""
    rng, found = np.random.default_rng(7), [0]
    while len(found) < N_VISITS:
        found.append((found[-1] + int(rng.integers(1, 5))) % 5)
    return np.array(found)


ORDER = order_of_visits()


@dataclass(frozen=True)
class OneByOne(Sampling):
    """A pass is one visit, to the next block of a list."""

    name: ClassVar[str] = "one"
    words: ClassVar[str] = "one by one"

    def draws(self, gap, n_draws, rng):
        return Draws(ORDER[n_draws : n_draws + 1], np.zeros(1))


def enumerated(**options):
    task, X, Y = enumerated_data()
    return bw.Problem(task, list(X), list(Y), sample_weight=[1, 2, 1, 0.5, 3], **options)


def chain(**options):
    X, Y = chain_data(n=5, longest=3)
    return bw.Problem(
        bw.tasks.Chain(3, task_loss=bw.tasks.CostMatrix(COSTS, normalize=True)), X, Y, **options
    )


LOWER = [-0.4, 0.0, -np.inf, 0.2, -np.inf, -0.1, 0.0, -1.0]
UPPER = [0.3, np.inf, 0.1, 0.5, np.inf, 0.1, 0.4, 2.0]
COSTS = [[0, 0.7, 1.3], [1.9, 0, 0.4], [0.9, 2.1, 0]]
PROBLEMS = {
    "python": enumerated,
    "python-bounded": lambda: enumerated(bounds=(LOWER, UPPER)),
    "chain": chain,
    "chain-bounded": lambda: chain(bounds={"transition": (0, 0.2), "emission": (-0.1, 0.3)}),
}  # fmt: skip
STEPS = {
    "forward": bw.FW(),
    "predefined": bw.FW(line_search=False),
    "pairwise": bw.Pairwise(),
    "away": bw.Away(),
    "best": bw.BestOf(),
    "blended": bw.BlendedPairwise(),
    "corrective": bw.Corrective(max_steps=1),
}
CACHES = {
    "cache": bw.Cache(F=0.5, nu=0.3),
    "cap": bw.Cache(F=0.7, nu=0.05, max_corners=4),
}


def method_of(step, cache, **options):
    return bw.BCFW(OneByOne(), STEPS[step], CACHES.get(cache), **options)


def rows_of(engine, i):
    stock = engine.point.arrays.stock
    rows = slice(stock.start[i], stock.start[i] + stock.n_rows[i])
    return np.array(sorted(zip(stock.loss[rows], stock.weight[rows], strict=True)))


def assert_alike(engine, dense):
    """The same point, estimates, counts and stored corners."""
    close = {"rtol": 1e-8, "atol": 1e-10}
    np.testing.assert_allclose(engine.w, dense.w, **close)
    np.testing.assert_allclose(engine.point.arrays.ell, dense.ell, **close)
    np.testing.assert_allclose(engine.ledger.gap, dense.estimate, **close)
    counts = engine.counts
    found = (counts.visits, counts.oracle_calls, counts.cache_hits)
    assert found == (dense.visits, dense.calls, dense.hits)
    assert counts.drops == dense.drops or isinstance(engine.method.step, bw.BestOf)
    assert engine.dual() == pytest.approx(dense.dual(), rel=1e-10)
    if engine.point.keeps_corners:
        for i, stored in enumerate(dense.stored):
            wanted = sorted((dense.loss[i][y], dense.alpha[i][y]) for y in stored)
            np.testing.assert_allclose(rows_of(engine, i), wanted, **close)


def assert_certificate(certificate, dense):
    """All its numbers, by enumeration."""
    w = dense.w
    assert certificate.primal == pytest.approx(dense.primal(w), rel=1e-12)
    assert certificate.dual == pytest.approx(dense.dual(), rel=1e-10)
    assert certificate.gap == pytest.approx(dense.primal(w) - dense.dual(), rel=1e-8, abs=1e-12)
    np.testing.assert_allclose(certificate.block_gaps, dense.gaps(), rtol=1e-8, atol=1e-12)
    assert certificate.block_gaps.sum() >= certificate.gap - 1e-12
    assert certificate.exact
    assert certificate.lam == dense.lam


def run(engine, dense, n_visits=N_VISITS, certify_every=13):
    """Visit by visit, up to the first choice between equals, or a full block; how many."""
    for k in range(n_visits):
        dense.begin_pass()
        dense.visit(ORDER[k])
        if dense.is_full:
            with pytest.raises(CapTooSmallError):
                engine.advance(1, lambda: True)
        if dense.is_full or not dense.is_clear:
            return k
        engine.advance(1, lambda: True)
        assert_alike(engine, dense)
        if k % certify_every == certify_every - 1:
            certificate = engine.certify()
            assert_certificate(certificate, dense)
            dense.certify()
            assert_alike(engine, dense)
    return n_visits


def pair(name, method, lam=LAM):
    problem = PROBLEMS[name]()
    return engine_of(problem, method, lam), Dense(problem, lam, method)


@pytest.mark.parametrize("cache", ["none", *CACHES])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_visit_is_that_of_the_mathematics(name, step, cache):
    engine, dense = pair(name, method_of(step, cache))
    assert run(engine, dense) >= (3 if step == "corrective" else 11)


@pytest.mark.parametrize("name", ["python-bounded", "chain-bounded"])
def test_safe_steps_are_those_of_the_mathematics(name):
    engine, dense = pair(name, method_of("pairwise", "none", line_search="safe"))
    assert run(engine, dense) > 40


@pytest.mark.parametrize("step", ["forward", "pairwise", "predefined"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_average_is_that_of_all_iterates(name, step):
    """Also with its certificate, and where corners are stored; steps go on from the iterate."""
    engine, dense = pair(name, method_of(step, "none", averaging=True))
    for k in range(25):
        dense.begin_pass()
        dense.visit(ORDER[k])
        engine.advance(1, lambda: True)
        assert_alike(engine, dense)
        v, ell = dense.average()
        state = engine.state()
        np.testing.assert_allclose(state.v, v, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(state.ell, ell, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(engine.last_state().v, dense.v, rtol=1e-8, atol=1e-10)
        if k % 8 == 7:
            certificate, w = engine.certify(), dense.weights_of(v)
            assert certificate.primal == pytest.approx(dense.primal(w), rel=1e-9)
            assert certificate.dual == pytest.approx(dense.dual(v, ell), rel=1e-8)
            np.testing.assert_allclose(engine.certified_w, w, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(engine.w, dense.w, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("step", ["forward", "pairwise", "away"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_batch_is_of_one_w_and_its_steps_are_exact(name, step):
    method = bw.BCFW(bw.Cyclic(), STEPS[step], batch_size=3)
    engine, dense = pair(name, method)
    for _ in range(5):
        found = []
        for i in range(5):
            if i % 3 == 0:  # the corners of blocks 0, 1, 2, and then of 3, 4
                w, gaps = dense.w, dense.gaps()
                decode = dense.task.augmented_decode
                found = [dense._number(j, decode(dense.X[j], dense.Y[j], w)) for j in range(5)]
            dense.estimate[i] = gaps[i]
            dense.calls += 1
            dense.visit(i, found=found[i])
        if not dense.is_clear:
            return
        engine.advance(5, lambda: True)
        assert_alike(engine, dense)


@pytest.mark.parametrize("name", PROBLEMS)
def test_passes_over_stored_corners_move_to_the_best_of_them(name):
    method = method_of("pairwise", "cache")
    engine, dense = pair(name, method)
    run(engine, dense, 30)
    rows, order = dense.visits, np.arange(5)
    if not dense.is_clear:
        return
    for _ in range(2):
        for i in order:
            dense.visit(i, source="stock")
        engine._visit(Draws(order, np.zeros(5)), 0, FROM_STOCK, NO_BATCH)
        assert_alike(engine, dense)
    assert dense.visits == rows + 10


@pytest.mark.parametrize("cache", ["none", "cache"])
@pytest.mark.parametrize("step", ["forward", "pairwise"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_smaller_lambda_at_the_same_w(name, step, cache):
    """Weights go to the truth, w and the bounds stay, and the gaps are those of a new certificate."""
    engine, dense = pair(name, method_of(step, cache))
    n, rho = run(engine, dense, 20), 0.7
    engine.certify()
    dense.certify()
    w, hinge = engine.w.copy(), dense.weight * dense.hinges(dense.w)
    np.testing.assert_allclose(dense.weight * engine.hinge, hinge, rtol=1e-9, atol=1e-12)
    slopes = dense.slopes()
    np.testing.assert_allclose(engine.slopes(), slopes, rtol=1e-8, atol=1e-10)
    gap = dense.gaps() + (1 - rho) * slopes
    np.testing.assert_allclose(gap, rho * dense.gaps() + (1 - rho) * hinge, rtol=1e-8, atol=1e-10)
    engine.shrink(rho, gap)
    dense.shrink(rho)
    dense.estimate, dense.total_gap = np.maximum(gap, 0.0), gap.sum()
    np.testing.assert_allclose(dense.w, w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(dense.gaps(), gap, rtol=1e-7, atol=1e-9)
    assert_alike(engine, dense)
    assert_certificate(engine.certify(), dense)
    dense.certify()
    for k in range(n, n + 5):  # and steps go on from there
        dense.begin_pass()
        dense.visit(ORDER[k])
        if dense.is_clear:
            engine.advance(1, lambda: True)
            assert_alike(engine, dense)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("has_search", [True, False])
def test_joint_steps_are_those_of_batch_frank_wolfe(name, has_search):
    """All corners at one w, one step for all: exact along the line, or 2 / (k + 2)."""
    engine, dense = pair(name, bw.FrankWolfe(line_search=has_search))
    for k in range(12):
        assert_certificate(engine.certify(), dense)
        dense.step_jointly(None if has_search else 2 / (k + 2))
        engine.advance(5, lambda: True)
        np.testing.assert_allclose(engine.w, dense.w, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(engine.point.arrays.ell, dense.ell, rtol=1e-8, atol=1e-10)
