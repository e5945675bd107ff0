"""The problems of `optimize_table.py`: functions, domains, and methods of ours to try on them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Lasso

from blockwolfe import optimize


class Problem(NamedTuple):
    """A function over a domain, our methods for it, and the alpha of scikit-learn's Lasso."""

    name: str
    f: Any
    domain: optimize.Domain
    methods: tuple[str, ...]
    alpha: float | None = None

    def unit(self) -> float:
        """F where a run of ours starts."""
        return float(self.f.value(self.domain.start().dense()))

    def relative_gap(self, x: np.ndarray) -> float:
        """Of a point of the domain; infinite where it is none."""
        if self.domain.has_projection:
            x = self.domain.project(x)
        elif self.domain.distance(x) > 1e-6:
            return np.inf
        gradient = self.f.gradient(x)
        gap = float(gradient @ x) - self.domain.minimize(gradient).dot(gradient)
        return gap / self.unit()


def l1_ball(A: Any, rng: np.random.Generator) -> Problem:
    """The Lasso at a tenth of the alpha at which all coefficients are zero."""
    n, d = A.shape
    truth = np.zeros(d)
    truth[rng.choice(d, min(20, d), replace=False)] = rng.normal(size=min(20, d))
    b = A @ truth + 0.5 * rng.normal(size=n) * np.sqrt(np.mean((A @ truth) ** 2))
    alpha = 0.1 * float(np.abs(A.T @ b).max()) / n
    radius = np.abs(lasso(A, b, alpha, 1e-12)).sum()
    f = optimize.LeastSquares(A, b, scale=1.0 / n)
    return Problem(
        f"l1 ball, {'sparse' if sp.issparse(A) else 'dense'} {n} x {d}",
        f,
        optimize.L1Ball(d, float(radius)),
        ("fw", "pairwise", "fcfw", "projected"),
        alpha,
    )


def problems(is_small: bool) -> Iterator[Problem]:
    """Those of the table; small ones take a second each."""
    k = 10 if is_small else 1
    rng = np.random.default_rng(0)
    yield l1_ball(rng.normal(size=(500 // k, 2000 // k)), rng)
    sparse = sp.random_array((2000 // k, 20000 // k), density=0.01 * k, rng=rng, format="csc")
    yield l1_ball(sparse, rng)

    n = 1000 // k
    G = rng.normal(size=(n, n // 2))
    Q = G @ G.T / n + 0.01 * np.eye(n)
    yield Problem(
        f"simplex, n = {n}",
        optimize.Quadratic(Q),
        optimize.Simplex(n),
        ("fw", "pairwise", "away", "fcfw", "projected"),
    )

    n_groups, n_each = 200 // k, 20
    A = sp.random_array((800 // k, n_groups * n_each), density=0.05, rng=rng, format="csc")
    shares = rng.dirichlet(np.full(n_each, 0.2), size=n_groups).ravel()
    b = A @ shares + 0.05 * rng.normal(size=A.shape[0])
    yield Problem(
        f"{n_groups} simplices of {n_each}",
        optimize.LeastSquares(A, b),
        optimize.Product([optimize.Simplex(n_each)] * n_groups),
        ("fw", "pairwise", "bcfw", "bcfw+pairwise", "bcfw+gap+pairwise", "projected"),
    )

    shape = (30, 20) if not is_small else (8, 6)
    truth = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1]))
    seen = np.flatnonzero(rng.random(truth.size) < 0.4)
    A = sp.csc_array((np.ones(len(seen)), (np.arange(len(seen)), seen)), (len(seen), truth.size))
    b = truth.ravel()[seen] + 0.1 * rng.normal(size=len(seen))
    radius = 0.8 * float(np.linalg.norm(truth, "nuc"))
    yield Problem(
        f"nuclear norm, {shape[0]} x {shape[1]}, 40 % seen",
        optimize.LeastSquares(A, b),
        optimize.NuclearBall(shape, radius),
        ("fw", "pairwise", "fcfw"),
    )

    n = 50 // k
    yield Problem(
        f"Birkhoff, {n} x {n}",
        optimize.SquaredNorm(rng.normal(size=n * n)),
        optimize.Birkhoff(n),
        ("fw", "pairwise", "away", "blended", "fcfw"),
    )


def lasso(A: Any, b: np.ndarray, alpha: float, tol: float) -> np.ndarray:
    """The solution of scikit-learn's coordinate descent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Lasso(alpha=alpha, fit_intercept=False, tol=tol, max_iter=100_000).fit(A, b)
    return np.asarray(found.coef_)
