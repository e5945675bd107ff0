"""The minimum of an objective over a small domain, found by other code, with a gap of its own."""

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from blockwolfe.optimize import Function, LeastSquares, Logistic, Quadratic, SquaredNorm


def objectives(n, seed=0):
    """One of every kind, of n variables, by name; most have their minimum on the boundary."""
    rng = np.random.default_rng([seed, n])
    A, b = rng.normal(size=(n + 2, n)), 3.0 * rng.normal(size=n + 2)
    thin = A[: max(1, n // 2)]

    def log_sum_exp(x):
        scores = A @ x + b
        return scores.max() + np.log(np.exp(scores - scores.max()).sum())

    def of_log_sum_exp(x):
        scores = np.exp(A @ x + b - (A @ x + b).max())
        return A.T @ (scores / scores.sum())

    return {
        "least squares": LeastSquares(A, b),
        "quadratic": Quadratic(thin.T @ thin, rng.normal(size=n)),
        "logistic": Logistic(A, np.where(b > 0, 1.0, -1.0), scale=2.0),
        "function": Function(log_sum_exp, of_log_sum_exp),
        "squared norm": SquaredNorm(rng.normal(size=n)),
    }


def over_hull(f, vertices):
    """The minimum over the hull of some points: a value, and how far below it may still be."""
    V = np.array(vertices, dtype=float)
    a = _quadratic_weights(f, V) if f.is_quadratic else _weights(f, V)
    x = np.maximum(a, 0.0) / np.maximum(a, 0.0).sum() @ V
    gradient = f.gradient(x)
    return f.value(x), max(float(gradient @ x - (V @ gradient).min()), 0.0)


def _quadratic_weights(f, V):
    """By an interior-point method, with the Hessian and the gradient at 0 by differences."""
    n, m = V.shape[1], len(V)
    c = f.gradient(np.zeros(n))
    H = np.array([f.gradient(e) - c for e in np.eye(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-12)
    rows = sp.csc_matrix(np.vstack([np.ones(m), -np.eye(m)]))
    bound = np.append(1.0, np.zeros(m))
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(m)]
    P = sp.triu(sp.csc_matrix(V @ H @ V.T), format="csc")
    return np.array(clarabel.DefaultSolver(P, V @ c, rows, bound, cones, settings).solve().x)


def _weights(f, V):
    m = len(V)
    found = minimize(
        lambda a: f.value(a @ V),
        np.full(m, 1.0 / m),
        jac=lambda a: V @ f.gradient(a @ V),
        bounds=[(0.0, None)] * m,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": lambda a: np.ones(m)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return found.x


def over_ball(f, project, largest_product, x, n_steps=1000):
    """The same over a ball, by accelerated projected gradient steps; the ball is symmetric."""
    bend = 1.0 + max(np.linalg.norm(f.gradient(x + e) - f.gradient(x)) for e in np.eye(len(x)))
    bend *= np.sqrt(len(x))
    x, ahead, t = project(x), project(x), 1.0
    for _ in range(n_steps):
        before, x = x, project(ahead - f.gradient(ahead) / bend)
        if (ahead - x) @ (x - before) > 0.0:  # (uphill: begin anew)
            t = 1.0
        after = 0.5 + np.sqrt(0.25 + t * t)
        ahead, t = x + (t - 1.0) / after * (x - before), after
    gradient = f.gradient(x)
    return f.value(x), max(float(gradient @ x + largest_product(gradient)), 0.0)


def l2_ball(radius):
    """The projection on a ball around 0, and its largest products."""

    def project(x):
        return x * min(1.0, radius / max(np.linalg.norm(x), 1e-300))

    return project, lambda g: radius * np.linalg.norm(g)


def nuclear_ball(shape, radius):
    """The same for matrices."""

    def project(x):
        U, s, V = np.linalg.svd(x.reshape(shape), full_matrices=False)
        if s.sum() > radius:  # (by the share that k of the largest give, for the right k)
            shares = [(s[: k + 1].sum() - radius) / (k + 1) for k in range(len(s))]
            s = np.maximum(s - max(shares), 0.0)
        return ((U * s) @ V).ravel()

    return project, lambda g: radius * np.linalg.svd(g.reshape(shape), compute_uv=False)[0]
