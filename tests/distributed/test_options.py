"""Options that make no sense are refused before any work, and runs go on from checkpoints."""

import sys

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.errors import MissingLibraryError
from sharding import LAM, TOL, engine_of, numbers, problem_of
from zoo import multiclass_data


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n_shards": 0}, "n_shards=0"),
        ({"n_shards": 2.5}, "n_shards=2.5"),
        ({"n_shards": True}, "n_shards=True"),
        ({"engine": "thread"}, "threads"),
        ({"engine": None}, "engine"),
        ({"inner": "fw"}, "inner="),
        ({"inner": "nothing"}, "nothing"),
        ({"inner": 3}, "3"),
        ({"rounds": 0}, "rounds=0"),
        ({"sigma": 0.5}, "sigma=0.5"),
        ({"sigma": 3.0}, "n_shards=2"),
        ({"sigma": float("nan")}, "sigma=nan"),
        ({"sigma": "1"}, "sigma='1'"),
        ({"address": "auto"}, "address='auto'"),
        ({"restarts": -1}, "restarts=-1"),
        ({"restarts": None}, "restarts=None"),
        ({"timeout": 0.0}, "timeout=0.0"),
        ({"timeout": "1"}, "timeout='1'"),
        ({"timeout": float("nan")}, "timeout=nan"),
    ],
)
def test_options_that_make_no_sense(options, named):
    with pytest.raises(bw.OptionError, match=named):
        bw.Sharded(**options)


def test_a_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    problem = problem_of("multiclass-dense")
    with pytest.raises(MissingLibraryError, match=r"blockwolfe\[ray\]"):
        bw.solve(problem, LAM, bw.Sharded(2, "ray"))
    with pytest.raises(MissingLibraryError, match=r"blockwolfe\[ray\]"):
        bw.ShardedProblem(problem.task, [(problem.X, problem.Y)], "ray")


def test_a_kernel_needs_one_shard():
    problem = bw.Problem(bw.tasks.Multiclass(kernel="rbf"), *multiclass_data())
    with pytest.raises(bw.OptionError, match="n_shards=2 with a kernel"):
        bw.solve(problem, LAM, bw.Sharded(2))
    assert bw.solve(problem, LAM, bw.Sharded(1), tol=0.1, random_state=0).is_certified


def test_more_shards_than_examples():
    problem = problem_of("multiclass-dense")
    method = bw.Sharded(100, "serial", "bcfw+pairwise")
    result = bw.solve(problem, LAM, method, tol=0.1, random_state=0)
    assert result.is_certified
    one = bw.Problem(bw.tasks.Multiclass(n_labels=2), [[1.0]], [0])
    assert bw.solve(one, LAM, bw.Sharded(2), tol=0.1, random_state=0).is_certified


@pytest.mark.parametrize("inner", ["auto", "bcfw+averaging"])
def test_a_run_goes_on_from_its_checkpoint(inner, tmp_path):
    problem, method = problem_of("chain-dense"), bw.Sharded(3, "serial", inner, rounds=2)
    given = {"tol": TOL, "random_state": 4}
    whole = bw.solve(problem, LAM, method, **given)
    path, seen = tmp_path / "run.npz", []

    def interrupt(event):
        seen.append(event)
        if len(seen) == 5:
            raise KeyboardInterrupt

    bw.solve(problem, LAM, method, checkpoint=path, callbacks=[interrupt], **given)
    again = bw.solve(problem, LAM, method, checkpoint=path, **given)
    assert numbers(again) == numbers(whole)


def test_a_run_begins_at_a_state():
    problem = problem_of("chain-dense")
    known = bw.solve(problem, LAM, tol=TOL, random_state=0)
    start, method = known.last_state, bw.Sharded(2, "serial")
    result = bw.solve(problem, LAM, method, tol=TOL, start=start, random_state=0)
    assert result.is_certified
    assert result.counts.visits <= 3 * len(problem)
    assert result.certificate.dual >= known.certificate.dual - 1e-12


