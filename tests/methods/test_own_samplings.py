"""Orders of a user's own sampling rule: any list of blocks will do, anything else is refused."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.rules.sampling import Draws, Sampling
from zoo import PROBLEMS

LAM = 0.05
N = 12


@pytest.fixture(scope="module")
def problem():
    return PROBLEMS["multiclass-dense"]()


@dataclass(frozen=True)
class Given(Sampling):
    """The same order in every pass."""

    name: ClassVar[str] = "given"
    words: ClassVar[str] = "a given order"
    blocks: Any = None

    def order(self, n_blocks, rng):
        return self.blocks


def run(problem, sampling):
    method = bw.BCFW(sampling, certify_every=1)
    return bw.solve(problem, LAM, method, 0.0, max_passes=3, random_state=0)


@pytest.mark.parametrize(
    "order",
    [
        np.arange(N)[::-1],  # (its memory lies the other way round)
        np.arange(2 * N)[:: -2] // 2,
        np.arange(N, dtype=np.int16)[::-1],
        list(range(N))[::-1],
        np.arange(float(N))[::-1],
    ],
    ids=["reversed", "strided", "short", "list", "floats"],
)  # fmt: skip
def test_an_order_in_any_form_is_that_order(problem, order):
    @dataclass(frozen=True)
    class ByGaps(Given):
        needs_gaps: ClassVar[bool] = True

        def order_by_gaps(self, gap, rng):
            return self.blocks

    plain = np.ascontiguousarray(order, dtype=np.int64)
    for kind in (Given, ByGaps):
        np.testing.assert_array_equal(
            run(problem, kind(order)).w, run(problem, kind(plain)).w
        )  # fmt: skip


@pytest.mark.parametrize(
    "order", [[0, N], [-1, 0], [], [2**40], [[0, 1]]], ids=["n", "-1", "none", "far", "2-d"]
)
def test_what_is_no_list_of_blocks_is_refused(problem, order):
    with pytest.raises(bw.OptionError, match=r"Given gave blocks .* 0\.\.11; correct its order"):
        run(problem, Given(order))


def test_draws_by_gaps_need_gaps(problem):
    """-1 asks for a draw by the estimates: refused where there are none to draw from."""

    class Blind(Given):
        def draws(self, gap, n_draws, rng):
            return Draws(np.full(len(gap), -1), rng.random(len(gap)))

    with pytest.raises(bw.OptionError, match="Blind gave blocks"):
        run(problem, Blind())
