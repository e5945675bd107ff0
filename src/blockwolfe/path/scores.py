"""Scores of many lambdas on held-out folds: what the choice of one was made by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["LambdaScores"]

ROUNDING = 1e-9


class LambdaScores(NamedTuple):
    """Lambdas from the largest down, (folds, lambdas) scores, and what they are called.

    >>> scores = LambdaScores(np.array([1.0, 0.1]), np.array([[0.5, 0.8], [0.7, 0.9]]))
    >>> scores.mean.round(2).tolist(), scores.error.round(2).tolist()
    ([0.6, 0.85], [0.1, 0.05])
    """

    lams: np.ndarray
    scores: np.ndarray
    scoring: str = "score"

    @classmethod
    def of(cls, svm: Any) -> LambdaScores | None:
        """Those of an estimator that chose its lambda, also after loading; None of others."""
        if hasattr(svm, "lams_") and hasattr(svm, "scores_"):
            is_named = isinstance(svm.scoring, str)
            return cls(svm.lams_, svm.scores_, *([svm.scoring] if is_named else []))
        kept = getattr(svm, "extra_", {}).get("cross_validation")
        if kept is None:
            return None
        return cls(kept["lams"], kept["scores"], str(kept.get("scoring", "score")))

    def packed(self) -> dict[str, Any]:
        """For `save(svm, path, extra)`; `of` reads it back."""
        return {"cross_validation": self._asdict()}

    @property
    def n_folds(self) -> int:
        """How many folds there were."""
        return len(self.scores)

    @property
    def mean(self) -> np.ndarray:
        """Mean score of each lambda."""
        return np.asarray(self.scores.mean(axis=0))

    @property
    def error(self) -> np.ndarray:
        """Its standard error; 0 where there is one fold."""
        if self.n_folds < 2:
            return np.zeros(len(self.lams))
        return np.asarray(self.scores.std(axis=0, ddof=1) / np.sqrt(self.n_folds))

    @property
    def best(self) -> float:
        """The largest lambda of the best mean score."""
        return float(self.lams[np.argmax(self.mean)])

    @property
    def lost(self) -> LambdaScores:
        """What each lambda loses against the best, fold by fold."""
        best = [int(np.argmax(self.mean))]
        return LambdaScores(self.lams, self.scores[:, best] - self.scores)

    @property
    def as_good(self) -> np.ndarray:
        """Which lambdas are not clearly worse than the best: by a standard error of the difference.

        All see the same folds, so that differences have smaller errors than scores have.

        >>> scores = np.array([[0.5, 0.81, 0.8, 0.82], [0.6, 0.9, 0.92, 0.88]])
        >>> LambdaScores(np.array([8.0, 4.0, 2.0, 1.0]), scores).as_good.tolist()
        [False, True, True, True]
        """
        lost = self.lost
        # (a loss in one fold alone has a mean that is its own error)
        return np.asarray(lost.mean <= lost.error * (1.0 + ROUNDING))

    def at(self, lam: float) -> float:
        """Mean score of one of the lambdas."""
        return float(self.mean[np.argmin(np.abs(self.lams - lam))])
