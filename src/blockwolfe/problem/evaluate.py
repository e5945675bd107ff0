"""Looking at a model from outside: predictions, held-out loss, and a first probe of the oracle."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_weight
from blockwolfe.errors import InputError
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.doubts import check_answers, is_foreign
from blockwolfe.problem.state import initial_state
from blockwolfe.problem.sweep import sweep
from blockwolfe.tasks.reading.inputs import count, n_examples, positional
from blockwolfe.tasks.reading.vectors import called

__all__ = ["HeldOut", "check_held_out", "predict", "probe_oracle", "task_losses"]


def predict(task: Any, X: Any, w: np.ndarray) -> Any:
    """Outputs for all of X, in one compiled call where the task has it; none for an empty list."""
    is_table = getattr(X, "ndim", 1) > 1
    if count(X, "X") == 0 and not is_table:
        return []
    if callable(getattr(task, "predict", None)):
        return task.predict(X, w)
    return [called(task, "decode", i, x, w) for i, x in enumerate(positional(X))]


def task_losses(task: Any, Y: Any, Y_hat: Any) -> np.ndarray:
    """Task loss of every example."""
    if callable(getattr(task, "losses", None)):
        return np.asarray(task.losses(Y, Y_hat))
    pairs = enumerate(zip(Y, Y_hat, strict=True))
    return np.array([called(task, "loss", i, y, y_hat) for i, (y, y_hat) in pairs])


def check_held_out(held_out: Any) -> None:
    """Refuse what is no data to look at."""
    if not isinstance(held_out, Sequence) or len(held_out) not in (2, 3):
        raise InputError(
            "held_out must be a pair (X, Y), or (X, Y, sample_weight); found "
            f"{type(held_out).__name__}."
        )


class HeldOut:
    """Mean task loss on data that is not trained on: (X, Y), or (X, Y, weights of examples)."""

    def __init__(self, task: Any, held_out: Any) -> None:
        check_held_out(held_out)
        self.task = task
        self.X, self.Y = (positional(values) for values in held_out[:2])
        self.weight = check_weight((*held_out, None)[2], n_examples(self.X, self.Y))

    def __call__(self, w: np.ndarray) -> float:
        """The loss at w."""
        losses = task_losses(self.task, self.Y, predict(self.task, self.X, w))
        return float(np.average(losses, weights=self.weight))


def probe_oracle(blocks: Blocks, n_probes: int = 3) -> float:
    """Call a foreign oracle on a few blocks at a few w, so that a wrong one fails at once.

    A sweep raises when an output is worse than the truth; at w = 0 that cannot show, but there
    the outputs of other w may have a larger loss. Returns the seconds of a call, without those of
    the first calls; NaN for an oracle that is not probed.
    """
    if not is_foreign(blocks):
        return float("nan")
    few, own = np.arange(min(n_probes, len(blocks))), blocks.own()
    w, store = (
        np.random.default_rng(0).normal(size=blocks.n_features),
        initial_state(blocks).store(),
    )
    points = [w, -w, np.zeros_like(w)]
    if blocks.is_bounded:  # beyond the bounds an oracle owes nothing, and w never gets there
        points = [np.clip(point, blocks.lower, blocks.upper) for point in points]
    found = []
    for point in points:
        began = time.perf_counter()
        found.append(sweep(blocks, store, point, *own, order=few, keep=True))
        seconds = (time.perf_counter() - began) / len(few)
    check_answers(blocks, few, points, found)
    return seconds
