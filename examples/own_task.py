"""Bring your own oracle: a task in four Python methods, then the same oracle jitted.

The task: rank three items for a user. An output is one of the 6 orders; phi sums, over positions,
the item's features discounted by position; the loss counts pairs in the wrong order.

    python examples/own_task.py
"""

from __future__ import annotations

import itertools
from typing import Any

import numba
import numpy as np

import blockwolfe as bw

ORDERS = np.array(list(itertools.permutations(range(3))))
DISCOUNT = np.array([1.0, 0.5, 0.0])


class Ranking:
    """x: (3, p) item features; y: the items from best to worst."""

    def features(self, x: np.ndarray, y: Any) -> np.ndarray:
        return DISCOUNT @ x[list(y)]

    def loss(self, y: Any, y_hat: Any) -> float:
        place, guess = np.argsort(y), np.argsort(y_hat)
        pairs = [(0, 1), (0, 2), (1, 2)]
        return sum(float((place[a] < place[b]) != (guess[a] < guess[b])) for a, b in pairs) / 3

    def decode(self, x: np.ndarray, w: np.ndarray) -> Any:
        return tuple(np.argsort(-(x @ w), kind="stable"))

    def augmented_decode(self, x: np.ndarray, y: Any, w: np.ndarray) -> Any:
        return max(
            self.outputs(x), key=lambda h: self.loss(y, h) + float(np.dot(w, self.features(x, h)))
        )

    def measure(self, Y: Any, Y_hat: Any) -> float:
        """Optional: what `score` is, here the share of pairs in the right order."""
        return 1.0 - float(
            np.mean([self.loss(y, y_hat) for y, y_hat in zip(Y, Y_hat, strict=True)])
        )

    def outputs(self, x: np.ndarray) -> list[tuple[int, ...]]:
        """Optional: lets `check_task` compare with every output."""
        return [tuple(order) for order in ORDERS]


@numba.njit
def ranking_oracle(data, i, w, index, value):
    """Write phi of the loss-augmented best order of example i; return its size and its loss."""
    X, losses, orders, discount = data
    scores = X[i] @ w
    best, best_value = 0, -np.inf
    for h in range(len(orders)):
        total = losses[i, h]
        for position in range(3):
            total += discount[position] * scores[orders[h, position]]
        if total > best_value:
            best, best_value = h, total
    for j in range(X.shape[2]):
        index[j], value[j] = j, 0.0
        for position in range(3):
            value[j] += discount[position] * X[i, orders[best, position], j]
    return X.shape[2], losses[i, best]


class FastRanking(Ranking):
    """The same task; the whole training pass now runs compiled."""

    def compiled(self, X: Any, Y: Any) -> bw.tasks.CompiledOracle:
        losses = np.array([[self.loss(y, order) for order in ORDERS] for y in Y])
        data = (np.ascontiguousarray(X, dtype=float), losses, ORDERS, DISCOUNT)
        return bw.tasks.CompiledOracle(ranking_oracle, data, max_size=np.shape(X)[2])


def main() -> None:
    rng = np.random.default_rng(0)
    taste = rng.normal(size=5)
    X = list(rng.normal(size=(200, 3, 5)))
    Y = [tuple(np.argsort(-(x @ taste + 0.3 * rng.normal(size=3)))) for x in X]
    for task in (Ranking(), FastRanking()):
        print(bw.check_task(task, X, Y))
        svm = bw.StructuredSVM(task, lam=0.05, tol=5e-3, random_state=0).fit(X, Y)
        print(type(task).__name__, svm.certificate_)
        print(
            f"  pairs in the wrong order {1 - svm.score(X, Y):.3f}, {svm.result_.seconds:.2f} s\n"
        )


if __name__ == "__main__":
    main()
