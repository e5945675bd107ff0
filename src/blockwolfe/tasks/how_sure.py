"""How sure a task is of its outputs: the next best ones, margins, and probabilities.

A task says which space of outputs each input has at w (`spaces`), and how choices and outputs are
made into each other. Everything else is here. A task of your own may have the methods `n_best`,
`margins`, `marginals` and `best_temperature` without this class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from blockwolfe.errors import InputError
from blockwolfe.structures import space as structure
from blockwolfe.structures.space import Scored, best_score

__all__ = ["HasMarginals", "HowSure", "fitted_temperature"]

# Between these, times the largest score, a temperature is looked for. Beyond them all outputs are
# alike, or one is certain.
COLDEST, HOTTEST = 1e-6, 1e4


class HowSure:
    """Base of tasks whose outputs have a `Space` (see `structures.space`).

    >>> import blockwolfe as bw
    >>> issubclass(bw.tasks.Chain, HowSure), issubclass(bw.tasks.PairwiseGraph, HowSure)
    (True, False)
    """

    def spaces(self, X: Any, w: np.ndarray) -> Sequence[Any]:
        """The outputs of each x, with their scores at w."""
        raise NotImplementedError

    def _named(self, choices: Any, space: Any) -> Any:
        """Choices as the output that users expect."""
        raise NotImplementedError

    def _together(self, values: list[np.ndarray]) -> Any:
        """What was found for each x, as users expect it."""
        return values

    def n_best(self, X: Any, w: np.ndarray, k: int) -> list[list[Scored]]:
        """The k best outputs for each x at w, with their scores; all of them where there are fewer.

        Which of several outputs with equal scores comes first is not defined.
        """
        return [
            [Scored(self._named(y, space), score) for y, score in structure.n_best(space, k)]
            for space in self.spaces(X, w)
        ]

    def margins(self, X: Any, w: np.ndarray) -> Any:
        """For each choice of the best output, how much worse the best one without it is."""
        return self._together([structure.margins(space) for space in self.spaces(X, w)])


class HasMarginals(HowSure):
    """Base of tasks whose spaces also have sums: `log_partition` and `marginals`.

    >>> import blockwolfe as bw
    >>> issubclass(bw.tasks.Chain, HasMarginals), issubclass(bw.tasks.Matching, HasMarginals)
    (True, False)
    """

    def _chosen(self, X: Any, Y: Any) -> Sequence[Any]:
        """Outputs as choices, checked against X; None for one that the model never makes."""
        raise NotImplementedError

    def marginals(self, X: Any, w: np.ndarray, temperature: float = 1.0) -> Any:
        """Probabilities of all choices, when that of an output is exp(score / temperature) / Z."""
        return self._together([space.marginals(temperature) for space in self.spaces(X, w)])

    def best_temperature(self, X: Any, Y: Any, w: np.ndarray) -> float:
        """The temperature at which the outputs Y are most likely.

        Those that the model never makes (with labels that training did not have, arcs that are
        no candidates) have no say.
        """
        pairs = zip(self.spaces(X, w), self._chosen(X, Y), strict=True)
        scored = [(space, space.score(y)) for space, y in pairs if y is not None]
        possible = [(space, score) for space, score in scored if score > -np.inf]
        if not possible:
            raise InputError(
                "Y has no output that the model can make, so no temperature makes it likely; "
                "expected outputs with labels that training had."
            )
        spaces, scores = zip(*possible, strict=True)
        return fitted_temperature(spaces, scores)


def fitted_temperature(spaces: Sequence[Any], scores: Sequence[float]) -> float:
    """The temperature at which outputs of these scores, one of each space, are most likely.

    The log-likelihood, sum_i score_i / T - log Z_i(T), is concave in 1 / T: it has one maximum.

    >>> from blockwolfe.structures.label_spaces import ChoiceSpace
    >>> spaces = [ChoiceSpace(np.array([[np.log(9.0), 0.0]]))] * 4
    >>> round(fitted_temperature(spaces, [np.log(9.0)] * 3 + [0.0]), 2)  # right 3 times of 4
    2.0

    It scales with the scores.

    >>> large = [ChoiceSpace(np.array([[1e6 * np.log(9.0), 0.0]]))] * 4
    >>> round(fitted_temperature(large, [1e6 * np.log(9.0)] * 3 + [0.0]), -4)
    2000000.0
    """
    total = float(np.sum(scores))
    best = [best_score(space) for space in spaces]
    size = float(np.max(np.abs([*best, *scores]))) or 1.0

    def minus_log_likelihood(log_temperature: float) -> float:
        temperature = float(np.exp(log_temperature))
        sums = sum(space.log_partition(temperature) for space in spaces)
        return float(sums - total / temperature)

    between = (np.log(COLDEST * size), np.log(HOTTEST * size))
    found = minimize_scalar(
        minus_log_likelihood, bounds=between, method="bounded", options={"xatol": 1e-4}
    )
    return float(np.exp(found.x))
