"""Shards around one centre: what is certified, what stays when it moves, and when there is none."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.distributed.shard import Shard
from blockwolfe.errors import WorkerWarning
from blockwolfe.methods import auto
from losing import process_ids
from sharding import (
    bounded_problem,
    check_optimal,
    engine_of,
    numbers,
    optimum_of,
    problem_of,
)
from zoo import PROBLEMS

LAM = 0.02
STRONG = bw.Catalyst(every=2, strength=10.0)
INNER = bw.BCFW(sampling=bw.GapSampling(), step=bw.Pairwise(), cache=bw.Cache(), catalyst=STRONG)
BOTH = pytest.mark.parametrize("make", [problem_of, bounded_problem])


def always():
    return True


def accelerated(problem, n_passes=5, n_shards=3, engine="serial", **options):
    """Shards in the midst of it."""
    method = bw.Sharded(n_shards, engine, INNER, rounds=2)
    found = engine_of(problem, method, lam=LAM, **options)
    for _ in range(n_passes):
        found.advance(len(problem), always)
    assert found._centre.is_at_work
    return found


# -- certificates -------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("n_shards", [2, 8])
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-dense", "cut", "multiclass-python"])
def test_the_optimum_is_between_primal_and_dual(name, n_shards, make):
    problem, method = make(name), bw.Sharded(n_shards, "serial", INNER)
    found = bw.solve(problem, LAM, method, 0.01, max_passes=3000, random_state=0)
    check_optimal(problem, optimum_of(make, name, LAM), found)


@BOTH
def test_a_gap_is_that_of_blocks_and_a_distance(make):
    """P(w) - D = sum_i g_i + lam / 2 |w - v / lam|^2, under bounds less what those cut off."""
    problem = make("chain-dense")
    engine = accelerated(problem)
    certificate = engine.certify()
    v, w, box = engine.point.v, engine.w, problem.bounds
    own = v / LAM if box is None else np.clip(v / LAM, *box)
    distance = LAM / 2 * (w @ w - own @ own) - v @ (w - own)
    assert distance > 1e-6
    assert certificate.gap == pytest.approx(certificate.block_gaps.sum() + distance, rel=1e-9)
    assert engine.gap_estimate == pytest.approx(certificate.gap, rel=1e-9)
    assert engine.dual() == pytest.approx(certificate.dual, abs=1e-12)
    assert certificate.lam == engine.lam == LAM
    other = bw.certify(problem, engine.state(), LAM)
    assert other.dual == pytest.approx(certificate.dual, abs=1e-12)
    assert other.primal == pytest.approx(certificate.primal, abs=1e-12)
    np.testing.assert_allclose(other.block_gaps, certificate.block_gaps, atol=1e-12)


@BOTH
def test_w_is_that_of_all_shards_and_the_centre(make):
    problem = make("chain-dense")
    engine = accelerated(problem)
    v = sum(sums.v for sums in engine.runner.ask("sums"))
    np.testing.assert_allclose(engine.point.v, v, atol=1e-13)
    np.testing.assert_allclose(engine.point.weights(v), engine.w, atol=1e-10)
    assert engine.point.lam == pytest.approx(engine._centre.strength * LAM)


@BOTH
def test_what_rounds_climb_never_falls(make):
    problem = make("chain-dense")
    engine, n_compared = accelerated(problem), 0
    for _ in range(20):
        if not engine._centre.is_at_work:
            break
        centre, before = engine.point.rest.copy(), engine.point.dual()
        engine.advance(len(problem), always)
        if np.array_equal(centre, engine.point.rest):
            assert engine.point.dual() >= before - 1e-13
            n_compared += 1
    assert n_compared > 2


@BOTH
def test_a_shard_climbs_what_all_of_them_climb(make, monkeypatch):
    """A single one reckons to the last digit: its visits are at s times lambda.

    Less than all of its change may be better still.
    """
    problem, n_compared, taken, settle = make("chain-dense"), 0, [], Shard.settle

    def noted(shard, coefficient):
        taken.append(coefficient)
        settle(shard, coefficient)

    monkeypatch.setattr(Shard, "settle", noted)
    shards = bw.ShardedProblem(
        problem.task, [(problem.X, problem.Y)], "serial", bounds=problem.bounds
    )
    engine = engine_of(shards, bw.Sharded(1, "serial", INNER), lam=LAM)
    for _ in range(12):
        rest, before = engine.point.rest, engine.point.dual()
        rest, taken[:] = None if rest is None else rest.copy(), []
        engine.advance(len(problem), always)
        if rest is not None and np.array_equal(rest, engine.point.rest):
            gain, own = engine.point.dual() - before, engine.row_numbers(False)["local_gain"]
            assert gain >= own * (1.0 - 1e-6) > 0.0
            if set(taken) <= {0.0, 1.0}:
                assert own == pytest.approx(gain, rel=1e-6)
                n_compared += 1
    assert n_compared > 2


# -- the same run -------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("inner", [INNER, "auto"])
def test_one_shard_is_the_unsharded_run(make, inner, monkeypatch):
    monkeypatch.setattr(auto, "CATALYST", STRONG)
    problem = make("chain-dense")
    alone, sharded = (
        bw.solve(problem, LAM, method, 1e-6, max_passes=40, random_state=2)
        for method in (inner, bw.Sharded(1, "threads", inner))
    )
    plain = bw.solve(problem, LAM, replace(INNER, catalyst=None), 1e-6, max_passes=40)
    assert numbers(plain) != numbers(alone)
    assert numbers(sharded) == numbers(alone)


@BOTH
def test_engines_give_the_same_bits(make):
    problem = make("chain-dense")
    found = [
        bw.solve(problem, LAM, bw.Sharded(3, engine, INNER), 1e-9, max_passes=12, random_state=3)
        for engine in ("serial", "threads", "processes")
    ]
    assert found[0].state.pull.strength > 1.0
    assert numbers(found[0]) == numbers(found[1]) == numbers(found[2])


@BOTH
def test_a_run_that_was_cut_goes_on_to_the_bit(make):
    problem = make("chain-dense")
    whole, cut = accelerated(problem, 9), accelerated(problem, 3)
    for k in range(6):
        moments = iter([True] * (k % 2))
        cut.advance(len(problem), lambda moments=moments: next(moments, False))
        again = accelerated(problem, 3, seed=5)
        again.restore(cut.to_save())
        assert again.gap_estimate == cut.gap_estimate
        cut = again
        while cut._rounds_left:
            cut.advance(len(problem), always)
    assert whole.counts == cut.counts
    np.testing.assert_array_equal(whole.w, cut.w)
    assert whole._centre.strength == cut._centre.strength > 1.0


@BOTH
def test_a_state_goes_on_around_its_centre(make):
    problem = make("chain-dense")
    method = bw.Sharded(3, "serial", INNER)
    first = bw.solve(problem, LAM, method, 1e-9, max_passes=6, random_state=0, point="last")
    assert first.last_state.pull.strength > 1.0
    for other in (method, bw.Sharded(2, "serial"), INNER):
        engine = engine_of(problem, other, lam=LAM, state=first.last_state)
        np.testing.assert_allclose(engine.w, first.w, atol=1e-12)
        assert engine.certify().gap == pytest.approx(first.certificate.gap, abs=1e-12)


# -- where something goes wrong --------------------------------------------------------------------


def test_ctrl_c_leaves_all_shards_and_w_at_one_point(monkeypatch):
    engine = accelerated(problem_of("chain-dense"))
    ask = engine.runner.ask

    def interrupted(message, *args, **options):
        answers = ask(message, *args, **options)
        if message == "settle":
            signal.raise_signal(signal.SIGINT)
        return answers

    monkeypatch.setattr(engine.runner, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.advance(engine.n_blocks, always)
    monkeypatch.undo()
    engine.to_save()
    v = sum(sums.v for sums in engine.runner.ask("sums"))
    np.testing.assert_allclose(engine.point.v, v, atol=1e-13)
    assert engine._centre.is_at_work


def test_the_centre_stays_where_a_worker_is_lost():
    problem = problem_of("multiclass-python")
    engine = accelerated(problem, n_shards=2, engine="processes")
    try:
        engine.certify()
        for _ in range(2):
            engine.advance(len(problem), always)
        assert engine.gap_estimate > 0.0
        rest = engine.point.rest.copy()
        os.kill(process_ids("processes")[0], signal.SIGKILL)
        with pytest.warns(WorkerWarning, match="where the shard was when it was last kept"):
            certificate = engine.certify()
        np.testing.assert_array_equal(engine.point.rest, rest)
        assert engine.gap_estimate == pytest.approx(certificate.gap, rel=1e-9)
        other = bw.certify(problem, engine.state(), LAM)
        assert other.gap == pytest.approx(certificate.gap, rel=1e-9)
    finally:
        engine.end()


def test_a_path_has_no_centre():
    problem = problem_of("chain-dense")
    inner = replace(INNER, catalyst=bw.Catalyst(every=1, strength=3.0))
    found, plain = (
        bw.solve_path(problem, 0.1, 0.05, bw.Sharded(2, "serial", some), random_state=0)
        for some in (inner, replace(inner, catalyst=None))
    )
    assert found.coef(0.05).tobytes() == plain.coef(0.05).tobytes()


# -- when it begins ----------------------------------------------------------------------------


def test_the_strength_is_the_root_of_what_steps_of_all_shards_ask_for():
    problem = PROBLEMS["chain-weighted"]()
    assert (problem.weight == 0.0).any()
    inner = replace(INNER, catalyst=bw.Catalyst())
    engine = engine_of(problem, bw.Sharded(2, "serial", inner), lam=1e-4)
    lengths = np.zeros(len(problem))
    while not engine._centre.is_at_work:
        longest = [shard.engine.ledger.notes.longest for shard in engine.runner._shards]
        for members, length in zip(engine.members, longest, strict=True):
            lengths[members] = length
        engine.advance(len(problem), always)
    counts = problem.weight > 0.0
    expected = np.sqrt((lengths[counts] / problem.weight[counts]).mean() / problem.unit / 1e-4)
    assert engine._centre.strength == pytest.approx(expected)


@pytest.mark.parametrize("n_shards", [2, 4, 8])
def test_fewer_visits_where_lambda_is_small(n_shards):
    digits = bw.datasets.digit_strings(n_strings=60)
    problem = bw.Problem(bw.tasks.Chain(10), digits.X, digits.Y)
    plain = "bcfw+gap+pairwise+cache"
    n_visits = [
        bw.solve(
            problem, 0.01, bw.Sharded(n_shards, "serial", inner), 1e-2, max_passes=2000,
            random_state=0,
        ).counts.visits
        for inner in ("auto", plain)
    ]  # fmt: skip
    assert n_visits[0] < 0.6 * n_visits[1]


def test_there_is_none_where_blocks_do_not_interfere():
    rng, n = np.random.default_rng(0), 40
    X = sp.csr_array((np.ones(6 * n), rng.integers(8_000, size=6 * n), np.arange(0, 6 * n + 1, 6)))
    X = sp.csr_array((X.data, X.indices, X.indptr), shape=(n, 8_000))
    problem = bw.Problem(bw.tasks.Multiclass(3, bias=False), X, rng.integers(3, size=n))
    inner = bw.BCFW(step=bw.Pairwise(), catalyst=bw.Catalyst())
    found, plain = (
        bw.solve(problem, 0.001, bw.Sharded(4, "serial", some), 1e-6, random_state=0)
        for some in (inner, replace(inner, catalyst=None))
    )
    np.testing.assert_array_equal(found.w, plain.w)


class Rough(bw.tasks.Chain):
    """Its oracle promises no maximum."""

    exact = False


def test_there_is_none_with_rough_oracles_nor_with_an_average(monkeypatch):
    monkeypatch.setattr(auto, "CATALYST", STRONG)
    problem = problem_of("chain-dense")
    averaging = engine_of(problem, bw.Sharded(2, "serial", "auto+averaging"), lam=LAM)
    rough = bw.Problem(Rough(), problem.X, problem.Y)
    rough = engine_of(rough, bw.Sharded(2, "serial"), lam=LAM)
    for engine in (averaging, rough):
        for _ in range(8):
            engine.advance(engine.n_blocks, always)
        assert not engine._centre.is_at_work
    exact = engine_of(problem, bw.Sharded(2, "serial"), lam=LAM)
    for _ in range(8):
        exact.advance(exact.n_blocks, always)
    assert exact._centre.is_at_work
