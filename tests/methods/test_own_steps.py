"""Step rules of a user's own: whatever they choose, the dual point stays one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import blockwolfe as bw
from zoo import PROBLEMS

LAM = 0.05


def always(direction):
    @dataclass(frozen=True)
    class Always(bw.Step):
        name: ClassVar[str] = f"always-{direction}"
        words: ClassVar[str] = "the same step always"

        @staticmethod
        def choose(choices):
            return direction

    return Always()


@pytest.mark.parametrize("name", ["multiclass-dense", "chain-dense", "multiclass-python"])
@pytest.mark.parametrize("direction", ["FORWARD", "PAIRWISE", "AWAY", "LOCAL"])
def test_any_choice_leaves_a_dual_point(name, direction):
    problem = PROBLEMS[name]()
    method = bw.BCFW(step=always(getattr(bw.Step, direction)), certify_every=1)
    result = bw.solve(problem, LAM, method, tol=0.0, max_passes=15, random_state=0)
    assert (np.diff(result.trace["dual"]) >= -1e-12).all()
    active = result.state.active
    sums = np.add.reduceat(active.weight, active.start[:-1])
    np.testing.assert_allclose(sums, 1.0, rtol=1e-12)
    fresh = bw.certify(problem, result.state, LAM)
    assert fresh.gap == pytest.approx(result.certificate.gap, abs=1e-12)
    gains = result.certificate.dual > 0.0
    assert gains == (direction != "LOCAL")  # (which moves no weight to a new corner)
