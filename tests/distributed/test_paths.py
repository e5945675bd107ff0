"""Paths and grids with shards: every lambda has the gap it is said to have."""

import os
import signal

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.distributed.engine import _shared
from blockwolfe.errors import WorkerWarning
from losing import process_ids
from sharding import problem_of
from zoo import bounded

EPS = 0.1


def check_path(problem, path):
    """Fresh certificates at breakpoints and between them, from the dual points that go with w."""
    assert path.status is bw.Status.CERTIFIED
    assert len(path) >= 2
    ends = [point.lam for point in path.breakpoints] + [3.0 * path.lam_max, path.lam_min]
    for lam in [*ends, *np.geomspace(path.lam_min, path.lam_max, 7)]:
        certificate = bw.certify(problem, path.state(problem, lam), lam)
        assert certificate.gap <= path.eps
        assert problem.primal(path.coef(lam), lam) == pytest.approx(certificate.primal, abs=1e-9)


CASES = [
    ("chain-dense", "auto"),
    ("chain-dense", "bcfw+gap+pairwise+cache"),
    ("chain-dense", "bcfw+uniform+away"),
    ("cut", "auto"),
    ("multiclass-python", "bcfw"),
]


@pytest.mark.parametrize(("name", "inner"), CASES)
def test_every_lambda_is_certified(name, inner):
    problem, method = problem_of(name), bw.Sharded(3, "serial", inner)
    path = bw.solve_path(problem, EPS, 0.3, method, random_state=0, keep_states=True)
    assert path.lam_min == 0.3
    check_path(problem, path)


def test_signs_of_weights():
    known = problem_of("chain-dense")
    problem = bw.Problem(known.task, known.X, known.Y, bounds={"transition": (0, None)})
    method = bw.Sharded(2, "serial", rounds=3)
    check_path(problem, bw.solve_path(problem, EPS, 0.1, method, random_state=0, keep_states=True))


def test_other_bounds_from_a_lambda_that_is_given():
    known = problem_of("chain-dense")
    problem = bw.Problem(known.task, known.X, known.Y, bounds=bounded(known))
    path = bw.solve_path(problem, EPS, 0.05, bw.Sharded(2, "serial"), lam_max=1.0, keep_states=True)
    assert path.lam_max == 1.0
    for point in path.breakpoints:
        lam = 0.5 * (point.lam + point.lam_end)
        certificate = bw.certify(problem, path.state(problem, lam), lam)
        assert certificate.gap == pytest.approx(path.gap(lam), abs=1e-9)
        assert certificate.gap <= path.eps


def test_a_heuristic_path():
    problem, options = problem_of("chain-dense"), {"exact": False, "random_state": 0}
    path = bw.solve_path(problem, EPS, 0.1, bw.Sharded(3, "serial", "bcfw"), **options)
    assert path.status is bw.Status.ESTIMATED
    assert len(path) >= 2


def test_engines_give_the_same_path():
    problem = problem_of("chain-dense")
    serial, threads, processes = (
        bw.solve_path(problem, EPS, 0.1, bw.Sharded(2, engine), random_state=1)
        for engine in ("serial", "threads", "processes")
    )
    for other in (threads, processes):
        assert [p.lam for p in other.breakpoints] == [p.lam for p in serial.breakpoints]
        assert other.coef(0.1).tobytes() == serial.coef(0.1).tobytes()


def test_a_problem_that_comes_as_shards():
    problem = problem_of("chain-dense")
    shards = [(problem.X[k::2], problem.Y[k::2]) for k in range(2)]
    found = bw.ShardedProblem(problem.task, shards, "serial")
    path = bw.solve_path(found, EPS, 0.1, random_state=0)
    assert path.status is bw.Status.CERTIFIED
    for point in path.breakpoints[:: max(1, len(path) // 4)]:
        lam = 0.5 * (point.lam + point.lam_end)
        best = bw.solve(problem, lam, tol=1e-6, random_state=0).certificate
        primal = problem.primal(path.coef(lam), lam)
        assert best.dual - 1e-9 <= primal <= best.primal + path.gap(lam) + 1e-9
        assert path.gap(lam) <= path.eps
    with pytest.raises(bw.OptionError, match="keep_states"):
        bw.solve_path(found, EPS, 0.1, keep_states=True)


@pytest.mark.parametrize("when", [0, 2])
def test_a_worker_that_is_lost_on_the_way(when):
    """A new one begins at a larger lambda, or at the true outputs, and comes to where others are."""
    problem, told = problem_of("multiclass-python"), []

    def kill(point):
        told.append(point)
        if len(told) == when + 1:
            os.kill(process_ids("processes")[1], signal.SIGKILL)

    method = bw.Sharded(2, "processes", "bcfw+pairwise")
    options = {"keep_states": True, "random_state": 0, "callbacks": [kill]}
    with pytest.warns(WorkerWarning, match="a new one goes on"):
        path = bw.solve_path(problem, 0.1, 1.0, method, **options)
    check_path(problem, path)


def test_a_path_goes_on_from_its_checkpoint(tmp_path):
    problem, method = problem_of("chain-dense"), bw.Sharded(2, "serial")
    options = {"eps": EPS, "lam_min": 0.1, "method": method, "random_state": 0}
    whole, told = bw.solve_path(problem, **options), []

    def interrupt(point):
        told.append(point)
        if len(told) == 2:
            raise KeyboardInterrupt

    keeping = bw.Checkpoint(tmp_path / "path.npz", every=0.0)
    assert len(whole) > 3
    bw.solve_path(problem, **options, callbacks=[interrupt], checkpoint=keeping)
    again = bw.solve_path(problem, **options, checkpoint=keeping)
    assert [p.lam for p in again.breakpoints] == [p.lam for p in whole.breakpoints]
    assert again.coef(0.1).tobytes() == whole.coef(0.1).tobytes()


@pytest.mark.parametrize("warm_start", ["primal", "dual", None])
def test_grids(warm_start):
    problem, lams = problem_of("chain-dense"), [1.0, 0.3, 0.1]
    method = bw.Sharded(2, "serial", "bcfw+pairwise")
    found = bw.solve_grid(problem, lams, warm_start, method, 0.01, random_state=0)
    for result in found:
        assert result.is_certified
        again = bw.certify(problem, result.state, result.lam, w=result.w)
        assert again.gap == pytest.approx(result.certificate.gap, abs=1e-9)


@pytest.mark.parametrize("options", [{"lams": [0.1, 1.0]}, {"eps": 0.1, "n_lams": 3}, {}])
def test_choosing_lambda(options):
    digits = bw.datasets.digit_strings(24, length=3)
    svm = bw.StructuredSVMCV(
        bw.tasks.Chain(10), cv=2, method=bw.Sharded(2), random_state=0, tol=0.1, **options
    )
    svm.fit(digits.X, digits.Y)
    assert svm.lam_ in svm.lams_
    assert svm.result_.is_certified


@pytest.mark.parametrize("n_visits", [1, 3, 4, 6, 14])
def test_short_passes_leave_no_shard_out(n_visits):
    """Together they visit each shard in proportion to its size (5, 4 and 5 once stood still)."""
    sizes, n_passes = np.array([5, 4, 5]), 70
    each = np.array([_shared(n_visits, sizes, n_visits * k) for k in range(n_passes)])
    assert (each.sum(axis=1) == n_visits).all()
    assert (each <= sizes).all()
    np.testing.assert_array_equal(each.sum(axis=0) * 14, n_passes * n_visits * sizes)
