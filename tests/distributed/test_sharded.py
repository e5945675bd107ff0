"""Shards: one is the unsharded run, several find the same optimum, and runners do not matter."""

import signal

import numpy as np
import pytest

import blockwolfe as bw
from sharding import (
    LAM,
    TOL,
    bounded_problem,
    check_optimal,
    engine_of,
    numbers,
    optimum_of,
    problem_of,
)

TASKS = ["chain-dense", "multiclass-dense", "cut", "multiclass-python"]
INNER = ["auto", "bcfw", "bcfw+gap+pairwise+cache", "bcfw+blended+averaging"]


@pytest.mark.parametrize("n_shards", [2, 3, 8])
@pytest.mark.parametrize("name", TASKS)
def test_shards_find_the_optimum(name, n_shards):
    problem, best = problem_of(name), optimum_of(problem_of, name)
    method = bw.Sharded(n_shards, "serial")
    check_optimal(problem, best, bw.solve(problem, LAM, method, tol=TOL, random_state=0))


@pytest.mark.parametrize("inner", INNER)
def test_shards_with_any_method_inside(inner):
    problem, best = problem_of("chain-dense"), optimum_of(problem_of, "chain-dense")
    method = bw.Sharded(3, "serial", inner)
    check_optimal(problem, best, bw.solve(problem, LAM, method, tol=TOL, random_state=1))


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
def test_shards_within_bounds(name, inner):
    problem, best = bounded_problem(name), optimum_of(bounded_problem, name)
    method = bw.Sharded(3, "serial", inner)
    result = bw.solve(problem, LAM, method, tol=TOL, random_state=1)
    check_optimal(problem, best, result)
    assert (problem.blocks.lower <= result.w).all()
    assert (result.w <= problem.blocks.upper).all()


@pytest.mark.parametrize("inner", INNER)
def test_one_shard_is_the_unsharded_run(inner):
    problem = problem_of("chain-dense")
    alone = bw.solve(problem, LAM, inner, tol=TOL, random_state=2)
    sharded = bw.solve(problem, LAM, bw.Sharded(1, "threads", inner), tol=TOL, random_state=2)
    assert numbers(sharded) == numbers(alone)


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("make", [problem_of, bounded_problem])
def test_threads_give_the_same_bits(make, inner):
    problem = make("chain-dense")
    found = [
        bw.solve(problem, LAM, bw.Sharded(3, engine, inner, rounds=2), tol=TOL, random_state=3)
        for engine in ("serial", "threads")
    ]
    assert numbers(found[0]) == numbers(found[1])


@pytest.mark.parametrize("sigma", [1.0, None])
@pytest.mark.parametrize("make", [problem_of, bounded_problem])
def test_the_dual_never_decreases(make, sigma):
    problem = make("multiclass-dense")
    method = bw.Sharded(4, "serial", "bcfw+pairwise", rounds=2, sigma=sigma)
    found = bw.solve(problem, LAM, method, tol=1e-6, max_passes=60, random_state=0)
    dual = np.array([row.dual for row in found.trace])
    assert np.isfinite(dual).all()
    assert (np.diff(dual) >= -1e-12).all()


def test_a_certificate_takes_out_the_rounding_of_rounds():
    """The next rows of the trace begin at sums over blocks, not at sums of changes."""
    run = engine_of(problem_of("chain-dense"), bw.Sharded(3, "serial", "bcfw+pairwise", rounds=3))
    try:
        for _ in range(20):
            run.advance(100, lambda: True)
        added_up, certificate = run.dual(), run.certify()
        assert added_up != certificate.dual  # (else nothing is tested here)
        assert added_up == pytest.approx(certificate.dual, rel=1e-12)
        assert run.dual() == certificate.dual
    finally:
        run.end()


def check_joined(engine):
    """All shards are where w and ell say that they are."""
    v = sum(sums.v for sums in engine.runner.ask("sums"))
    assert engine.point.raw == pytest.approx(v / LAM, abs=1e-12)


def test_ctrl_c_leaves_all_shards_and_w_at_one_point(monkeypatch):
    engine = engine_of(problem_of("chain-dense"), bw.Sharded(3, "serial", "bcfw+pairwise"))
    ask = engine.runner.ask

    def interrupted(message, *args, **options):
        answers = ask(message, *args, **options)
        if message == "settle":
            signal.raise_signal(signal.SIGINT)
        return answers

    monkeypatch.setattr(engine.runner, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.advance(engine.n_blocks, lambda: True)
    monkeypatch.undo()
    assert not engine.point.raw.any()  # (w has not moved)
    engine.to_save()
    assert engine.point.raw.any()
    check_joined(engine)


@pytest.mark.parametrize("message", ["sums", "to_save"])
def test_a_round_that_was_never_joined_is_taken_back(message):
    engine = engine_of(problem_of("chain-dense"), bw.Sharded(3, "serial", "bcfw+pairwise"))
    engine.advance(engine.n_blocks, lambda: True)
    before = [shard.engine.point.store() for shard in engine.runner._shards]
    engine.runner.ask("go", engine.point.raw, 1.0, 2.0, 4, 4)
    engine.runner.ask(message)
    for shard, store in zip(engine.runner._shards, before, strict=True):
        assert shard.engine.point.store().ell == pytest.approx(store.ell, abs=1e-12)
    check_joined(engine)
