"""A Ray cluster that another process has started: it is used, and left as it was."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import blockwolfe as bw
from blockwolfe.distributed.ray_actors import _refusal
from sharding import LAM, problem_of

ray = pytest.importorskip("ray", reason="Ray is not installed (extra 'ray')")

CLUSTER = """
import sys
import ray
from blockwolfe.distributed.ray_actors import importing_alike

sys.path.insert(0, sys.argv[1])  # (workers unpickle tasks of tests)
options = {"logging_level": "ERROR", "log_to_driver": False, "include_dashboard": False}
with importing_alike():
    ray.init(address="local", num_cpus=2, object_store_memory=100_000_000, **options)
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """That of the other process, which ends it."""
    script = tmp_path_factory.mktemp("cluster") / "cluster.py"
    script.write_text(CLUSTER)
    command = [sys.executable, str(script), str(Path(__file__).parents[1])]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    # (a cluster that Ray starts for one process asks others for a token)
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()


RUNS = """
method = bw.Sharded(2, "ray", address=sys.argv[1])
problem = problem_of("multiclass-python")
serial = bw.solve(problem, LAM, bw.Sharded(2, "serial"), tol=0.05, random_state=3)
for _ in range(2):  # (the first has not ended it)
    found = bw.solve(problem, LAM, method, tol=0.05, random_state=3)
    assert numbers(found) == numbers(serial)
    assert not ray.is_initialized()
"""

KEPT = """
problem, address = problem_of("multiclass-python"), sys.argv[1]
shards = [(problem.X[k::2], problem.Y[k::2]) for k in range(2)]
with bw.ShardedProblem(problem.task, shards, "ray", address=address, keep=True) as sharded:
    first, second = (bw.solve(sharded, LAM, tol=0.05, random_state=3).w for _ in range(2))
assert first.tobytes() == second.tobytes()
assert not ray.is_initialized()
"""


@pytest.mark.skipif("BLOCKWOLFE_ALL_TESTS" not in os.environ, reason="BLOCKWOLFE_ALL_TESTS=1")
@pytest.mark.parametrize("code", [RUNS, KEPT], ids=["runs", "kept"])
def test_it_is_used_and_left(address, code):
    """Ray loses workers where other clusters begin and end beside this one, as other tests do."""
    head = "import sys\nsys.path.insert(0, sys.argv[2])\nimport ray\nimport blockwolfe as bw\n"
    head += "from sharding import LAM, numbers, problem_of\n"
    command = [sys.executable, "-c", head + code, address, str(Path(__file__).parents[1])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_more_shards_than_its_cores(address):
    method = bw.Sharded(3, "ray", address=address)
    with pytest.raises(bw.OptionError, match="the Ray cluster has 2 cores"):
        bw.solve(problem_of("multiclass-python"), LAM, method, tol=0.05)
    assert not ray.is_initialized()


def test_another_one_while_connected(address):
    ray.init(address=address, logging_level="ERROR", log_to_driver=False)
    try:
        with pytest.raises(bw.OptionError, match="is connected to"):
            bw.solve(problem_of("multiclass-python"), LAM, bw.Sharded(2, "ray", address="a:1"))
    finally:
        ray.shutdown()


def test_a_token_that_is_missing_is_named():
    class AuthenticationError(Exception):
        """As Ray's, deep inside what it raises."""

    error = ConnectionError("Failed to connect")
    error.__cause__ = RuntimeError("GCS")
    assert "no Ray cluster answers there" in _refusal(error)
    error.__cause__.__context__ = AuthenticationError()
    assert "asks for a token" in _refusal(error)
