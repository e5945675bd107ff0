"""The objective, its dual and its optimum, from listed outputs: shares no code with the package.

    P(w) = lam/2 |w|^2 + sum_i weight_i max_y (L_i(y) - <w, psi_i(y)>),       l <= w <= u
    D    = ell - lam/2 |w|^2 - lam (<[v/lam - u]_+, u> - <[l - v/lam]_+, l>),  w = clip(v/lam, l, u)

The optimum comes as two bounds, which hold whatever the quadratic program's solver has done: P at
the weights that it found, and D at its multipliers, made feasible. Both are computed with more
digits than the package has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import clarabel
import numpy as np
import scipy.sparse as sp

from tools.fuzz.drawing.listed import Block, Real

__all__ = ["Judge", "Optimum"]


class Optimum(NamedTuple):
    """P* lies between the two."""

    low: float
    high: float


class Judge:
    """Knows everything about a problem, by enumeration."""

    def __init__(
        self, blocks: Sequence[Block], weight: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> None:
        self.blocks, self.lower, self.upper = list(blocks), lower, upper
        weight = np.asarray(weight, dtype=Real)
        self.weight = weight / weight.sum()
        self._optima: dict[float, Optimum] = {}

    @property
    def n_features(self) -> int:
        """Length of w."""
        return int(self.blocks[0].phi.shape[1])

    @property
    def largest_loss(self) -> float:
        """P(0), if 0 is within the bounds: what a tolerance can be measured by."""
        return float(sum(w * b.loss.max() for w, b in zip(self.weight, self.blocks, strict=True)))

    @cached_property
    def _psi(self) -> list[np.ndarray]:
        return [block.psi for block in self.blocks]

    def hinges(self, w: np.ndarray) -> np.ndarray:
        """H_i(w) of every block."""
        w = np.asarray(w, dtype=Real)
        found = [(b.loss - psi @ w).max() for b, psi in zip(self.blocks, self._psi, strict=True)]
        return np.array(found, dtype=Real)

    def primal(self, w: np.ndarray, lam: float) -> float:
        """P(w)."""
        w = np.asarray(w, dtype=Real)
        return float(Real(lam) / 2 * (w @ w) + self.weight @ self.hinges(w))

    def size_of_terms(self, w: np.ndarray) -> float:
        """sum_i weight_i max_y (L_i(y) + <|w|, |psi_i(y)|>): what hinges are added up from."""
        w = np.abs(np.asarray(w, dtype=Real))
        terms = [
            (b.loss + np.abs(psi) @ w).max() for b, psi in zip(self.blocks, self._psi, strict=True)
        ]
        return float(self.weight @ np.array(terms, dtype=Real))

    def dual(self, v: np.ndarray, ell: float, lam: float) -> float:
        """D of a dual point that is known by v and ell."""
        v, lam_ = np.asarray(v, dtype=Real), Real(lam)
        w = np.clip(v / lam_, self.lower, self.upper)
        over = np.where(np.isfinite(self.upper), np.maximum(v / lam_ - self.upper, 0), 0)
        under = np.where(np.isfinite(self.lower), np.maximum(self.lower - v / lam_, 0), 0)
        upper = np.where(np.isfinite(self.upper), self.upper, 0)
        lower = np.where(np.isfinite(self.lower), self.lower, 0)
        return float(Real(ell) - lam_ / 2 * (w @ w) - lam_ * (over @ upper - under @ lower))

    def optimum(self, lam: float) -> Optimum:
        """Bounds on min P, by a quadratic program over w and slacks."""
        if lam not in self._optima:
            self._optima[lam] = self._solve(lam)
        return self._optima[lam]

    def _solve(self, lam: float) -> Optimum:
        live = [i for i, weight in enumerate(self.weight) if weight > 0]
        scale = max(float(np.abs(self._psi[i]).max()) for i in live) or 1.0
        found = self._program(live, lam, scale)
        w = np.clip(np.array(found.x)[: self.n_features] / scale, self.lower, self.upper)
        v, ell = self._dual_point(live, np.array(found.z))
        zero = np.clip(np.zeros(self.n_features), self.lower, self.upper)
        candidates = [self.primal(point, lam) for point in (w, zero) if np.isfinite(point).all()]
        low = self.dual(v, ell, lam)
        least = self.dual(np.zeros(self.n_features), 0.0, lam)
        return Optimum(max(low if np.isfinite(low) else least, least), min(candidates))

    def _program(self, live: list[int], lam: float, scale: float) -> clarabel.DefaultSolution:
        """Over u = scale w and one slack a block: rows psi/scale u + xi_i >= loss, then bounds."""
        d, n = self.n_features, len(live)
        rows = np.concatenate([self._psi[i] for i in live]).astype(float) / scale
        owner = np.repeat(np.arange(n), [len(self._psi[i]) for i in live])
        A = [sp.hstack([sp.csc_array(-rows), -sp.csc_array(np.eye(n)[owner])])]
        b = [-np.concatenate([self.blocks[i].loss for i in live]).astype(float)]
        for sign, side in ((1.0, self.upper), (-1.0, self.lower)):
            at = np.flatnonzero(np.abs(side) < 1e50)  # (what is found is clipped to the others)
            A.append(sign * sp.eye_array(d + n, format="csr")[at])
            b.append(sign * side[at] * scale)
        q = np.concatenate([np.zeros(d), self.weight[live].astype(float)])
        P = sp.diags_array(np.concatenate([np.full(d, lam / scale**2), np.zeros(n)]))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        right = np.concatenate(b)
        cones = [clarabel.NonnegativeConeT(len(right))]
        rows_of_all = sp.csc_matrix(sp.vstack(A))
        return clarabel.DefaultSolver(
            sp.csc_matrix(P), q, rows_of_all, right, cones, settings
        ).solve()

    def _dual_point(self, live: list[int], z: np.ndarray) -> tuple[np.ndarray, float]:
        """The v and ell of the multipliers, made weights of a mean in every block."""
        v, ell, at = np.zeros(self.n_features, dtype=Real), Real(0), 0
        for i in live:
            own = np.maximum(np.nan_to_num(z[at : at + len(self._psi[i])]), 0).astype(Real)
            at += len(own)
            if not own.sum() > 0:
                own[self.blocks[i].truth] = 1
            alpha = self.weight[i] * own / own.sum()
            v, ell = v + alpha @ self._psi[i], ell + alpha @ self.blocks[i].loss
        return v, float(ell)
