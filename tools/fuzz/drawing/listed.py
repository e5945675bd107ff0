"""A drawn problem: what the package is given, and all of its outputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Block", "Drawn", "Real", "label_key"]

# More digits than the package has, where the machine has them: what is compared with its numbers
# must not have rounding errors of the same size.
Real = np.longdouble


@dataclass(frozen=True)
class Block:
    """All outputs of one example: features and loss of each, and which of them is the true one."""

    phi: np.ndarray  # (m, d) of Real
    loss: np.ndarray  # (m,) of Real
    truth: int
    keys: list[Hashable]  # what tells outputs apart
    is_slack: bool = False  # whether the hinge is rescaled by slack

    @property
    def psi(self) -> np.ndarray:
        """What <w, .> is taken off the loss: phi(truth) - phi, times the loss if by slack."""
        psi = self.phi[self.truth] - self.phi
        return psi * self.loss[:, None] if self.is_slack else psi


@dataclass(frozen=True)
class Drawn:
    """A task with its data, and how to list its outputs once the task is fitted."""

    task: Any
    X: Any
    Y: Any
    blocks: Callable[[Any], list[Block]]  # given the fitted task
    key: Callable[[Any], Hashable]  # of an output as the package gives it
    size: float = 1.0  # of the features
    own_bounds: Callable[[Any], list[tuple[slice, float, float]]] = field(default=lambda task: [])
    is_exact: bool = True  # whether the oracle is
    predicts_best: bool = True  # where it is: whether predictions are the best outputs
    is_slow: bool = False  # whether an oracle call takes longer than a few microseconds
    has_bounds: bool = True  # where it is not exact: whether it proves bounds
    words: dict[str, str] = field(default_factory=dict)


def label_key(y: Sequence[Any]) -> Hashable:
    """Of a sequence of labels."""
    return tuple(np.asarray(y).tolist())
