"""Tasks of a user's own, over outputs that are listed: in Python, with bounds, or compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

from blockwolfe.tasks import CompiledOracle
from tools.fuzz.drawing.listed import Block, Drawn
from tools.fuzz.drawing.numbers import one_of

__all__ = ["KINDS", "ListedTask", "own"]

KINDS = ("python", "bounded", "inexact", "compiled")


class ListedTask:
    """x is the number of an example, y that of an output; both look into tables."""

    def __init__(self, phi: list[np.ndarray], loss: list[np.ndarray], kind: str, form: str) -> None:
        self.phi, self.losses_, self.kind, self.form = phi, loss, kind, form
        self.n_features = phi[0].shape[1]
        self.exact = kind != "inexact"
        if kind == "bounded":
            self.exact = False
            self.augmented_decode_bound = self._with_bound
        if kind == "compiled":
            self.compiled = self._compiled

    def features(self, x: int, y: Any) -> Any:
        """A row of the table, in one of the forms that are allowed."""
        row = self.phi[x][y[1]]
        if self.form == "dense":
            return row
        if self.form == "sparse":
            return sp.csr_array(row[None])
        return np.flatnonzero(row), row[np.flatnonzero(row)]

    def loss(self, y: Any, y_hat: Any) -> float:
        """The truth is (number of the example, number of its output)."""
        return float(self.losses_[y[0]][y_hat[1]])

    def decode(self, x: int, w: np.ndarray) -> Any:
        """Best by enumeration."""
        return (x, int(np.argmax(self.phi[x] @ w)))

    def augmented_decode(self, x: int, y: Any, w: np.ndarray) -> Any:
        """The same with the loss added; not the best where the task is said to be inexact."""
        scores = self.losses_[x] + self.phi[x] @ w
        if self.kind == "inexact" and len(scores) > 2:
            scores[int(np.argmax(scores))] = -np.inf if w.sum() > 0.1 else scores.max()
        return (x, int(np.argmax(scores)))

    def _with_bound(self, x: int, y: Any, w: np.ndarray) -> tuple[Any, float]:
        """Sometimes not the best, with a bound above all."""
        scores = self.losses_[x] + self.phi[x] @ w
        best = float(scores.max())
        if (x + int(1e3 * abs(w).sum())) % 3 == 0:  # (the next best, as long as it is not below)
            found = int(np.argsort(scores, kind="stable")[-min(2, len(scores))])
            return (x, found), best + 1e-3 * (best - float(scores[found]))
        return (x, int(np.argmax(scores))), best

    def _compiled(self, X: Any, Y: Any) -> CompiledOracle:
        start = np.cumsum([0, *(len(loss) for loss in self.losses_)])
        data = (np.concatenate(self.phi), np.concatenate(self.losses_), start, np.asarray(X))
        return CompiledOracle(_oracle, data, max_size=self.n_features)


@njit(cache=True)
def _oracle(data: Any, i: int, w: Any, index: Any, value: Any) -> Any:
    phi, loss, start, example = data
    x = example[i]
    best, most = start[x], -np.inf
    for row in range(start[x], start[x + 1]):
        score = loss[row] + np.dot(phi[row], w)
        if score > most:
            best, most = row, score
    for j in range(w.shape[0]):
        index[j], value[j] = j, phi[best, j]
    return w.shape[0], loss[best]


def own(rng: np.random.Generator, drawn: Drawn, kind: str, fit: Callable[[Drawn], Any]) -> Drawn:
    """The same problem through tables, so that the package sees four methods and nothing else."""
    blocks = drawn.blocks(fit(drawn))
    listed = [
        Block(block.phi.astype(float).astype(block.phi.dtype),
              block.loss.astype(float).astype(block.loss.dtype),
              block.truth, [(i, k) for k in range(len(block.loss))])
        for i, block in enumerate(blocks)
    ]  # fmt: skip
    form = one_of(rng, "dense", "sparse", "pairs")
    task = ListedTaskOf(listed, kind, form)
    X, Y = list(range(len(listed))), [(i, block.truth) for i, block in enumerate(listed)]
    return Drawn(
        task, X, Y, lambda fitted: listed, lambda y: y, drawn.size,
        is_exact=kind in ("python", "compiled"), is_slow=kind != "compiled",
        has_bounds=kind == "bounded",
    )  # fmt: skip


def ListedTaskOf(blocks: list[Block], kind: str, form: str) -> ListedTask:  # noqa: N802
    """A task over the tables of blocks, in double precision."""
    tables = [block.phi.astype(float) for block in blocks]
    return ListedTask(tables, [block.loss.astype(float) for block in blocks], kind, form)
