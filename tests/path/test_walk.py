"""The walk by an own task of a few outputs: every number of a path, by enumeration."""

import itertools

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.methods.dual_engine import DualEngine
from blockwolfe.path.weights import Weights
from dense import Dense, enumerated_data

EPS, LAM_MIN = 0.1, 0.02
METHODS = ["bcfw", "fw", "bcfw+gap+pairwise+cache"]


def problem_of():
    task, X, Y = enumerated_data(n=6, seed=3)
    return bw.Problem(task, list(X), list(Y), sample_weight=[1, 2, 1, 3, 1, 1])


@pytest.mark.parametrize("method", METHODS)
def test_gaps_carried_to_the_next_lambda_are_those_of_a_new_certificate(method, monkeypatch):
    problem, carried, move = problem_of(), [], DualEngine.shrink

    def shrink(self, rho, gap):
        move(self, rho, gap)
        fresh = bw.certify(problem, self.state(), self.lam)
        carried.append((np.maximum(gap, 0.0), fresh.block_gaps))
        np.testing.assert_allclose(self.gaps, carried[-1][0])

    monkeypatch.setattr(DualEngine, "shrink", shrink)
    bw.solve_path(problem, EPS / problem.unit, LAM_MIN, method, random_state=0)
    assert len(carried) > 5
    for told, true in carried:
        np.testing.assert_allclose(told, true, rtol=1e-7, atol=1e-10)


def test_estimates_carried_to_the_next_lambda_grow_by_their_slopes(monkeypatch):
    problem, carried, move = problem_of(), [], DualEngine.shrink

    def shrink(self, rho, gap):
        carried.append((gap - self.gaps, (1.0 - rho) * np.maximum(self.slopes(), 0.0)))
        move(self, rho, gap)

    monkeypatch.setattr(DualEngine, "shrink", shrink)
    method = bw.BCFW(certify_every=10_000)  # (a full pass would renew them)
    bw.solve_path(problem, EPS / problem.unit, LAM_MIN, method, exact=False, random_state=0)
    assert len(carried) > 5
    for grown, slopes in carried[1:]:  # (the first comes from the certificate of the beginning)
        np.testing.assert_allclose(grown, slopes, rtol=1e-9, atol=1e-14)
    assert max(slopes.max() for _, slopes in carried) > 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_every_number_of_a_path(method):
    problem = problem_of()
    path = bw.solve_path(
        problem, EPS / problem.unit, LAM_MIN, method, random_state=0, keep_states=True
    )
    assert path.status is bw.Status.CERTIFIED
    assert path.lam_min == LAM_MIN
    points = path.breakpoints
    for k, point in enumerate(points):
        w = path.weights[k]
        assert point.gap <= path.kappa * EPS
        assert point.primal == pytest.approx(problem.primal(w, point.lam), rel=1e-9)
        assert point.primal - point.dual == pytest.approx(point.gap, abs=1e-12)
        for lam in np.linspace(max(point.lam_end, LAM_MIN), point.lam, 4)[:-1]:
            found = bw.certify(problem, path.state(problem, lam), lam)
            assert found.gap <= EPS
            assert found.gap == pytest.approx(point.gap_at(lam), abs=1e-9)
            np.testing.assert_allclose(found.lam, lam)
        if k + 1 < len(points):  # as far as eps allows, and there the next one begins
            assert point.gap_at(point.lam_end) == pytest.approx(EPS, rel=1e-6)
            assert points[k + 1].lam == pytest.approx(point.lam_end, rel=1e-12)
        inside = (point.lam_end + point.lam) / 2
        assert path.index(inside) == k
        assert path.index(point.lam_end) == k  # (a w serves its whole interval, the end included)


