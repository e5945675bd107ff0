"""Proportions in groups: a regression whose coefficients lie in one simplex per group.

    python examples/optimize_groups.py

Every group of coefficients says what shares its ingredients have, so it is not negative and adds
up to one. The domain is a product of simplices, and the block method visits one group at a time: in
random order, or (gap sampling) those with most of the gap most often. Here every group touches
every row, so that gaps change between two visits of a group: gap sampling alone goes by numbers
that are out of date, and needs more visits than the random order. With every second visit in turn
it needs the fewest.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.optimize import minimize as scipy_minimize

import blockwolfe as bw
from blockwolfe import optimize


def main() -> None:
    rng = np.random.default_rng(0)
    n_groups, n_each, n_rows = 30, 6, 250
    shares = rng.dirichlet(np.full(n_each, 0.3), size=n_groups)
    shares[:20] = np.eye(n_each)[rng.integers(n_each, size=20)]  # most groups are of one ingredient
    A = rng.normal(size=(n_rows, n_groups * n_each))
    b = A @ shares.ravel() + 0.3 * rng.normal(size=n_rows)

    f = optimize.LeastSquares(A, b, scale=1.0 / n_rows)
    domain = optimize.Product([optimize.Simplex(n_each)] * n_groups)
    for sampling in (bw.Permutation(), bw.GapSampling(), bw.GapSampling(visit_every=2)):
        method = optimize.BlockFrankWolfe(sampling, bw.Pairwise())
        result = optimize.minimize(f, domain, method, tol=1e-8, random_state=0)
        print(f"{method.words}, {sampling}: {result}")
        print(f"  {result.counts.visits} visits of one group, {result.counts.oracle_calls} calls")
    found = np.array(result.blocks)
    print(f"shares: off by {np.abs(found - shares).mean():.4f} in the mean; ", end="")
    print(f"{np.sum(found == 0)} of {found.size} are exactly 0")

    sums = np.kron(np.eye(n_groups), np.ones(n_each))
    other = scipy_minimize(
        f.value,
        domain.start().dense(),
        jac=f.gradient,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * f.A.shape[1],
        constraints=LinearConstraint(sums, 1.0, 1.0),
        options={"ftol": 1e-12, "maxiter": 500},
    )
    print(f"scipy's SLSQP: f = {other.fun:.9f}, ours {result.value:.9f}")


if __name__ == "__main__":
    main()
