"""Any task, trained with an oracle that is faster than its own and may miss the best output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.base.schema import Misfit
from blockwolfe.errors import InputError, OptionError, unknown_option
from blockwolfe.tasks.approximate.rough import ROUGH_ORACLES, RoughOracle
from blockwolfe.tasks.base import TaskBlocks, oracles_of
from blockwolfe.tasks.wrapping import WrappingTask

__all__ = ["Approximate"]

CERTIFY = ("exact", "bound", "estimate")


class Approximate(WrappingTask):
    """A task whose visits ask a rough oracle, while certificates stay what they are.

    Steps towards outputs that are good but not the best still gain: where a rough oracle finds, in
    the mean, a share nu of the gap of a block, convergence is slower by a factor of at most
    1 / nu^2 (Lacoste-Julien et al. 2013). One that finds nothing more ends a run before the
    tolerance is reached: its status says so, and its gap is true. Predictions are those of the
    task. Methods that go by full passes alone (batch Frank-Wolfe, cutting planes, batch
    subgradient) ask the exact oracle only.

    Parameters
    ----------
    task : the task.
    how : the rough oracle: `Beam(width)` or `Greedy()` for a `Chain`; `Truncated(max_nodes)` for a
        `Program`; `Additive(delta)` or `Multiplicative(nu)`, for experiments with any task, by its
        methods in Python.
    certify : "exact": full passes ask the task's own oracle, and gaps are true. "bound": they
        ask the rough one, which proves a bound (`Truncated`, `Additive`); the gap has its slack.
        "estimate": they ask the rough one, and results are estimates.

    >>> import blockwolfe as bw
    >>> data = bw.datasets.synthetic_chains(30, n_labels=5, n_features=8, random_state=0)
    >>> task = Approximate(bw.tasks.Chain(), bw.tasks.Beam(2))
    >>> svm = bw.StructuredSVM(task, lam=0.1, tol=0.01, random_state=0).fit(data.X, data.Y)
    >>> svm.certificate_.exact, svm.certificate_.relative_gap <= 0.01
    (True, True)
    """

    def __init__(self, task: Any, how: Any, certify: str = "exact") -> None:
        self.task = task
        self.how = how
        self.certify = certify

    def fit(self, X: Any, Y: Any) -> Approximate:
        """Fit the task, and check that the rough oracle fits it; trains nothing."""
        self._check_options()
        if callable(getattr(self.task, "augmented_score", None)):
            raise InputError(
                f"task {type(self.task).__name__} has a hinge of its own, of which rough oracles "
                "know nothing; use the task inside it, or leave Approximate out."
            )
        self._fit_inside(X, Y)
        self.how.check(self.task_)
        if self.certify != "estimate" and not getattr(self.task_, "exact", True):
            raise OptionError(
                f"certify={self.certify!r}: the oracle of {type(self.task_).__name__} is "
                "approximate itself; use certify='estimate', or leave Approximate out."
            )
        return self

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take the fitted task."""
        if not isinstance(self.how, RoughOracle):
            raise Misfit("how is no rough oracle.")
        self._check_options()
        super().relearn(learned)

    def _check_options(self) -> None:
        if not isinstance(self.how, RoughOracle):
            names = ", ".join(kind.__name__ for kind in ROUGH_ORACLES)
            raise OptionError(
                f"how={self.how!r} is no rough oracle; expected an object such as Beam(4), of one "
                f"of the classes {names}, or of your own."
            )
        if self.certify not in CERTIFY:
            raise unknown_option("certify", self.certify, CERTIFY)
        if self.certify == "bound" and not self.how.bounds:
            raise OptionError(
                f"certify='bound': {self.how!r} proves no bound; use certify='exact', or "
                "'estimate'."
            )

    # -- oracles -------------------------------------------------------------------------------

    @property
    def exact(self) -> bool:
        """Whether full passes find the best outputs."""
        return self.certify == "exact"

    @property
    def default_c(self) -> Any:
        """That of the task, where it has one."""
        return self._inner.default_c

    @property
    def oracles(self) -> tuple[str, ...]:
        """Names of the oracles that the compiled form has; of Python, the maximum alone."""
        if not self.how.is_compiled:
            return ("maximize",)
        # (a rough maximum projects nothing)
        left_out = () if self.certify == "exact" else ("project",)
        return tuple(name for name in oracles_of(self._inner) if name not in left_out)

    def augmented_decode(self, x: Any, y: Any, w: np.ndarray) -> Any:
        """The oracle of full passes."""
        if self.certify == "exact":
            return self._inner.augmented_decode(x, y, w)
        return self._rough(x, y, w)

    @property
    def augmented_decode_bound(self) -> Any:
        """The same with a bound, by a function of (x, y, w), where there is one."""
        if self.certify == "bound":
            return self._bounded
        if self.certify == "estimate":
            raise AttributeError("certify='estimate' has no bounds.")
        return self._inner.augmented_decode_bound

    @property
    def rough_decode(self) -> Any:
        """The oracle of visits, where it is not that of full passes."""
        if self.certify != "exact":
            raise AttributeError("there is one oracle, rough, for visits and for full passes.")
        return self._rough

    def _rough(self, x: Any, y: Any, w: np.ndarray) -> Any:
        return self.how.answer(self._inner, x, y, w)[0]

    def _bounded(self, x: Any, y: Any, w: np.ndarray) -> tuple[Any, float]:
        found: tuple[Any, float] = self.how.answer(self._inner, x, y, w)
        return found

    def compiled(self, X: Any, Y: Any) -> TaskBlocks | None:
        """The training set for the compiled loop; None where the rough oracle is in Python."""
        made: TaskBlocks | None = self.how.compiled(self.task_, X, Y)
        if made is None or made.rough is None or self.certify == "exact":
            return made
        oracles = made.rough._replace(marginals=made.oracles.marginals)
        return replace(made, oracles=oracles, rough=None)
