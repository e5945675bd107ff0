"""The toy problem of the 2016 paper (appendix C), with its optimum in closed form.

n - 1 easy examples share one feature and are solved by one visit to any of them; one hard
example has K orthogonal features and needs many visits. At lam = 1/n

    w*  = sum_{k<=K} e_k / (K sqrt 2) + e_{K+1},       P* = D* = (3/2 - 1/(4K)) / n.

(The paper prints w* without the factor 1/sqrt 2 that its own features imply.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.errors import OptionError
from blockwolfe.tasks.base import CompiledOracle

__all__ = ["Toy", "ToyProblem", "toy_problem"]


@jit
def _oracle(data: Any, i: int, w: Any, index: Any, value: Any) -> tuple[int, float]:
    is_hard, n_labels = data[0][i], data[1]
    if not is_hard:
        if w[n_labels] > 1.0:
            return 0, 0.0
        index[0], value[0] = n_labels, -1.0
        return 1, 1.0
    best = 0
    for k in range(1, n_labels):
        if w[k] < w[best]:
            best = k
    if w[best] * np.sqrt(0.5) > 1.0:
        return 0, 0.0
    index[0], value[0] = best, -np.sqrt(0.5)
    return 1, 1.0


class Toy:
    """Labels 0 (true) to K; x is True for the hard example. Also an example of a jitted oracle.

    >>> Toy(2).features(True, 1)
    array([-0.70710678,  0.        ,  0.        ])
    """

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels
        self.n_features = n_labels + 1

    def features(self, x: bool, y: int) -> np.ndarray:
        """Zero for label 0; a feature per label if hard, one common feature if easy."""
        phi = np.zeros(self.n_features)
        if y > 0:
            phi[y - 1 if x else self.n_labels] = -np.sqrt(0.5) if x else -1.0
        return phi

    def loss(self, y: int, y_hat: int) -> float:
        """Zero-one."""
        return float(y != y_hat)

    def decode(self, x: bool, w: np.ndarray) -> int:
        """Best label."""
        return max(self.outputs(x), key=lambda y: float(np.dot(w, self.features(x, y))))

    def augmented_decode(self, x: bool, y: int, w: np.ndarray) -> int:
        """Best label with the loss added."""
        return max(
            reversed(self.outputs(x)),
            key=lambda h: self.loss(y, h) + float(np.dot(w, self.features(x, h))),
        )

    def outputs(self, x: bool) -> range:
        """All labels."""
        return range(self.n_labels + 1)

    def compiled(self, X: Any, Y: Any) -> CompiledOracle:
        """The same oracle, jitted; true labels are all 0."""
        return CompiledOracle(_oracle, (np.array(X, dtype=np.bool_), self.n_labels), max_size=1)


class ToyProblem(NamedTuple):
    """Task and data of the toy problem with its known answer.

    >>> toy_problem(n=4, n_labels=3).lam
    0.25
    """

    task: Toy
    X: list[bool]
    Y: list[int]
    lam: float
    optimum: float
    w: np.ndarray


def toy_problem(n: int, n_labels: int) -> ToyProblem:
    """The toy problem with n examples, the first of them hard with `n_labels` wrong labels.

    >>> import blockwolfe as bw
    >>> toy = bw.datasets.toy_problem(n=5, n_labels=3)
    >>> result = bw.solve(bw.Problem(toy.task, toy.X, toy.Y), toy.lam, tol=1e-3)
    >>> abs(result.certificate.primal - toy.optimum) <= 1e-3
    True
    """
    if n < 1 or n_labels < 1:
        raise OptionError(f"n={n} and n_labels={n_labels} must both be at least 1.")
    w = np.full(n_labels + 1, 1.0 / (n_labels * np.sqrt(2.0)))
    w[-1] = 1.0 if n > 1 else 0.0
    easy = 0.5 if n > 1 else 0.0
    optimum = (1.0 - 1.0 / (4.0 * n_labels) + easy) / n
    X = [True] + [False] * (n - 1)
    return ToyProblem(Toy(n_labels), X, [0] * n, 1.0 / n, optimum, w)
