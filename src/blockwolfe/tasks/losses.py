"""Task losses that are sums over positions: a cost matrix, a scale, and nothing else.

L(y, y_hat) = scale(length) * sum_t cost[y_t, y_hat_t],      cost >= 0, zero diagonal
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.class_weight import compute_class_weight

from blockwolfe.base.checks import is_real
from blockwolfe.base.memory import check_memory
from blockwolfe.errors import InputError, OptionError, unknown_option
from blockwolfe.tasks.reading.labels import encode, find

__all__ = ["CostMatrix", "Hamming", "Loss", "ZeroOne", "as_loss", "label_losses"]


class Loss(BaseEstimator):
    """Base of the losses; use `ZeroOne`, `Hamming` or `CostMatrix`.

    >>> Hamming(normalize=True).scale(4)
    0.25
    """

    class_weight: Any = None
    normalize: bool = False

    def base_cost(self, n_labels: int) -> np.ndarray:
        """Cost of each (true, predicted) pair of labels before class weights."""
        return 1.0 - np.eye(n_labels)

    def scale(self, length: Any) -> Any:
        """Factor on the summed cost of a sequence."""
        return 1.0 / length if self.normalize else np.ones_like(length, dtype=np.float64)

    def cost(self, classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Cost matrix over `classes`, given the encoded labels of the training set."""
        _check_pairs(len(classes))
        cost = np.asarray(self.base_cost(len(classes)), dtype=np.float64)
        weight = class_weights(self.class_weight, classes, labels)
        return np.ascontiguousarray(cost * weight[:, None])

    def compact_cost(self, classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The same; as one column where all wrong labels cost alike (see `pair_costs`).

        >>> Hamming().compact_cost(np.arange(3), np.arange(3)).shape
        (3, 1)
        """
        if type(self).base_cost is not Loss.base_cost:
            return self.cost(classes, labels)
        return np.ascontiguousarray(class_weights(self.class_weight, classes, labels)[:, None])


def pair_costs(cost: np.ndarray, truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Cost of each pair of encoded labels; a matrix of one column is the cost of any miss.

    >>> pair_costs(np.array([[2.0], [3.0]]), np.array([0, 1]), np.array([0, 0]))
    array([0., 3.])
    """
    if cost.shape[1] > 1:
        return np.asarray(cost[truth, guess])
    return np.where(truth == guess, 0.0, cost[truth, 0])


def _check_pairs(n_labels: int) -> None:
    needed, n_copies = 8 * n_labels**2, 3
    check_memory(
        n_copies * needed,
        f"the cost of every pair of {n_labels:,} labels",
        "Use fewer labels, or Multiclass with task_loss='zero_one', which keeps no such table.",
    )


class ZeroOne(Loss):
    """1 for any wrong label, 0 for the right one; for single labels.

    ``class_weight``: None, "balanced" (by the number of examples, whatever their sample weight),
    or a dict from label to the cost of missing it.

    >>> ZeroOne().base_cost(2)
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(self, class_weight: Any = None) -> None:
        self.class_weight = class_weight


class Hamming(Loss):
    """The number of wrong positions or, with ``normalize=True``, their share.

    >>> Hamming().scale(np.array([3, 5]))
    array([1., 1.])
    """

    def __init__(self, normalize: bool = False, class_weight: Any = None) -> None:
        self.normalize = normalize
        self.class_weight = class_weight


class CostMatrix(Loss):
    """``costs[j][k]`` for predicting label k where j is true, in the order of the task's labels.

    Summed over positions, and divided by their number when ``normalize``.

    >>> CostMatrix([[0, 1], [5, 0]]).base_cost(2)
    array([[0., 1.],
           [5., 0.]])
    """

    def __init__(self, costs: Any, normalize: bool = False, class_weight: Any = None) -> None:
        self.costs = costs
        self.normalize = normalize
        self.class_weight = class_weight

    def base_cost(self, n_labels: int) -> np.ndarray:
        """The matrix, checked."""
        try:
            costs = np.array(self.costs, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise OptionError(f"task_loss: costs is not a matrix of numbers: {error}.") from error
        if costs.shape != (n_labels, n_labels):
            raise OptionError(
                f"task_loss: costs has shape {costs.shape}; expected ({n_labels}, {n_labels}), "
                "a row and a column per label."
            )
        if not np.isfinite(costs).all() or (costs < 0).any() or np.diag(costs).any():
            raise OptionError(
                "task_loss: costs must be finite and >= 0, with zeros on the diagonal."
            )
        return costs


def label_losses(
    truth: np.ndarray,
    guess: np.ndarray,
    offset: np.ndarray,
    classes: np.ndarray,
    cost: np.ndarray,
    loss: Loss,
) -> np.ndarray:
    """Losses of examples whose labels lie end to end; a label unknown to training is missed."""
    known, is_known = find(truth, classes)
    if isinstance(loss, CostMatrix):
        encode(truth, classes, offset)  # no cost is defined for an unknown label
    costs = np.where(is_known, pair_costs(cost, known, encode(guess, classes, offset)), 1.0)
    return np.asarray(np.add.reduceat(costs, offset[:-1]) * loss.scale(np.diff(offset)))


_NAMED: dict[str, Callable[[], Loss]] = {
    "zero_one": ZeroOne,
    "hamming": Hamming,
    "normalized_hamming": functools.partial(Hamming, normalize=True),
}


def as_loss(loss: Any) -> Loss:
    """A loss from its name, a matrix, or itself.

    >>> as_loss("hamming")
    Hamming()
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        if loss not in _NAMED:
            raise unknown_option("task_loss", loss, _NAMED)
        return _NAMED[loss]()
    return CostMatrix(loss)


def class_weights(class_weight: Any, classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The cost of missing each label, given the encoded labels of the training set."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise unknown_option("class_weight", class_weight, ["balanced"])
        present = np.unique(labels)
        weight = np.ones(len(classes))
        weight[present] = compute_class_weight("balanced", classes=present, y=labels)
        return weight
    if not isinstance(class_weight, Mapping):
        raise OptionError(
            f"class_weight={class_weight!r}; expected None, 'balanced', or a dict from label to "
            "the cost of missing it."
        )
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise OptionError(f"class_weight has the label {unknown[0]!r}, which is not among {known}.")
    for label, cost in class_weight.items():
        if not is_real(cost):
            raise OptionError(f"class_weight of {label!r} is {cost!r}; expected a number >= 0.")
    weight = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise InputError("class_weight has a negative, NaN or infinite weight; expected >= 0.")
    return weight
