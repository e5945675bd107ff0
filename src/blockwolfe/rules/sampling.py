"""Rules for choosing the next blocks. Each is a small object that orders one pass of visits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.errors import OptionError
from blockwolfe.rules.registry import Choice, register

__all__ = [
    "Adaptive",
    "Cyclic",
    "Draws",
    "GapSampling",
    "MaxGap",
    "Permutation",
    "Sampling",
    "Uniform",
    "checked_draws",
]


class Draws(NamedTuple):
    """Blocks to visit: given, or (-1) drawn from the gap estimates with a uniform number."""

    block: np.ndarray
    uniform: np.ndarray


class Sampling(Choice):
    """Base of the sampling rules: `order(n_blocks, rng)` gives the blocks of one pass.

    A rule that uses the gap estimates has ``needs_gaps = True`` and defines `order_by_gaps` too.

    >>> Cyclic().order(3, np.random.default_rng(0))
    array([0, 1, 2])
    """

    family: ClassVar[str] = "sampling"
    needs_gaps: ClassVar[bool] = False  # whether it goes by gap estimates, which must be renewed
    is_max: ClassVar[bool] = False  # whether a draw takes the largest estimate
    refresh_every: float = np.inf  # passes between full passes that renew the estimates
    is_random: ClassVar[bool] = False  # whether every order is drawn anew

    def order(self, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
        """Blocks to visit in one pass, n_blocks of them."""
        raise NotImplementedError

    def order_by_gaps(self, gap: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The same by the gap estimates, once every block has one."""
        return self.order(len(gap), rng)

    def draws(self, gap: np.ndarray, n_draws: int, rng: np.random.Generator) -> Draws:
        """One pass of visits; `n_draws` is how many were drawn before.

        After a share of a pass the next one begins behind it: else an order that is always the
        same would never get to its end.
        """
        if self.needs_gaps and np.isfinite(gap).all():
            order = np.asarray(self.order_by_gaps(gap, rng), dtype=np.int64)
        else:
            order = np.asarray(self.order(len(gap), rng), dtype=np.int64)
            order = order if self.is_random else np.roll(order, -(n_draws % len(gap)))
        return Draws(order, np.zeros(len(order)))


@register
@dataclass(frozen=True)
class Uniform(Sampling):
    """Independent uniform draws, as in the analysis of BCFW.

    >>> len(Uniform().order(5, np.random.default_rng(0)))
    5
    """

    name: ClassVar[str] = "uniform"
    words: ClassVar[str] = "uniform sampling"
    is_random: ClassVar[bool] = True

    def order(self, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
        """Drawn with replacement."""
        return rng.integers(n_blocks, size=n_blocks)


@register
@dataclass(frozen=True)
class Permutation(Sampling):
    """A fresh random permutation each pass; usually a little faster than `Uniform`.

    >>> sorted(Permutation().order(4, np.random.default_rng(0)).tolist())
    [0, 1, 2, 3]
    """

    name: ClassVar[str] = "permutation"
    words: ClassVar[str] = "random permutations"
    is_random: ClassVar[bool] = True

    def order(self, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
        """Each block once."""
        return rng.permutation(n_blocks)


@register
@dataclass(frozen=True)
class Cyclic(Sampling):
    """The blocks in the order of the data, every pass.

    >>> Cyclic().order(2, np.random.default_rng(0))
    array([0, 1])
    """

    name: ClassVar[str] = "cyclic"
    words: ClassVar[str] = "blocks in turn"

    def order(self, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
        """0, 1, ..., n_blocks - 1."""
        return np.arange(n_blocks)


@dataclass(frozen=True)
class Adaptive(Sampling):
    """Base of the rules that follow the gap estimates; the first pass is a permutation.

    Estimates go stale, and those of zero would never be looked at again: a full pass every
    `refresh_every` passes renews them all, and is a certificate. With `visit_every=K` each
    block is besides visited at least once every K passes.

    >>> GapSampling(visit_every=5).visit_every
    5
    """

    refresh_every: float = 10
    visit_every: int | None = None
    needs_gaps: ClassVar[bool] = True
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_integer("refresh_every", self.refresh_every, 1)
        check_integer("visit_every", self.visit_every, 1, or_none=True)

    def order(self, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
        """Each block once: there is nothing to go by yet."""
        return rng.permutation(n_blocks)

    def draws(self, gap: np.ndarray, n_draws: int, rng: np.random.Generator) -> Draws:
        """By the estimates once every block has one."""
        if not np.isfinite(gap).all():
            return super().draws(gap, n_draws, rng)
        block = np.full(len(gap), -1, dtype=np.int64)
        if self.visit_every is not None:  # every K-th visit takes the blocks in turn
            first = -n_draws % self.visit_every
            forced = block[first :: self.visit_every]
            turn = (n_draws + first) // self.visit_every
            forced[:] = (turn + np.arange(len(forced))) % len(gap)
        return Draws(block, rng.random(len(gap)))


@register
@dataclass(frozen=True)
class GapSampling(Adaptive):
    """Blocks drawn with probability proportional to their gap estimates.

    >>> GapSampling().refresh_every
    10
    """

    name: ClassVar[str] = "gap"
    words: ClassVar[str] = "gap sampling"


@register
@dataclass(frozen=True)
class MaxGap(Adaptive):
    """Always the block with the largest gap estimate.

    >>> MaxGap(refresh_every=5).refresh_every
    5
    """

    name: ClassVar[str] = "maxgap"
    words: ClassVar[str] = "largest gap first"

    is_max: ClassVar[bool] = True


def checked_draws(draws: Draws, n_blocks: int, sampling: Any, has_tree: bool) -> Draws:
    """Draws as the loop, which looks at nothing twice, can bear them: a rule may be a user's."""
    block = np.ascontiguousarray(draws.block, dtype=np.int64)
    uniform = np.ascontiguousarray(draws.uniform, dtype=np.float64)
    least = -1 if has_tree else 0
    is_sound = block.ndim == 1 and len(block) > 0 and block.shape == uniform.shape
    if not is_sound or block.min() < least or block.max() >= n_blocks:
        raise OptionError(
            f"{type(sampling).__name__} gave blocks to visit that are not a list of numbers "
            f"0..{n_blocks - 1}; correct its order()."
        )
    return Draws(block, uniform)
