"""The pass over all shards before a run: what they must agree on, and what they hold.

A task with something to learn is fitted to a few examples that are made up of what the shards have
seen: all labels, and all names of features or as many columns. It then learns what it would learn
from all examples together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.checks import check_weight
from blockwolfe.data.labels import flatten
from blockwolfe.data.vectorizers.tokens import counted_names, frequent_names
from blockwolfe.errors import InputError, OptionError
from blockwolfe.problem.blocks import make_blocks
from blockwolfe.problem.bounds import box_of
from blockwolfe.problem.evaluate import probe_oracle
from blockwolfe.problem.unit import objective_at_start
from blockwolfe.tasks.chain import Chain
from blockwolfe.tasks.multiclass import Multiclass
from blockwolfe.tasks.reading.inputs import (
    is_token_dicts,
    n_examples,
    positional,
    table_tokens,
    without_masks,
)
from blockwolfe.tasks.reading.vectors import fitted_clone

__all__ = [
    "Held",
    "Seen",
    "Survey",
    "Surveyor",
    "check_can_learn",
    "fitted_to_all",
    "loaded",
    "obstacle_to_learning",
]

Data = tuple[Any, Any, np.ndarray]  # X, Y, and weights of examples


def loaded(shard: Any, number: int) -> Data:
    """The examples of a shard, wherever this is called."""
    found = shard() if callable(shard) else shard
    if not isinstance(found, (tuple, list)) or len(found) not in (2, 3):
        whose = "the function of shards" if callable(shard) else "shards"
        raise InputError(
            f"{whose}[{number}] gives a {type(found).__name__}; expected (X, Y), or (X, Y, "
            "sample_weight)."
        )
    X, Y = positional(found[0]), positional(found[1])
    return X, Y, check_weight((*found, None)[2], n_examples(X, Y))


@dataclass(frozen=True)
class Seen:
    """What a shard has seen that others must know of."""

    labels: np.ndarray
    names: Counter[str] | None  # of features, how often each occurs; None where X has columns
    n_columns: int


@dataclass(frozen=True)
class Held:
    """What a run must know of the blocks of a shard, without their data."""

    weight: np.ndarray
    part_size: np.ndarray
    column_norm: np.ndarray
    unit: float
    facts: dict[str, Any]  # the same in all shards
    n_parts: int
    n_steps: float
    fingerprint: str | None  # None where something cannot be compared,
    obstacle: str  # and why

    @property
    def identity(self) -> Any:
        """What tells these examples from others."""
        return Incomparable(self.obstacle) if self.fingerprint is None else self.fingerprint


class Incomparable:
    """In the place of an identity: like no other, and no digest can be made of it."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __reduce__(self) -> Any:
        raise TypeError(self.why)


@dataclass(frozen=True)
class Survey:
    """What a surveyor is made from."""

    task: Any
    shard: Any
    number: int

    def make(self, shelf: dict[str, Any]) -> Surveyor:
        """Where the shard lives."""
        return Surveyor(*loaded(self.shard, self.number), self.task, shelf)


class Surveyor:
    """The examples of a shard before a run; every method is a message with an answer."""

    def __init__(
        self, X: Any, Y: Any, weight: np.ndarray, task: Any, shelf: dict[str, Any]
    ) -> None:
        self._X, self._Y, self._weight, self._task = X, Y, weight, task
        self._shelf = shelf

    def weigh(self) -> float:
        """The sum of the sample weights."""
        return float(self._weight.sum())

    def see(self) -> Seen:
        """What the task would learn here."""
        if isinstance(self._task, Multiclass):
            labels = np.unique(np.asarray(self._Y))
            return Seen(labels, None, table_tokens(self._X)[1])
        labels, features = np.unique(flatten(self._Y)[0]), without_masks(self._X)
        if not self._task.emission:
            return Seen(labels, None, 0)
        if is_token_dicts(features):
            return Seen(labels, counted_names(features), 0)
        return Seen(labels, None, int(np.shape(features[0])[1]))

    def hold(self, task: Any, total: float, bounds: Any) -> Held:
        """Of the blocks, with their share of the weight of all shards."""
        self._shelf["blocks"] = blocks = make_blocks(task, self._X, self._Y, self._weight / total)
        lower, upper = box_of(bounds, task, blocks.n_features)
        probe_oracle(replace(blocks, lower=lower, upper=upper))
        if blocks.kernel is not None:
            raise OptionError("a kernel needs the examples of all shards; use bw.Problem.")
        names = ("n_features", "is_unit", "is_exact", "is_compiled", "bounds_error", "form")
        return Held(
            weight=blocks.weight,
            part_size=blocks.part_size,
            column_norm=blocks.column_norm,
            unit=objective_at_start(blocks),
            facts={name: getattr(blocks, name) for name in names},
            n_parts=blocks.n_parts,
            n_steps=blocks.n_steps,
            fingerprint=None if blocks.identity.obstacles else blocks.fingerprint,
            obstacle=blocks.identity.explained() if blocks.identity.obstacles else "",
        )


# -- one task for all shards -----------------------------------------------------------------------


class Obstacle(NamedTuple):
    """Why a task cannot learn from summaries of shards, and what to do in Python."""

    what: str
    remedy: str


def obstacle_to_learning(task: Any) -> Obstacle | None:
    """Of a task that learns what no summary of a shard tells."""
    if not callable(getattr(task, "fit", None)):
        return None
    if type(task) not in (Chain, Multiclass) or task.kernel is not None:
        return Obstacle(
            f"task {type(task).__name__} learns from all examples at once",
            "give sample=(X, Y), some examples with all labels and features, for it to learn from",
        )
    if getattr(task.task_loss, "class_weight", None) == "balanced":
        return Obstacle(
            "class_weight='balanced' needs the labels of all shards",
            "give the weights as a dict, or sample=(X, Y)",
        )
    return None


def check_can_learn(task: Any) -> None:
    """Refuse a task that learns what no summary of a shard tells."""
    obstacle = obstacle_to_learning(task)
    if obstacle is not None:
        raise OptionError(f"{obstacle.what}; {obstacle.remedy}.")


def fitted_to_all(task: Any, seen: Sequence[Seen]) -> Any:
    """A copy of the task that has learned from all shards what it would from their union."""
    if len({some.labels.dtype.kind in "US" for some in seen}) > 1:
        raise InputError("some shards have strings as labels, and some numbers; expected one kind.")
    labels = np.unique(np.concatenate([some.labels for some in seen]))
    widths = sorted({some.n_columns for some in seen if some.names is None})
    if len(widths) > 1 or (widths and any(some.names is not None for some in seen)):
        raise InputError(
            f"shards have {' and '.join(map(str, widths))} columns of features"
            f"{', and some have token dicts' if len(widths) < 2 else ''}; expected the same in all."
        )
    if isinstance(task, Multiclass):
        return fitted_clone(task, sp.csr_array((len(labels), widths[0])), labels)
    if widths:
        return fitted_clone(task, [sp.csr_array((len(labels), widths[0]))], [labels])
    least = int(task.min_count)
    names = frequent_names([some.names for some in seen if some.names is not None], least)
    n_others = max(len(labels) - least, 0)
    tokens = [names] * least + [names[:1]] * n_others
    return fitted_clone(task, [tokens], [np.resize(labels, len(tokens))])
