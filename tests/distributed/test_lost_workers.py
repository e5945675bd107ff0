"""Workers that are killed or hang: a run ends certified, or with what was certified last."""

import os
import signal
import time
import warnings

import numpy as np
import pytest

import blockwolfe as bw
from amount import ALL
from blockwolfe.distributed import remote
from blockwolfe.distributed.ray_actors import importing_alike
from blockwolfe.errors import ShardLostError, WorkerWarning
from losing import Slow, a_worker_is_sent, ignore_others, process_ids
from sharding import LAM as LAM_OF_ENGINE
from sharding import engine_of

LAM, TOL = 0.2, 0.01
MANY = range(50) if ALL else range(1)


def slow_problem(seconds=0.005, n_features=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=20)
    Y = np.where(X + 0.5 * rng.normal(size=20) > 0, 1, -1)
    return bw.Problem(Slow(seconds, n_features), X.tolist(), Y)


@pytest.fixture(scope="module")
def best():
    """The optimum, between the bounds of an unsharded run."""
    certificate = bw.solve(slow_problem(0.0), LAM, tol=1e-9, random_state=0).certificate
    return certificate.dual, certificate.primal


@pytest.fixture(scope="module")
def ray_cluster():
    ray = pytest.importorskip("ray", reason="Ray is not installed (extra 'ray')")
    quiet = {"logging_level": "ERROR", "log_to_driver": False, "include_dashboard": False}
    with importing_alike():
        ray.init(address="local", num_cpus=4, object_store_memory=100_000_000, **quiet)
    yield
    ray.shutdown()


@pytest.fixture(params=["processes", "ray"])
def engine(request):
    ignore_others()
    if request.param == "ray":
        request.getfixturevalue("ray_cluster")
    return request.param


def wait_until_gone(engine, *expected):
    """Ray takes some seconds to end a process that is stopped."""
    until = time.monotonic() + 20.0
    while set(process_ids(engine)) - set(expected) and time.monotonic() < until:
        time.sleep(0.05)
    assert process_ids(engine) == sorted(expected)


