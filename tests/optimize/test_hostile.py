"""What hostile reading found: certificates that were false, runs that died of rounding."""

from fractions import Fraction

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe import optimize as bo


def segment(gradient):
    return np.array([0.0 if gradient[0] >= 0.0 else 1.0])


STARTS = {
    "beside a set that cannot tell": (
        bo.Product([bo.Simplex(2), bo.Oracle(segment, 1)]), [50.0, 50.0, 0.5],
    ),
    "beside a large one": (bo.Product([bo.Simplex(2), bo.Box(0.0, 1e9, n=1)]), [50.0, 50.0, 1e9]),
    "in a small set": (bo.Simplex(2, radius=1e-9), [3e-7, 3e-7]),
}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_a_start_outside_of_one_block_is_refused(name):
    domain, x = STARTS[name]
    with pytest.raises(bw.InputError, match="start is outside of"):
        bo.minimize(bo.SquaredNorm(x), domain, "fw", start=np.array(x))


def test_atoms_of_another_domain_are_refused_beside_a_set_that_cannot_tell():
    own, f = bo.Oracle(segment, 1), bo.SquaredNorm([50.0, 50.0, 0.5])
    other = bo.minimize(f, bo.Product([bo.Simplex(2, radius=100.0), own]), "pairwise")
    with pytest.raises(bw.InputError, match="start is a result of another domain"):
        bo.minimize(f, bo.Product([bo.Simplex(2), own]), "pairwise", start=other)


def test_atoms_that_are_outside_though_their_mean_is_not_are_refused():
    """On other blocks too, where the atoms are put together or taken apart first."""
    f = bo.SquaredNorm([0.4, 0.6, 0.5, 0.5])
    wide = bo.Product([bo.Box(-1.0, 2.0, n=2), bo.Box(-1.0, 2.0, n=2)])
    narrow = bo.Product([bo.Box(0.0, 1.0, n=2), bo.Box(0.0, 1.0, n=2)])
    for made_by, used_by in [("pairwise", "away"), ("bcfw+away", "fcfw"), ("fcfw", "bcfw+away")]:
        other = bo.minimize(f, wide, made_by)
        assert narrow.distance(other.x) < 1e-9
        with pytest.raises(bw.InputError, match="another domain: an atom of block 0 is outside"):
            bo.minimize(f, narrow, used_by, start=other)


def test_a_certificate_compares_the_oracle_with_the_atoms_in_use():
    """An oracle that turns bad after its first calls."""
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(30, 8)), rng.normal(size=30)
    n_calls = 0

    def lazy(gradient):
        nonlocal n_calls
        n_calls += 1
        return np.eye(8)[int(np.argmin(gradient)) if n_calls <= 4 else 3]

    method = bo.BlockFrankWolfe(bw.Cyclic(), bw.Pairwise())
    with pytest.raises(bw.OracleError, match="worse"):
        bo.minimize(bo.LeastSquares(A, b), bo.Oracle(lazy, 8), method, tol=5.0, max_passes=3)


class InPlace(bo.Domain):
    """A simplex whose oracle writes to the gradient."""

    def minimize(self, gradient):
        gradient -= gradient.min()
        return bo.Atom.unit(self.size, int(gradient.argmin()))


@pytest.mark.parametrize("objective", [bo.SquaredNorm(), bo.Quadratic(np.eye(4))])
def test_no_oracle_can_write_to_x(objective):
    with pytest.raises(bw.OracleError, match="wrote to its argument"):
        bo.minimize(objective, InPlace((4,)), "fw", start=np.full(4, 0.25))


