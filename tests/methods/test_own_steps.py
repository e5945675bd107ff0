"""Step rules of a user's own: whatever they choose, the dual point stays one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
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
    fresh = bw.certify(problem, result.state, LAM, w=result.w)
    assert fresh.gap == pytest.approx(result.certificate.gap, abs=1e-12)
    gains = result.certificate.dual > 0.0
    assert gains == (direction != "LOCAL")  # (which moves no weight to a new corner)


@dataclass(frozen=True)
class Predefined(bw.Step):
    """Pairwise steps of predefined size: longer than the weight that there is to move."""

    name: ClassVar[str] = "predefined-pairwise"
    words: ClassVar[str] = "predefined pairwise steps"
    line_search: ClassVar[bool] = False

    @staticmethod
    def choose(choices):
        return 1  # (PAIRWISE)


def test_steps_of_predefined_size_stay_within_the_weights():
    problem = PROBLEMS["multiclass-dense"]()
    engine = engine_of(problem, bw.BCFW(step=Predefined()), LAM)
    for _ in range(5):
        engine.advance(len(problem), lambda: True)
        stock = engine.point.arrays.stock
        for first, n in zip(stock.start, stock.n_rows, strict=True):
            weight = stock.weight[first : first + n]
            assert weight.min() >= 0.0
            assert weight.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kind", [-4, -1, 4, 100])
def test_unknown_directions_are_forward(kind):
    problem = PROBLEMS["multiclass-dense"]()
    other, forward = (
        bw.solve(problem, LAM, bw.BCFW(step=always(k)), tol=0.0, max_passes=5, random_state=0)
        for k in (kind, bw.Step.FORWARD)
    )
    np.testing.assert_array_equal(other.w, forward.w)


def test_numbers_of_any_type_reach_compiled_code_as_one(tmp_path):
    problem = PROBLEMS["multiclass-dense"]()
    cache = bw.Cache(nu=np.float32(0.01), max_corners=np.int32(50))
    method = bw.BCFW(step=bw.Pairwise(), cache=cache)
    options = {"tol": 1e-4, "max_passes": 30, "random_state": 0}
    keeping = bw.Checkpoint(tmp_path / "run.npz", every=0.0)
    bw.solve(problem, LAM, method, checkpoint=keeping, **options)
    assert bw.solve(problem, LAM, "bcfw+pairwise+cache", **options).status.name != "CACHE_FULL"