@pytest.mark.parametrize("seed", MANY)
def test_a_worker_is_killed_at_a_random_moment(engine, seed, best, record_property):
    rng, problem = np.random.default_rng(seed), slow_problem()
    method = bw.Sharded(2, engine, "bcfw+pairwise")
    seconds = rng.uniform(0.0, 10.0)
    with (
        a_worker_is_sent(signal.SIGKILL, engine, seconds, rng) as hit,
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("always", WorkerWarning)
        result = bw.solve(problem, LAM, method, tol=TOL, random_state=seed)
    record_property("killed", len(hit))
    record_property("replaced", sum(issubclass(w.category, WorkerWarning) for w in told))
    assert result.is_certified
    assert result.certificate.dual <= best[1]
    assert result.certificate.primal >= best[0]
    again = bw.certify(problem, result.state, LAM, w=result.w)
    assert again.gap == pytest.approx(result.certificate.gap, rel=1e-9, abs=1e-12)
    wait_until_gone(engine)


def advance(engine, n_passes):
    for _ in range(n_passes):
        engine.advance(20, lambda: True)


def test_a_round_goes_on_without_a_lost_worker(engine):
    """The others keep what they have done; the lost shard is where it was at the certificate."""
    problem = slow_problem(0.0)
    run = engine_of(problem, bw.Sharded(2, engine, "bcfw+pairwise", rounds=1))
    try:
        advance(run, 2)
        certified = run.certify()
        shares = run.runner.ask("to_save")
        advance(run, 1)
        os.kill(process_ids(engine)[0], signal.SIGKILL)
        with pytest.warns(WorkerWarning, match="last kept"):
            advance(run, 1)
        now = run.runner.ask("to_save")
        is_kept = [np.array_equal(a["v"], b["v"]) for a, b in zip(shares, now, strict=True)]
        assert sorted(is_kept) == [False, True]
        assert run.lam * run.w == pytest.approx(now[0]["v"] + now[1]["v"], abs=1e-14)
        assert run.dual() == pytest.approx(run.certify().dual, abs=1e-12)
        advance(run, 10)
        assert run.certify().dual > certified.dual
    finally:
        run.end()
    wait_until_gone(engine)


def test_all_workers_are_lost_at_once():
    ignore_others()
    run = engine_of(slow_problem(0.0), bw.Sharded(2, "processes", "bcfw", rounds=1))
    try:
        advance(run, 1)
        certified = run.certify()
        advance(run, 1)
        for pid in process_ids("processes"):
            os.kill(pid, signal.SIGKILL)
        with pytest.warns(WorkerWarning, match="last kept"):
            advance(run, 1)
        assert run.dual() == pytest.approx(certified.dual, abs=1e-14)
    finally:
        run.end()


def test_a_checkpoint_of_a_torn_run_is_put_right():
    """Ctrl-C while shards settle: some have moved, and the run has not."""
    problem = slow_problem(0.0)
    run = engine_of(problem, bw.Sharded(2, "serial", "bcfw", rounds=1))
    run.advance(20, lambda: True)
    ask = run.runner.ask

    def interrupted(message, *common, each=None):
        if message != "settle":
            return ask(message, *common, each=each)
        run.runner._shards[0].settle(*each[0])
        raise KeyboardInterrupt

    run.runner.ask = interrupted
    with pytest.raises(KeyboardInterrupt):
        run.advance(20, lambda: True)
    run.runner.ask = ask
    saved = run.to_save()
    assert LAM_OF_ENGINE * saved["raw"] == pytest.approx(
        saved["shards"]["0"]["v"] + saved["shards"]["1"]["v"], abs=1e-14
    )


@pytest.mark.parametrize("n_features", [2, 50_000] if ALL else [50_000])
def test_a_worker_that_hangs_is_replaced(engine, n_features):
    """Also where what is sent to it is more than fits between the two."""
    problem = slow_problem(0.0, n_features)
    run = engine_of(problem, bw.Sharded(2, engine, "bcfw", timeout=1.0))
    try:
        advance(run, 2)
        other, stopped = process_ids(engine)
        os.kill(stopped, signal.SIGSTOP)
        with pytest.warns(WorkerWarning, match="has not answered"):
            certificate = run.certify()
        assert certificate.valid
        (new,) = set(process_ids(engine)) - {other, stopped}
        wait_until_gone(engine, other, new)
    finally:
        run.end()
    wait_until_gone(engine)


def test_one_that_hangs_is_not_waited_for_after_ctrl_c(monkeypatch):
    """The others have answered before: what they took is known all the same."""
    ignore_others()
    monkeypatch.setattr(remote, "PATIENCE_SECONDS", 1.0)
    run = engine_of(slow_problem(0.0), bw.Sharded(2, "processes", "bcfw"))
    ready, answered = run.runner._ready, []

    def interrupted(workers, seconds):
        if len(answered) == 1:  # (all but one)
            answered.append(None)
            raise KeyboardInterrupt
        found = ready(workers, seconds)
        answered.extend(found)
        return found

    try:
        advance(run, 2)
        os.kill(run.runner._workers[1].child.process.pid, signal.SIGSTOP)
        monkeypatch.setattr(run.runner, "_ready", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.runner.ask("notes")
        with pytest.warns(WorkerWarning, match="has not answered"):
            assert run.certify().valid
    finally:
        run.end()
    wait_until_gone("processes")


def test_lost_for_good(engine):
    """The error has the last certified weights, with a certificate that holds."""
    problem, killed = slow_problem(0.0), []
    method = bw.Sharded(2, engine, "bcfw+uniform", restarts=0)

    def kill_after_certificate(event):
        if np.isfinite(event.row.gap) and event.row.passes > 1 and not killed:
            killed.append(event.row.gap)
            os.kill(process_ids(engine)[0], signal.SIGKILL)

    options = {"tol": 1e-12, "targets": [0.5], "callbacks": [kill_after_certificate]}
    with pytest.raises(ShardLostError, match="the worker of shard") as lost:
        bw.solve(problem, LAM, method, random_state=0, **options)
    result = lost.value.result
    assert result.status is bw.Status.SHARD_LOST
    assert result.state is None
    assert result.certificate.gap == killed[0]
    assert problem.primal(result.w, LAM) == pytest.approx(result.certificate.primal, rel=1e-12)
    wait_until_gone(engine)
