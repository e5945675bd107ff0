"""What callbacks see, and what they may answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.errors import OptionError
from blockwolfe.results.trace import TraceRow

__all__ = ["Event", "checked_callbacks", "wants_stop"]


@dataclass(frozen=True)
class Event:
    """One pass has ended: its trace row and a copy of the weights at that moment, read-only.

    With averaging, `w` is the average in rows with a certificate and the last iterate in others.

    A callback is any function of an event; it returns True to stop the run.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> bw.solve(problem, 0.1, callbacks=[lambda event: event.row.passes >= 1]).status.name
    'STOPPED_BY_CALLBACK'
    """

    row: TraceRow
    w: np.ndarray
    lam: float
    tol: float


Callback = Callable[[Any], Any]


def checked_callbacks(callbacks: Any) -> tuple[Callback, ...]:
    """A tuple of callables."""
    given = tuple(callbacks) if isinstance(callbacks, Iterable) else (callbacks,)
    for callback in given:
        if not callable(callback):
            raise OptionError(f"callbacks has {callback!r}; expected functions of one event.")
    return given


def wants_stop(callbacks: tuple[Callback, ...], event: Any) -> bool:
    """Tell every callback; whether any returned True."""
    answers = [callback(event) for callback in callbacks]
    for answer in answers:
        if answer is not None and not isinstance(answer, (bool, np.bool_)):
            raise OptionError(
                f"a callback returned {answer!r}; expected True to stop, or False or None to go on."
            )
    return any(bool(answer) for answer in answers)
