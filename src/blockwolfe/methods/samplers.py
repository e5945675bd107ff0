"""Rules for choosing the next blocks. Each is a small object that orders one pass of visits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Cyclic", "Permutation", "Sampling", "Uniform"]


class Sampling:
    """Base of the sampling rules: `order(n_blocks, rng)` gives the blocks of one pass.

    >>> Cyclic().order(3, np.random.default_rng(0))
    array([0, 1, 2])
    """

    def order(self, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
        """Blocks to visit in one pass, n_blocks of them."""
        raise NotImplementedError


@dataclass(frozen=True)
class Uniform(Sampling):
    """Independent uniform draws, as in the analysis of BCFW.

    >>> len(Uniform().order(5, np.random.default_rng(0)))
    5
    """

    def order(self, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
        """Drawn with replacement."""
        return rng.integers(n_blocks, size=n_blocks)


@dataclass(frozen=True)
class Permutation(Sampling):
    """A fresh random permutation each pass; usually a little faster than `Uniform`.

    >>> sorted(Permutation().order(4, np.random.default_rng(0)).tolist())
    [0, 1, 2, 3]
    """

    def order(self, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
        """Each block once."""
        return rng.permutation(n_blocks)


@dataclass(frozen=True)
class Cyclic(Sampling):
    """The blocks in the order of the data, every pass.

    >>> Cyclic().order(2, np.random.default_rng(0))
    array([0, 1])
    """

    def order(self, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
        """0, 1, ..., n_blocks - 1."""
        return np.arange(n_blocks)
