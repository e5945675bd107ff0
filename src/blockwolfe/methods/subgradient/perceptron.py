"""The structured perceptron: where the best output is not the true one, add their difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_flag
from blockwolfe.errors import OptionError
from blockwolfe.methods.base import Setup
from blockwolfe.methods.orders import VisitMethod
from blockwolfe.methods.subgradient.engine import VisitEngine
from blockwolfe.methods.subgradient.visits import Pull, sum_of_totals
from blockwolfe.problem.blocks import Blocks
from blockwolfe.rules.registry import register
from blockwolfe.running.engine import Engine

__all__ = ["Perceptron"]

# Scores are multiplied by this, relative to the squared size of features, before the oracle is
# asked: beside them the loss only decides between outputs of equal score, and so against the truth.
LARGE = 1e9


@register
@dataclass(frozen=True)
class Perceptron(VisitMethod):
    """The averaged structured perceptron: the quick baseline, without loss and without lambda.

    A visit decodes, and adds psi where the best output is not the true one (or ties with it). It
    minimises no objective: its primal is reported as that of any w, and `lam` changes nothing
    else. Sample weights multiply what a visit adds.

    Parameters
    ----------
    averaging : return the average of all iterates; else the last one.
    sampling : `Permutation()`, `Uniform()` or `Cyclic()`.
    certify_every : passes between two looks at the primal (each costs one oracle call per block).

    >>> import blockwolfe as bw
    >>> X, y = [[0.0, 1.0], [1.0, 0.5], [2.0, 0.0]], [0, 1, 1]
    >>> svm = bw.StructuredSVM(bw.tasks.Multiclass(), method="perceptron", max_passes=20)
    >>> import warnings
    >>> with warnings.catch_warnings():  # it certifies no gap, and says so
    ...     warnings.simplefilter("ignore", bw.NotCertifiedWarning)
    ...     svm.fit(X, y).score(X, y)
    1.0
    """

    name: ClassVar[str] = "perceptron"
    has_dual: ClassVar[bool] = False
    switches: ClassVar[dict[str, dict[str, Any]]] = {"last": {"averaging": False}}

    averaging: bool = True

    def __post_init__(self) -> None:
        check_flag("averaging", self.averaging)
        super().__post_init__()

    @property
    def words(self) -> str:
        """Whether it averages, and in what order."""
        averaging = "averaged " if self.averaging else ""
        return f"{averaging}perceptron, {self.sampling.words}"

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse bounds."""
        if blocks.is_bounded:
            raise OptionError(
                "method='perceptron' does not keep to bounds on w: it minimises no objective, so "
                "nothing says where to go from a bound. Use 'ssg' or 'auto', or leave bounds out."
            )

    def start(self, setup: Setup) -> Engine:
        """Visits, pass after pass."""
        return PerceptronSteps(self, setup)


class PerceptronSteps(VisitEngine):
    """w is the sum that visits add to."""

    def __init__(self, method: Perceptron, setup: Setup) -> None:
        blocks = setup.blocks
        pull = Pull(LARGE / _size(blocks) ** 2, False, blocks.lower, blocks.upper)
        super().__init__(method, setup, method.sampling, pull)

    def last_w(self) -> np.ndarray:
        """The total."""
        return self.total.copy()

    def average_w(self) -> np.ndarray:
        """Of the totals after each visit."""
        k = self.counts.visits
        return np.asarray(sum_of_totals(self.sums, k) / k)


def _size(blocks: Blocks) -> float:
    """About the size of features: of the columns of parts, or of entries of true outputs."""
    sizes = blocks.column_norm if len(blocks.column_norm) else np.abs(blocks.truth.value)
    largest = float(sizes.max(initial=0.0))
    return min(max(largest, 1e-100), 1e100) if largest > 0.0 else 1.0