@pytest.mark.parametrize("seed", [7, 8])
def test_an_atom_that_is_the_best_and_the_worst_keeps_its_weight(seed):
    """Its score is added up in two orders, and rounding tells them apart."""
    rng, n, k = np.random.default_rng(seed), 300, 151
    center = np.full(n, 0.01)
    center[:k] = rng.uniform(15, 18, k)
    f = bo.SquaredNorm(np.concatenate([center, 3.0 * rng.normal(size=5)]))
    domain = bo.Product([bo.KSparse(n, k), bo.Simplex(5)])
    method = bo.BlockFrankWolfe(bw.Cyclic(), bw.Pairwise(), bo.Predefined())
    result = bo.minimize(f, domain, method, tol=1e-9, max_passes=1)
    assert len(result.active_sets[0]) > 0
    assert domain.distance(result.x) <= 1e-9


@pytest.mark.parametrize("seed", range(2))
def test_scores_that_cancel_accuse_no_oracle(seed):
    rng, n = np.random.default_rng(seed), 30
    V, P = 1e8 + rng.normal(size=(40, n)), np.eye(n) - 1.0 / n
    f = bo.Quadratic(P, -P @ (2.0 * rng.normal(size=n)))
    result = bo.minimize(f, bo.Vertices(V), "pairwise", tol=1e-3, max_passes=100)
    assert result.certificate.resolution > 0.0


@pytest.mark.parametrize("seed", range(2))
def test_lower_bounds_of_set_functions_count_rounding(seed):
    rng, n = np.random.default_rng(seed), 7
    large, w = 1e13 * np.sqrt(np.arange(n + 1)), -0.9e13 * rng.random(n)

    def f(members):
        return float(large[len(members)] + w[members].sum())

    found = bo.minimize_submodular(f, n, tol=1e-6, max_passes=200)
    exact = [
        Fraction(large[len(S)]) + sum((Fraction(w[i]) for i in S), Fraction(0))
        for S in ([i for i in range(n) if code >> i & 1] for code in range(2**n))
    ]
    assert Fraction(found.lower_bound) <= min(exact)
    assert not found.is_certified  # (no such difference can be told)


def test_projected_steps_survive_a_block_that_stands_still():
    f = bo.Quadratic(np.diag([1, 1, 1, 1e-6, 1e-7]), np.array([-5.0, 5.0, 0.0, -3e-7, -5e-8]))
    domain = bo.Product([bo.Simplex(2), bo.Box(-100.0, 100.0, n=3)])
    method = bo.BlockProjectedGradient(bw.Cyclic(), certify_every=100_000)
    result = bo.minimize(f, domain, method, tol=1e-16, max_passes=8000)
    assert np.isfinite(result.x).all()


CENTER = np.array([0.2, 0.3, 0.5])


def worst_corner(gradient):
    return np.eye(3)[np.argmax(gradient)]


def squared(x):
    return float((x - CENTER) @ (x - CENTER))


WRONG_SIGNS = {
    "oracle": (bo.SquaredNorm(CENTER), bo.Oracle(worst_corner, 3), "Is its sign right"),
    "gradient": (
        bo.Function(squared, lambda x: -2.0 * (x - CENTER), size=3), bo.Simplex(3), "of the grad"
    ),
    "value": (
        bo.Function(lambda x: -squared(x), lambda x: -2.0 * (x - CENTER), size=3),
        bo.Product([bo.Simplex(2), bo.Box([0.0], [1.0])]), "not convex",
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", ["pairwise", "fw+predefined", "bcfw"])
@pytest.mark.parametrize("name", WRONG_SIGNS)
def test_a_wrong_sign_is_not_certified_at_the_first_point(name, method):
    objective, domain, match = WRONG_SIGNS[name]
    with pytest.raises(bw.OracleError, match=match):
        bo.minimize(objective, domain, method)


def test_a_first_point_that_is_the_minimum_is_certified():
    """Also where f is not defined half-way to the farthest point."""
    f = bo.Function(lambda x: -np.log(x[0] - 0.9), lambda x: np.array([-1 / (x[0] - 0.9), 0]))
    for objective in (bo.SquaredNorm([3.0, -2.0]), f):
        result = bo.minimize(objective, bo.Simplex(2))
        assert result.status.name == "CERTIFIED"
        assert result.x.tolist() == [1.0, 0.0]
