"""The Lasso as a least-squares problem over an l1 ball, beside scikit-learn's.

    python examples/optimize_lasso.py

scikit-learn penalises the l1 norm; here it is bounded. With the norm of scikit-learn's solution as
the bound, both problems have the same solution, and our certificate judges either point.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Lasso

from blockwolfe import optimize


def main() -> None:
    rng = np.random.default_rng(0)
    n, d, n_used = 100, 400, 8
    A = rng.normal(size=(n, d))
    truth = np.zeros(d)
    truth[rng.choice(d, n_used, replace=False)] = rng.normal(size=n_used)
    b = A @ truth + 0.1 * rng.normal(size=n)

    lasso = Lasso(alpha=0.05, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(A, b)
    radius = float(np.abs(lasso.coef_).sum())
    f = optimize.LeastSquares(A, b, scale=1.0 / n)  # (the data term of scikit-learn's Lasso)
    ball = optimize.L1Ball(d, radius)
    result = optimize.minimize(f, ball, "pairwise", tol=1e-10)
    print(result)
    print(f"radius {radius:.4f} (alpha = 0.05), {np.sum(result.x != 0)} coefficients in use")
    print(f"scikit-learn: f = {f.value(lasso.coef_):.12f}, {np.sum(lasso.coef_ != 0)} in use")
    print(f"blockwolfe:   f = {result.value:.12f}, ", end="")
    print(f"and no point has less than {result.certificate.dual:.12f}")
    print(f"largest difference of coefficients: {np.abs(result.x - lasso.coef_).max():.1e}")

    print("the same to a gap of 1e-6, method by method:")
    for method in ("fw", "away", "pairwise", "blended", "fcfw", "raway"):
        run = optimize.minimize(f, ball, method, tol=1e-6, max_passes=5000, random_state=0)
        print(
            f"  {method:8} {run.status.name:10} gap {run.certificate.gap:.1e} after "
            f"{run.counts.visits} steps, {np.sum(run.x != 0)} coefficients in use"
        )


if __name__ == "__main__":
    main()
