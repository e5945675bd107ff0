"""Shards in processes: the same bits, errors as they are, and nothing left behind."""

import os
import signal

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.distributed.processes import _Member, thickened, thinned
from blockwolfe.errors import ShardLostError
from sharding import LAM, engine_of, numbers, problem_of


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
    engine = engine_of(problem_of("multiclass-python"), bw.Sharded(2, "processes"))
    engine.advance(12, lambda: True)
    members = list(engine.runner._members)
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
        signal.raise_signal(signal.SIGINT)
        self.sent.append(message[1:])

    def recv_bytes(self):
        signal.raise_signal(signal.SIGINT)
        return b""


def test_ctrl_c_does_not_cut_a_message_in_two():
    member = object.__new__(_Member)
    member.connection, member.number, member.n_owed = Halting(), 0, 0
    with pytest.raises(KeyboardInterrupt):
        member.send(b"message")
    assert (member.connection.sent, member.n_owed) == ([b"m", b"essage"], 1)
    with pytest.raises(KeyboardInterrupt):
        member.receive()
    assert member.n_owed == 0


class Failing:
    """A task whose oracle fails once w has moved."""

    n_features = 1

    def features(self, x, y):
        return np.array([float(x * y)])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w):
        return 1

    def augmented_decode(self, x, y, w):
        if x == 3 and w.any():
            raise ArithmeticError("no such thing")
        return max((-1, 1), key=lambda h: (h != y) + h * x * w[0])


@pytest.mark.parametrize("engine", ["serial", "threads", "processes"])
def test_an_error_of_an_oracle_arrives(engine):
    problem = bw.Problem(Failing(), [1, 2, 4, 3], [1, -1, 1, -1])
    with pytest.raises(Exception, match="no such thing"):
        bw.solve(problem, LAM, bw.Sharded(2, engine), tol=1e-3, random_state=0)
