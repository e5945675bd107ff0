"""With kernel="linear" a task is the linear task: the same steps, certificates and predictions."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.methods.registry import as_method
from kernel_twins import TWINS, assert_within_certificates, made
from zoo import METHODS as ALL_METHODS
from zoo import PRIMAL_METHODS

LAM = 0.3
REFUSED = ("conjugate", "sharded")  # (which need w itself, and rows of other shards)
METHODS = [method for method in ALL_METHODS if not any(word in method for word in REFUSED)]
# Steps to a stored corner: after an exact step two of them are equally good, and rounding decides.
TIED = ("pairwise+cache", "corrective", "cutting_plane+n")
SAME = [method for method in METHODS if not method.endswith(TIED)]

pair = cache(lambda name: (made(name), made(name, kernel="linear")))


def chosen(name, method):
    """The method; where a task has bounds, with the search along a line that kernels take."""
    found = as_method(method)
    has_search = name == "cut" and isinstance(found, bw.BCFW)
    return replace(found, line_search="safe") if has_search else found


def both(name, method, **options):
    """Results of the linear task, and of the one with a kernel."""
    given = {"lam": LAM, "tol": 1e-12, "max_passes": 3, "random_state": 0} | options
    return [bw.solve(problem, method=chosen(name, method), **given) for problem in pair(name)]


def assert_same_certificate(linear, kernel):
    for name in ("primal", "dual", "gap"):
        found, expected = (getattr(result.certificate, name) for result in (kernel, linear))
        assert found == pytest.approx(expected, abs=1e-9, nan_ok=True), name
    gaps = [result.certificate.block_gaps for result in (kernel, linear)]
    np.testing.assert_allclose(*gaps, atol=1e-9)


def assert_same_predictions(name, linear, kernel):
    problems = pair(name)
    found, expected = (
        problem.task.predict(problem.X, result.w)
        for problem, result in zip(problems, (linear, kernel), strict=True)
    )
    for y, y_hat in zip(found, expected, strict=True):
        np.testing.assert_array_equal(y, y_hat)


@pytest.mark.parametrize("method", ["bcfw", "bcfw+predefined", "bcfw+averaging+uniform"])
@pytest.mark.parametrize("name", TWINS)
def test_every_task_takes_the_same_steps(name, method):
    results = both(name, method)
    assert_same_certificate(*results)
    assert_same_predictions(name, *results)


@pytest.mark.parametrize("method", SAME)
@pytest.mark.parametrize("name", ["chain", "tree"])
def test_every_method_takes_the_same_steps(name, method):
    assert_same_certificate(*both(name, method))


@pytest.mark.parametrize("method", [*METHODS, "bcfw+pairwise", "bcfw+cache", "bcfw+away+cache"])
@pytest.mark.parametrize("name", ["chain", "multiclass"])
def test_every_method_takes_the_same_first_pass_and_comes_to_the_same_optimum(name, method):
    assert_same_certificate(*both(name, method, max_passes=1))
    linear, kernel = both(name, method, tol=1e-2, max_passes=400)
    if not method.endswith("predefined"):
        assert {result.status for result in (linear, kernel)} == {bw.Status.CERTIFIED}
    assert_within_certificates(linear, kernel)


def test_joint_steps_within_the_bounds_of_a_task_come_to_the_same_optimum():
    """(Without a kernel they search exactly, with one they do not.)"""
    assert_within_certificates(*both("cut", "fw", tol=0.05, max_passes=5000))


@pytest.mark.parametrize("method", PRIMAL_METHODS)
@pytest.mark.parametrize("name", ["chain", "tree"])
def test_methods_without_a_dual_have_the_same_objective(name, method):
    linear, kernel = both(name, method)
    assert kernel.certificate.primal == pytest.approx(linear.certificate.primal, abs=1e-9)
    assert_same_predictions(name, linear, kernel)


@pytest.mark.parametrize("method", ["cutting_plane", "bundle"])
@pytest.mark.parametrize("name", ["chain", "multiclass"])
def test_joint_cutting_planes_are_the_same(name, method):
    assert_same_certificate(*both(name, method, max_passes=5))


def test_sample_weights_and_threads():
    weight = [1, 2, 0, 3, 1, 1, 5, 1]
    problems = [made("chain", weight), made("chain", weight, kernel="linear")]
    options = {"lam": LAM, "max_passes": 3, "tol": 1e-12, "random_state": 0}
    linear, kernel = (bw.solve(problem, **options, method="bcfw") for problem in problems)
    assert_same_certificate(linear, kernel)
    assert kernel.certificate.block_gaps[2] == 0.0
    shared = bw.solve(problems[1], **options, method="bcfw", n_jobs=2)
    np.testing.assert_array_equal(shared.w, kernel.w)


def test_batches_of_oracle_calls():
    method = bw.BCFW(batch_size=3)
    assert_same_certificate(*both("chain", method))


def test_the_path_has_the_same_breakpoints():
    linear, kernel = (
        bw.solve_path(problem, 0.3, 0.3, "bcfw", random_state=0) for problem in pair("chain")
    )
    assert len(kernel.breakpoints) == len(linear.breakpoints) > 3
    for found, expected in zip(kernel.breakpoints, linear.breakpoints, strict=True):
        assert found.lam == pytest.approx(expected.lam, rel=1e-9)
        assert found.gap == pytest.approx(expected.gap, abs=1e-9)
    lam = kernel.breakpoints[2].lam
    problem = pair("chain")[1]
    primal = problem.primal(kernel.coef(lam), lam)
    assert primal == pytest.approx(pair("chain")[0].primal(linear.coef(lam), lam), abs=1e-9)


def test_a_grid_begins_each_lambda_where_the_last_one_ended():
    lams = [1.0, 0.5, 0.2]
    linear, kernel = (
        bw.solve_grid(problem, lams, tol=1e-12, method="bcfw", max_passes=2, random_state=0)
        for problem in pair("chain")
    )
    for found, expected in zip(kernel, linear, strict=True):
        assert_same_certificate(expected, found)


def test_bounds_on_transitions_come_to_the_same_optimum():
    bounds = {"transition": (-0.05, 0.02)}
    problems = [made("chain", bounds=bounds), made("chain", bounds=bounds, kernel="linear")]
    exact = [bw.solve(problem, LAM, tol=1e-3, random_state=0) for problem in problems]
    method = bw.BCFW(line_search="safe")
    few = [
        bw.solve(problem, LAM, method=method, max_passes=3, tol=1e-12, random_state=0)
        for problem in problems
    ]
    assert_same_certificate(*few)
    assert_within_certificates(*exact)
    transition = exact[1].w[problems[1].task.groups["transition"]]
    assert transition.min() >= -0.05
    assert transition.max() <= 0.02
    assert {-0.05, 0.02} <= set(transition.tolist())
