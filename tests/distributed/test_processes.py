"""Shards in processes: the same bits, errors as they are, and nothing left behind."""

import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.distributed.processes import _Process
from blockwolfe.distributed.travel import packed, thickened, thinned
from blockwolfe.errors import ShardLostError
from sharding import LAM, Failing, engine_of, numbers, problem_of


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
def test_processes_give_the_same_bits(name):
    found = [
        bw.solve(problem_of(name), LAM, bw.Sharded(2, engine), tol=0.05, random_state=3)
        for engine in ("serial", "processes")
    ]
    assert found[0].is_certified
    assert numbers(found[0]) == numbers(found[1])


@pytest.mark.parametrize("n_zeros", [0, 3, 10])
def test_vectors_travel_as_they_are(n_zeros):
    vector = np.random.default_rng(0).normal(size=10)
    vector[:n_zeros] = 0.0
    vector[-1] = -0.0
    assert thickened(thinned(vector)).tobytes() == vector.tobytes()
    assert isinstance(thinned(vector), np.ndarray) == (n_zeros < 5)


def test_a_lost_process_is_named_and_nothing_is_left():
    method = bw.Sharded(2, "processes", restarts=0)
    engine = engine_of(problem_of("multiclass-python"), method)
    engine.advance(12, lambda: True)
    members = [worker.child for worker in engine.runner._workers]
    os.kill(members[1].process.pid, signal.SIGKILL)
    with pytest.raises(ShardLostError, match="shard 1 was killed by SIGKILL"):
        engine.advance(12, lambda: True)
    engine.end()
    for member in members:
        member.process.join(5.0)
        assert member.process.exitcode is not None


class Halting:
    """A connection on which Ctrl-C comes in the middle of a message."""

    def __init__(self):
        self.sent = []

    def send_bytes(self, message):
        self.sent.append(message[:1])
        os.kill(os.getpid(), signal.SIGINT)
        self.sent.append(message[1:])

    def recv_bytes(self):
        signal.raise_signal(signal.SIGINT)
        return b""


def test_ctrl_c_does_not_cut_a_message_in_two():
    worker = object.__new__(_Process)
    worker.child, worker._n_owed = SimpleNamespace(connection=Halting()), 0

    def send():
        worker.send(packed("own"), packed(()))
        worker._sender.join()

    with pytest.raises(KeyboardInterrupt):
        send()
    worker._sender.join()
    assert len(worker.child.connection.sent) == 2
    assert worker.is_owing
    with pytest.raises(KeyboardInterrupt):
        worker.receive()
    assert not worker.is_owing


@pytest.mark.parametrize("engine", ["serial", "threads", "processes"])
def test_an_error_of_an_oracle_arrives(engine):
    problem = bw.Problem(Failing(), [1, 2, 4, 3], [1, -1, 1, -1])
    with pytest.raises(Exception, match="no such thing"):
        bw.solve(problem, LAM, bw.Sharded(2, engine), tol=1e-3, random_state=0)
