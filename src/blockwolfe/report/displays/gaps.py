"""Where the gap lies: the share of every training example in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from blockwolfe.errors import OptionError
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.results.certificate import Certificate

__all__ = ["BlockGapsDisplay"]


class BlockGapsDisplay:
    """Block gaps of a certificate: their histogram, and the examples with the largest.

    The gap of a block is the example's share of the gap, hence of what further training could
    still change.

    >>> import blockwolfe as bw
    >>> svm = bw.StructuredSVM(lam=0.1, tol=0.1).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> display = BlockGapsDisplay.from_estimator(svm)
    >>> len(display.gaps), len(display.hardest(2))
    (3, 2)
    """

    def __init__(self, gaps: Any, block: str = "example") -> None:
        self.gaps, self.block = np.asarray(gaps, dtype=np.float64), block
        if not np.isfinite(self.gaps).all():
            raise OptionError(
                "the block gaps are not known, because the run ended without a full pass; "
                "certify(problem, result.last_state, lam) makes one."
            )

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> BlockGapsDisplay:
        """Of a certificate; those of the general form have no lambda, and no examples."""
        return cls(certificate.block_gaps, "example" if certificate.lam else "block")

    @classmethod
    def from_estimator(cls, svm: StructuredSVM) -> BlockGapsDisplay:
        """Of a fitted estimator."""
        check_is_fitted(svm, "w_")
        return cls.from_certificate(svm.certificate_)

    @property
    def total(self) -> float:
        """The gap."""
        return float(self.gaps.sum())

    def hardest(self, n: int = 10) -> np.ndarray:
        """Numbers of the examples with the largest block gaps, the largest first."""
        return np.argsort(-self.gaps, kind="stable")[:n]

    def share(self, i: int) -> float:
        """What part of the gap comes from example i."""
        return float(self.gaps[i] / self.total) if self.total > 0.0 else 0.0

    def plot(self, axes: Any = None, n_hardest: int = 15) -> BlockGapsDisplay:
        """Draw the histogram (left) and the largest block gaps (right); needs matplotlib."""
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
        left, right = axes
        left.hist(self.gaps, bins=min(40, max(5, len(self.gaps) // 4)))
        left.set_yscale("log")
        title = f"{len(self.gaps)} block gaps, {self.total:.3g} in all"
        left.set(xlabel="block gap", ylabel=f"{self.block}s", title=title)
        hardest = self.hardest(n_hardest)
        right.barh([str(i) for i in hardest], self.gaps[hardest])
        right.invert_yaxis()
        right.set(xlabel="block gap", ylabel=self.block, title=f"The hardest {self.block}s")
        self.axes_, self.figure_ = axes, left.figure
        return self
