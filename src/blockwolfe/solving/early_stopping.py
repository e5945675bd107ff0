"""When training ends because data that is not trained on gains nothing any more.

Looked at is the running average of w that the driver keeps (`pairing`), which has less noise than
the iterate; of methods for which it keeps none (cutting planes), the iterate. The weights of least
held-out loss are kept: they are what the run returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Watch"]


class Watch:
    """The least loss so far, and for how many looks it has been that.

    >>> watch = Watch(lambda w: abs(w[0] - 2.0), n_iter_no_change=2)
    >>> for passes, value in enumerate([0.0, 1.5, 3.0, 3.5]):
    ...     watch.look(np.array([value]), passes)
    >>> watch.is_over, watch.best_w, watch.best_loss
    (True, array([1.5]), 0.5)
    """

    def __init__(self, evaluate: Any, n_iter_no_change: int) -> None:
        self._evaluate, self._most = evaluate, n_iter_no_change
        self.best_w: np.ndarray | None = None
        self.loss, self.best_loss = float("nan"), float("inf")  # the last, and the least
        self._passes = -np.inf  # at the last look
        self._n_worse = 0  # looks since the least

    def is_due(self, passes: float) -> bool:
        """Whether a pass was made since the last look."""
        return passes >= self._passes + 1.0

    def look(self, w: np.ndarray, passes: float) -> None:
        """Measure w."""
        self.loss, self._passes = float(self._evaluate(w)), passes
        if self.loss < self.best_loss:
            self.best_w, self.best_loss, self._n_worse = w.copy(), self.loss, 0
        else:
            self._n_worse += 1

    @property
    def is_over(self) -> bool:
        """Whether nothing has been gained for too long."""
        return self._n_worse >= self._most