def test_above_the_first_breakpoint():
    problem = problem_of()
    path = bw.solve_path(
        problem, EPS / problem.unit, LAM_MIN, "bcfw", random_state=0, keep_states=True
    )
    for factor in (1.5, 4.0, 100.0):
        lam = factor * path.lam_max
        certificate = bw.certify(problem, path.state(problem, lam), lam)
        assert certificate.gap <= path.gap(lam) + 1e-9
        assert path.gap(lam) == pytest.approx(path.kappa * EPS / factor)
        np.testing.assert_allclose(path.coef(lam), path.start / lam)
        assert certificate.primal == pytest.approx(problem.primal(path.coef(lam), lam), rel=1e-9)


def test_the_first_breakpoint_is_the_closed_form():
    """lam_inf = (|psibar|^2 + theta) / (kappa eps), both terms there."""
    problem = problem_of()
    dense = Dense(problem, 1.0, bw.BCFW())
    worst = [int(np.argmax(loss)) for loss in dense.loss]
    pairs = list(zip(dense.weight, dense.psi, worst, strict=True))
    psibar = sum(weight * psi[y] for weight, psi, y in pairs)
    theta = sum(weight * (-psi @ psibar).max() for weight, psi, _ in pairs)
    path = bw.solve_path(problem, EPS / problem.unit, LAM_MIN, "bcfw", random_state=0, max_passes=2)
    assert theta > 0.1 * psibar @ psibar
    assert path.lam_max == pytest.approx((psibar @ psibar + theta) / (0.9 * EPS), rel=1e-7)


@pytest.mark.parametrize("exact", [True, False])
def test_the_path_goes_to_zero_only_where_one_w_serves_all_that_is_left(exact):
    task, X, Y = enumerated_data(n=4, n_features=30, seed=0)  # separable
    problem = bw.Problem(task, list(X), list(Y))
    path = bw.solve_path(
        problem, EPS / problem.unit, None, "bcfw", exact=exact, random_state=0, keep_states=True
    )
    assert path.lam_min == 0.0
    assert path.breakpoints[-1].gap_at(0.0) <= EPS
    assert all(point.gap_at(0.0) > EPS for point in path.breakpoints[:-1])
    if exact:
        assert bw.certify(problem, path.state(problem, 1e-9), 1e-9).gap <= EPS


def test_a_path_that_goes_on_to_a_smaller_lambda_has_every_breakpoint_once(tmp_path):
    """Its last one was cut at lam_min: it is made anew, and serves as far as eps allows."""
    problem, options = problem_of(), {"method": "bcfw", "random_state": 0}
    whole = bw.solve_path(problem, EPS / problem.unit, LAM_MIN, **options)
    kept = options | {"checkpoint": tmp_path / "path.npz"}
    first = bw.solve_path(problem, EPS / problem.unit, 0.2, **kept)
    again = bw.solve_path(problem, EPS / problem.unit, LAM_MIN, **kept)
    assert first.lam_min == 0.2
    assert again.lam_min == LAM_MIN
    lams = [point.lam for point in again.breakpoints]
    assert len(set(lams)) == len(lams)
    assert lams == [point.lam for point in whole.breakpoints]
    for before, after in itertools.pairwise(again.breakpoints):
        assert after.lam == pytest.approx(before.lam_end, rel=1e-12)


def test_weights_come_back_bit_by_bit_also_after_a_cut():
    rng = np.random.default_rng(0)
    vectors = list(rng.normal(size=(5, 5)))
    vectors[3] = vectors[2] + 1e-5  # a change far above rounding
    weights = Weights(5)
    for w in vectors[:4]:
        weights.append(w)
    weights.truncate(2)
    del vectors[2]
    for w in vectors[2:]:  # (the first is what was there last before the cut)
        weights.append(w)
    vectors.append(
        vectors[3] + 1e-9
    )  # (beside one that is kept: it must not be taken for rounding)
    vectors[4][1] = 0.0  # (and one back to zero)
    again = Weights.from_arrays(5, weights.to_arrays())
    for kept in (weights, again):
        kept.append(vectors[4])
        for k in (4, 0, 3, 2, 1):
            np.testing.assert_array_equal(kept[k], vectors[k])