@pytest.mark.parametrize("n_shards", [2, 3, 12])
def test_a_run_begins_at_an_average(n_shards):
    """Some blocks are mixtures, and others, alone in their shard, where all runs begin."""
    problem = problem_of("chain-dense")
    n = len(problem)
    start = bw.solve(problem, LAM, "bcfw+averaging", max_oracle_calls=n + 5, random_state=0).state
    is_moved = start.ell > 0.0
    assert start.active is None
    assert is_moved.any()
    assert not is_moved.all()
    method = bw.Sharded(n_shards, "serial", "bcfw+pairwise")
    result = bw.solve(problem, LAM, method, max_passes=2, start=start, random_state=0)
    again = bw.certify(problem, result.state, LAM)
    assert again.dual == pytest.approx(result.certificate.dual, abs=1e-12)
    assert again.dual > bw.certify(problem, start, LAM).dual
    further = bw.solve(problem, LAM, max_passes=2, start=result.last_state, random_state=0)
    assert further.certificate.dual >= again.dual - 1e-12


def test_sweeps_beside_calls_in_python_are_no_passes():
    problem = problem_of("multiclass-python")
    given = {"tol": 0.0, "max_passes": 3, "random_state": 0}
    for n_shards in (2, 3):
        counts = bw.solve(problem, LAM, bw.Sharded(n_shards, "serial"), **given).counts
        assert counts.sweeps > 15
        assert counts.visits == 3 * len(problem)


def test_calls_are_counted_and_kept_to():
    problem = problem_of("chain-dense")
    method = bw.Sharded(3, "serial", "bcfw")
    result = bw.solve(problem, LAM, method, tol=1e-9, max_oracle_calls=61, random_state=0)
    counts = result.counts
    assert counts.n_blocks == len(problem)
    assert counts.oracle_calls + counts.certificate_calls <= 61
    assert counts.oracle_calls > 0


@pytest.mark.parametrize("rounds", [1, 4, 7])
@pytest.mark.parametrize("inner", ["auto", "bcfw+pairwise", bw.BCFW(batch_size=5)])
def test_a_pass_of_many_rounds_visits_each_block_once(inner, rounds):
    """Whatever the method inside makes of a pass that goes on in the next round."""
    for name in ("multiclass-python", "chain-dense"):
        engine = engine_of(problem_of(name), bw.Sharded(2, "serial", inner, rounds=rounds))
        for n_passes in (1, 2, 3):
            engine.advance(engine.n_blocks, lambda: True)
            assert engine.counts.visits == n_passes * engine.n_blocks


def test_rounds_without_visits_are_no_passes():
    problem = bw.Problem(bw.tasks.Multiclass(), np.eye(4), np.arange(4) % 2)
    engine = engine_of(problem, bw.Sharded(2, "serial", rounds=8))
    engine.advance(4, lambda: True)
    assert [shard.engine._n_passes for shard in engine.runner._shards] == [1, 1]


def test_sigma_follows_what_shards_have_in_common():
    """Twice the same examples: both shards pull in one direction, and sigma stays near two."""
    X, Y = multiclass_data()
    twice = bw.Problem(bw.tasks.Multiclass(), np.repeat(X, 2, axis=0), np.repeat(Y, 2))
    apart = bw.Problem(bw.tasks.Multiclass(), np.eye(12), np.arange(12) % 3)
    found = {}
    for name, problem in {"twice": twice, "apart": apart}.items():
        method = bw.Sharded(2, "serial", bw.BCFW(sampling=bw.Cyclic()))
        engine = engine_of(problem, method)
        for _ in range(8):
            engine.advance(len(problem), lambda: True)
        found[name] = engine.to_save()["sigma"]
        engine.end()
    assert found["twice"] > 1.9
    assert found["apart"] < 1.6
