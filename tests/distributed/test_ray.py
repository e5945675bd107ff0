"""Shards in a Ray cluster: the same bits as one after another, and nothing left behind."""

import functools
import os

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.distributed.ray_actors import importing_alike
from sharding import LAM, Failing, numbers, problem_of
from zoo import multiclass_data

ray = pytest.importorskip("ray", reason="Ray is not installed (extra 'ray')")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """One for all tests of this file: it takes seconds to start."""
    options = {"logging_level": "ERROR", "log_to_driver": False, "include_dashboard": False}
    with importing_alike():
        ray.init(address="local", num_cpus=4, object_store_memory=100_000_000, **options)
    yield
    ray.shutdown()


@pytest.mark.parametrize(
    ("name", "inner"),
    [("chain-dense", "auto"), ("multiclass-python", "bcfw+averaging")],
)
def test_actors_give_the_same_bits(name, inner):
    serial, actors = [
        bw.solve(problem_of(name), LAM, bw.Sharded(2, engine, inner), tol=0.05, random_state=3)
        for engine in ("serial", "ray")
    ]
    assert serial.is_certified
    assert numbers(serial) == numbers(actors)
    assert ray.is_initialized()  # (a cluster that was in use stays as it was)


def test_shards_are_loaded_where_they_live(tmp_path):
    """In other processes, never in this one; the run is the same to the bit."""
    X, Y = multiclass_data()
    for k in range(2):
        np.savez(tmp_path / f"{k}.npz", X=X[k::2], Y=Y[k::2])
    found = {}
    for engine in ("serial", "ray"):
        shards = [functools.partial(load, tmp_path, k, engine) for k in range(2)]
        problem = bw.ShardedProblem(bw.tasks.Multiclass(), shards, engine)
        found[engine] = bw.solve(problem, LAM, tol=0.05, random_state=0)
        assert found[engine].is_certified
    assert found["serial"].w.tobytes() == found["ray"].w.tobytes()
    here = {int(name.name.split("-")[1]) for name in tmp_path.glob("ray-*")}
    assert here
    assert os.getpid() not in here


def load(folder, k, engine):
    """A shard; which process has loaded it is seen by a file."""
    (folder / f"{engine}-{os.getpid()}").touch()
    with np.load(folder / f"{k}.npz") as data:
        return data["X"], data["Y"]


def test_more_shards_than_cores_are_refused():
    problem = problem_of("chain-dense")
    with pytest.raises(bw.OptionError, match="has 4 cores"):
        bw.solve(problem, LAM, bw.Sharded(5, "ray"), tol=0.1)
    assert ray.is_initialized()


def test_an_error_of_an_oracle_arrives():
    problem = bw.Problem(Failing(), [1, 2, 4, 3], [1, -1, 1, -1])
    with pytest.raises(Exception, match="no such thing"):
        bw.solve(problem, LAM, bw.Sharded(2, "ray"), tol=1e-3, random_state=0)
