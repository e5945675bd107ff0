"""What `fit` of a task has learned, into a model file and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.schema import Misfit, Reader

__all__ = ["Learned"]


class Learned:
    """Base of tasks that a model file keeps whole: their options, and the attributes `learned`.

    A file holds the options (`get_params`, by scikit-learn) and what `packed` gives; after
    loading, a new task with these options is handed all of it by `relearn`. A subclass adds to
    both what it has besides: plain JSON values, arrays, or (among the plain values) another
    fitted task.

    >>> class Mean(Learned):
    ...     learned = ("mean_",)
    >>> task, again = Mean(), Mean()
    >>> task.mean_ = 2.0
    >>> plain, arrays = task.packed()
    >>> again.relearn(plain | arrays)
    >>> float(again.mean_)
    2.0
    """

    learned: tuple[str, ...] = ()  # names of attributes: arrays, or what numpy makes one of

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain values, and arrays, by name."""
        return {}, {name: np.asarray(getattr(self, name)) for name in self.learned}

    def relearn(self, learned: dict[str, Any]) -> None:
        """Set what was packed, and what follows from it and the options.

        It may come from anybody's file: a subclass checks here all that its methods rely on.
        """
        for name in self.learned:
            Reader(learned).given(name)
        for name, value in learned.items():
            # (never a method, an option, or what is not learned)
            if not name.endswith("_") or name.startswith("_") or hasattr(type(self), name):
                raise Misfit(f"{name!a} is nothing that {type(self).__name__} learns.")
            setattr(self, name, value)
