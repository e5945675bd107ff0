"""What a task is: the four-method protocol for Python, the seven functions for compiled code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

__all__ = ["BlockFunctions", "CompiledOracle", "Corners", "Task", "TaskBlocks"]


@runtime_checkable
class Task(Protocol):
    """The four methods a task must have; any object with them can be trained.

    * ``features(x, y)``: phi(x, y) as a 1-d array, a scipy sparse row, or a pair
      ``(indices, values)`` (then the task also has an attribute ``n_features``).
    * ``loss(y, y_hat)``: L >= 0, and 0 when ``y_hat`` equals ``y``.
    * ``decode(x, w)``: an output that maximises <w, phi(x, .)>.
    * ``augmented_decode(x, y, w)``: an output that maximises L(y, .) + <w, phi(x, .)>.

    A task whose decoder is only approximate sets ``exact = False``; its results
    are then called estimates, never certificates. If it can bound its error it has
    ``augmented_decode_bound(x, y, w) -> (y_hat, upper)`` with upper >= L(y, .) + <w, phi(x, .)>
    for every output; this is then the oracle, and the gap, with the bounds in it, is certified.
    A task may also offer ``compiled(X, Y)``, which returns a `CompiledOracle`.

    >>> class Sign:
    ...     def features(self, x, y): return y * np.asarray(x, dtype=float)
    ...     def loss(self, y, y_hat): return float(y != y_hat)
    ...     def decode(self, x, w): return 1 if np.dot(w, x) >= 0 else -1
    ...     def augmented_decode(self, x, y, w):
    ...         return max((-1, 1), key=lambda h: self.loss(y, h) + h * np.dot(w, x))
    >>> isinstance(Sign(), Task)
    True
    """

    def features(self, x: Any, y: Any) -> Any:
        """Joint feature vector phi(x, y)."""

    def loss(self, y: Any, y_hat: Any) -> float:
        """Task loss L(y, y_hat)."""

    def decode(self, x: Any, w: np.ndarray) -> Any:
        """Best output for x at w."""

    def augmented_decode(self, x: Any, y: Any, w: np.ndarray) -> Any:
        """Loss-augmented best output: the oracle."""


class BlockFunctions(NamedTuple):
    """The seam between the loop and a task: *scores in, parts out*.

    Block i has parts; part p has the feature column F_i[:, p]. A corner is a
    sparse vector z over parts with phi(x_i, y) = F_i z. With theta = F_i^T w:

    * ``score(data, i, w)``: make theta ready for the calls below (may do nothing);
    * ``maximize(data, i, w, part, value) -> (size, loss)``: the oracle; writes the
      parts of the corner that maximises L_i + <theta, z>, returns how many, and L_i;
    * ``read(data, i, w, part, size, out)``: out[s] = theta[part[s]], after ``score``;
    * ``peek(data, i, w, part, size, out)``: the same without ``score``, for a visit that may do
      without the oracle;
    * ``sqnorm(data, i, part, delta, size)``: |F_i delta|^2, parts all different;
    * ``add(data, i, part, delta, size, coefficient, out)``: out += coefficient F_i delta;
    * ``spread(data, i, (part, delta, size, coefficient), image, index, value) -> n``:
      coefficient F_i delta as n pairs with all indices different; `image` (d,) is zero
      before and after. Called only when w is bounded.
    """

    score: Any
    maximize: Any
    read: Any
    peek: Any
    sqnorm: Any
    add: Any
    spread: Any


class Corners(NamedTuple):
    """One corner per block, end to end: block i has entries start[i]:start[i+1]."""

    start: np.ndarray
    part: np.ndarray
    value: np.ndarray


@dataclass(frozen=True)
class TaskBlocks:
    """A task's training set as blocks: its functions and the data they read."""

    functions: BlockFunctions
    data: Any
    n_features: int
    n_parts: int  # parts are numbered 0..n_parts-1 in every block
    corner_size: np.ndarray  # most parts a corner of block i can have
    truth: Corners
    is_unit: bool = False  # whether every value of every corner is one (parts may repeat)
    has_bounds: bool = False  # whether its oracle is approximate and leaves slack in `data.slack`
    is_cheap: bool = False  # whether an oracle call costs no more than looking at a few corners
    scratch: tuple[str, ...] = ()  # fields of `data` that its functions write to
    identity: tuple[np.ndarray, ...] = ()  # arrays that tell this training set from another


class CompiledOracle(NamedTuple):
    """A user's own jitted oracle, to be returned by ``task.compiled(X, Y)``.

    ``function(data, i, w, index, value) -> (size, loss)`` is an ``@njit`` function
    that finds the loss-augmented best output of example i, writes phi(x_i, y) as
    ``size`` distinct (index, value) pairs and returns ``size`` and the loss.
    ``data`` is a tuple of arrays and numbers; ``max_size`` bounds ``size``. To run with
    ``n_jobs > 1`` the function must not write to ``data``: threads share it.

    >>> CompiledOracle(function=None, data=(np.zeros(3),), max_size=2).max_size
    2
    """

    function: Any
    data: Any
    max_size: int
