"""Weights of several kernels at once: kernel ridge regression over a simplex of kernels.

    python examples/optimize_kernels.py

With K(d) = sum_k d_k K_k and d in the simplex, the best value of kernel ridge regression is

    f(d) = 1/2 <y, (K(d) + lam I)^-1 y>,    gradient_k = -1/2 <a, K_k a>,    a = (K(d) + lam I)^-1 y

up to a factor. It is convex in d. The objective is two Python functions; `check_objective` tests
them, and scipy's SLSQP finds the same weights.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize as scipy_minimize

from blockwolfe import optimize

WIDTHS = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
LAM = 0.5


def kernels(t: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Gaussian kernels of many widths, on two inputs of which only the first tells anything."""
    apart = (t[:, None] - s[None, :]) ** 2  # of shape (n, m, 2)
    return np.array([np.exp(-apart[..., k] / (2 * w**2)) for k in range(2) for w in WIDTHS])


class KernelRidge:
    def __init__(self, K: np.ndarray, y: np.ndarray) -> None:
        self.K, self.y, self.size = K, y, len(K)

    def dual(self, d: np.ndarray) -> np.ndarray:
        mixed = np.tensordot(d, self.K, 1) + LAM * np.eye(len(self.y))
        return np.asarray(cho_solve(cho_factor(mixed), self.y))

    def value(self, d: np.ndarray) -> float:
        return 0.5 * float(self.y @ self.dual(d))

    def gradient(self, d: np.ndarray) -> np.ndarray:
        a = self.dual(d)
        return -0.5 * np.array([a @ K @ a for K in self.K])


def main() -> None:
    rng = np.random.default_rng(0)
    t = rng.random((120, 2))
    y = np.sin(12 * t[:, 0]) + 0.5 * t[:, 0] + 0.2 * rng.normal(size=len(t))
    f = KernelRidge(kernels(t, t), y)
    simplex = optimize.Simplex(f.size)
    print(optimize.check_objective(f, np.full(f.size, 1.0 / f.size)))

    result = optimize.minimize(f, simplex, "pairwise", tol=1e-7)
    print(result)
    for k in np.flatnonzero(result.x):
        print(f"  input {k // len(WIDTHS)}, width {WIDTHS[k % len(WIDTHS)]}: {result.x[k]:.4f}")
    other = scipy_minimize(
        f.value,
        np.full(f.size, 1.0 / f.size),
        jac=f.gradient,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * f.size,
        constraints={"type": "eq", "fun": lambda d: d.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    print(f"scipy's SLSQP: f = {other.fun:.9f}, ours {result.value:.9f}; ", end="")
    print(f"largest difference of weights {np.abs(other.x - result.x).max():.1e}")


if __name__ == "__main__":
    main()
