"""Rates: what theory promises of the methods, at every iterate of a run."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe import optimize as bo


def blocks_problem(n_blocks, size, seed):
    """A quadratic over a product of simplices, with its curvature constant.

    C <= sum_i diam_i^2 lambda_max(Q_ii) (Lacoste-Julien et al. 2013, Theorem 2); diam^2 is 2.
    """
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, n_blocks * size))
    Q, c = A.T @ A, rng.normal(size=n_blocks * size)
    own = [Q[i : i + size, i : i + size] for i in range(0, n_blocks * size, size)]
    curvature = sum(2.0 * np.linalg.eigvalsh(block)[-1] for block in own)
    return bo.Quadratic(Q, c), bo.Product([bo.Simplex(size)] * n_blocks), curvature


@pytest.mark.parametrize("n_blocks", [1, 2, 5, 12])
@pytest.mark.parametrize("seed", [0, 1])
def test_predefined_steps(n_blocks, seed):
    """f(x_k) - f* <= 2n / (k + 2n) (C + h_0), in expectation: here for the mean of some runs."""
    f, domain, curvature = blocks_problem(n_blocks, 4, seed)
    best = bo.minimize(f, domain, "bcfw+pairwise", 1e-9, random_state=0).certificate.dual
    runs = []
    for draw in range(4):
        values = []
        bo.minimize(
            f,
            domain,
            "bcfw+uniform+predefined",
            0.0,
            max_passes=40,
            random_state=draw,
            callbacks=lambda event, values=values: values.append(f.value(event.x)),
        )
        runs.append(values)
    missing = np.mean(runs, axis=0) - best
    k = n_blocks * np.arange(len(missing))
    bound = 2.0 * n_blocks / (k + 2.0 * n_blocks) * (curvature + missing[0])
    assert (missing <= bound).all()
    assert missing[-1] < 0.1 * missing[0] or missing[0] < 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_exact_steps_are_no_worse_than_the_bound(seed):
    f, domain, curvature = blocks_problem(4, 5, seed)
    best = bo.minimize(f, domain, "bcfw+pairwise", 1e-9, random_state=0).certificate.dual
    missing = []
    note = lambda event: missing.append(f.value(event.x) - best)  # noqa: E731
    bo.minimize(f, domain, "bcfw+uniform", 0.0, max_passes=80, random_state=seed, callbacks=note)
    k = 4.0 * np.arange(len(missing))
    assert (np.array(missing) <= 8.0 / (k + 8.0) * (curvature + missing[0])).all()


# -- linear rates on polytopes ---------------------------------------------------------------------

SHARES = np.array([0.35, 0.25, 0.2, 0.12, 0.08])


def face_problem(n=10):
    """A strongly convex quadratic; over simplex and l1 ball its minimum is inside a face of both.

    With x the shares, the gradient is -1 where they are and within (-1, 1) elsewhere. Runs begin
    at the first coordinate, outside of the face, and plain steps never get rid of it.
    """
    x, rng = np.append(np.zeros(n - 5), SHARES), np.random.default_rng(0)
    Q = np.diag(np.linspace(1.0, 4.0, n))
    wanted = np.where(x > 0.0, -1.0, rng.uniform(-0.8, 0.8, size=n))
    return bo.Quadratic(Q, wanted - Q @ x), x


def gaps_of(f, domain, method, n_passes, seed=0):
    """Certified gaps, pass by pass, up to the first that is rounding: that counts as 1e-13."""
    result = bo.minimize(f, domain, method, 0.0, max_passes=n_passes, random_state=seed)
    rows = [row for row in result.trace if row.gap == row.gap]
    gaps = np.array([row.gap for row in rows])
    n = int(np.argmax(gaps <= 1e-13)) + 1 if (gaps <= 1e-13).any() else len(gaps)
    return np.array([row.passes for row in rows[:n]]), np.maximum(gaps[:n], 1e-13)


def slope_of(passes, gaps):
    """Of log gap over passes, in the second half of what is above rounding."""
    is_told = gaps > 1e-12
    passes, gaps = passes[is_told], gaps[is_told]
    half = min(len(passes) // 2, len(passes) - 2)
    return np.polyfit(passes[half:], np.log(gaps[half:]), 1)[0]


DOMAINS = {"simplex": bo.Simplex(10), "l1": bo.L1Ball(10), "vertices": bo.Vertices(np.eye(10))}


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
@pytest.mark.parametrize("step", ["away", "pairwise", "blended", "best"])
def test_steps_by_atoms_are_linear_where_plain_ones_are_not(step, domain):
    f, x = face_problem()
    assert bo.minimize(f, domain, "fw", start=x, tol=1e-12).counts.visits == 0
    passes, gaps = gaps_of(f, domain, bo.FrankWolfe(_step(step)), 400)
    assert gaps[-1] < 1e-10
    assert slope_of(passes, gaps) < -0.05
    plain, of_plain = gaps_of(f, domain, "fw", 400)
    assert of_plain[-1] > 1e-3  # k^-1, more or less: 400 passes are far from enough
    assert slope_of(plain, of_plain) > -0.02


def _step(name):
    return {"away": bw.Away, "pairwise": bw.Pairwise, "blended": bw.BlendedPairwise}.get(
        name, bw.BestOf
    )()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_randomised_away_steps_are_linear(seed):
    """With a tenth of the atoms at each call."""
    f, x = face_problem(n=30)
    domain = bo.L1Ball(30)
    passes, gaps = gaps_of(f, domain, bo.RandomizedAway(share=0.1, certify_every=2), 400, seed)
    assert gaps[-1] < 1e-10
    assert slope_of(passes, gaps) < -0.1
    plain, of_plain = gaps_of(f, domain, "fw", 400)
    assert of_plain[-1] > 1e-3
    assert slope_of(plain, of_plain) > -0.01


@pytest.mark.parametrize("method", ["bcfw+uniform+pairwise", "bcfw+uniform+away"])
def test_blocks_are_linear_too(method):
    f, domain, _ = blocks_problem(5, 4, 0)
    passes, gaps = gaps_of(f, domain, method, 400)
    assert gaps[-1] < 1e-8 or len(passes) < 40
    plain, of_plain = gaps_of(f, domain, "bcfw+uniform", 400)
    assert of_plain[-1] > 100.0 * gaps[-1]
