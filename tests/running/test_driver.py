"""When a run is called stalled, and when a checkpoint is due."""

import numpy as np

import blockwolfe as bw
from blockwolfe.methods.base import Method
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.counts import Counts
from blockwolfe.results.status import Status
from blockwolfe.running import checkpoint
from blockwolfe.running.checkpoint import Writer
from blockwolfe.running.driver import Driver
from blockwolfe.running.engine import Engine
from blockwolfe.running.limits import Limits
from blockwolfe.solving.goal import Solve
from held_clock import HeldClock

N = 4
EVERY = 10.0


class Still(Method):
    """Full passes every ten, and a dual that never decreases."""

    name, words = "still", "no steps"
    is_monotone = True
    full_pass_every = EVERY

    def start(self, setup):
        raise NotImplementedError


class Promising(Engine):
    """Its estimate promises the tolerance after every pass, its certificates never change."""

    method, lam, n_blocks, w = Still(), 1.0, N, np.zeros(1)
    gap_estimate = 0.0

    def __init__(self):
        self.visits = 0

    @property
    def counts(self):
        return Counts(N, visits=self.visits, oracle_calls=self.visits)

    def advance(self, max_visits, may_go_on):
        self.visits += max_visits

    def certify(self):
        return Certificate(1.5, 1.0, 0.5, np.full(N, 0.5 / N), 1.0, True, 1e-16, 0.0)

    def to_save(self):
        return {}

    def restore(self, saved):
        raise NotImplementedError


def test_only_a_long_look_without_gain_is_a_stall():
    """Certificates come soon after one another here; a gap that stands still for a moment is none.

    They are made after 1, 3, 7 and 15 passes, since each promise that was not kept doubles the
    wait, and then after ten more each; it has stood still for 200 passes at the last.
    """
    driver = Driver(Promising(), Solve(None, None, False), Still(), Limits(1e-3, 300, None, None))
    driver.goal.outcome = lambda _, status: status
    assert driver.run() is Status.STALLED
    certified = [row.passes for row in driver.goal.trace if row.gap == row.gap]
    assert certified == [1, 3, 7, *range(15, 206, 10)]


def test_a_checkpoint_is_due_again_only_after_its_interval(tmp_path, monkeypatch):
    clock = HeldClock()
    monkeypatch.setattr(checkpoint, "time", clock)
    writer = Writer(bw.Checkpoint(tmp_path / "run.npz", every=60.0), {})
    seen = []
    for _ in range(4):
        clock.now += 30.0
        seen.append(writer.is_due())
        if writer.is_due():
            writer.write({}, Promising())
    assert seen == [False, True, False, True]
