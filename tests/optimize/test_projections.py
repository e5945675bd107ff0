"""Projections: optimality conditions over all vertices, and a quadratic program."""

import numpy as np
import pytest

from blockwolfe.errors import OptionError
from blockwolfe.optimize.domains import Box, KSparse, L1Ball, L2Ball, NuclearBall, Simplex
from small_domains import ALL, POLYTOPES, ROUND, gradients, nearest_in_hull

PROJECTED = [name for name, domain in ALL.items() if domain.has_projection]
OTHERS = [name for name, domain in ALL.items() if not domain.has_projection]


def points_around(domain, seed=0):
    """From inside to far away; with ties, zeros, and on the boundary."""
    rng = np.random.default_rng(seed)
    middle = domain.minimize(rng.normal(size=domain.size)).dense()
    yield middle
    yield np.zeros(domain.size)
    yield np.ones(domain.size)
    yield np.full(domain.size, -7.0)
    for scale in [1e-3, 0.1, 1.0, 3.0, 100.0, 1e6]:
        yield scale * rng.normal(size=domain.size)
        yield middle + scale * rng.normal(size=domain.size)
        yield scale * rng.integers(-1, 2, size=domain.size)


@pytest.mark.parametrize("name", PROJECTED)
def test_no_atom_lies_on_the_side_of_x(name):
    """y is the projection of x iff it is in the set and <x - y, s - y> <= 0 for all s in it.

    The oracle at y - x, itself tested by enumeration, has the largest product.
    """
    domain = ALL[name]
    for x in points_around(domain):
        given = x.copy()
        y = domain.project(given)
        assert np.array_equal(given, x)
        assert domain.distance(y) <= 1e-12 * (1.0 + np.abs(x).max())
        furthest = domain.minimize(y - x).dense()
        slack = 1e-12 * (1.0 + np.abs(x).max()) * (1.0 + np.linalg.norm(x - y))
        assert (x - y) @ (furthest - y) <= slack


@pytest.mark.parametrize("name", PROJECTED)
def test_inside_nothing_moves(name):
    domain = ALL[name]
    atoms = [domain.minimize(g).dense() for g in gradients(domain.size, n=4)]
    shares = np.random.default_rng(0).dirichlet(np.ones(len(atoms)), size=5)
    for x in [*atoms, *(shares @ np.array(atoms))]:
        assert domain.project(x) == pytest.approx(x, abs=1e-13)


@pytest.mark.parametrize("name", [name for name in PROJECTED if name in POLYTOPES])
def test_projection_against_a_nearest_in_hull(name):
    domain, vertices = POLYTOPES[name]
    for x in np.random.default_rng(4).normal(size=(4, domain.size)) * 2.0:
        assert domain.project(x) == pytest.approx(nearest_in_hull(x, vertices), abs=1e-5)


@pytest.mark.parametrize("n", [1, 2, 50, 1000])
def test_projections_of_many_entries(n):
    """The conditions in full: x = clip(|y| - theta, 0, r), one theta for all."""
    rng = np.random.default_rng(n)
    for scale in [0.1, 1.0, 10.0]:
        y = scale * rng.normal(size=n)
        x = Simplex(n, 3.0).project(y)
        assert x.sum() == pytest.approx(3.0, rel=1e-13)
        assert x.min() >= 0.0
        theta = (y - x)[x > 0.0]
        assert np.ptp(theta) <= 1e-12
        assert (y[x == 0.0] <= theta[0] + 1e-12).all()
        k = min(n, 5)
        z = KSparse(n, k, 0.7).project(y)
        assert np.abs(z).max() <= 0.7
        assert np.abs(z).sum() <= k * 0.7 * (1.0 + 1e-13)
        between = (np.abs(z) > 0.0) & (np.abs(z) < 0.7)
        if between.any():
            assert np.ptp((np.abs(y) - np.abs(z))[between]) <= 1e-12


def test_k_sparse_projects_as_its_limits_do():
    for y in np.random.default_rng(0).normal(size=(20, 6)) * 3.0:
        assert KSparse(6, 1).project(y) == pytest.approx(L1Ball(6).project(y), abs=1e-14)
        box = Box(-1.0, 1.0, n=6).project(y)
        assert KSparse(6, 6).project(y) == pytest.approx(box, abs=1e-14)


@pytest.mark.parametrize("radius", [0.1, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("n", [1, 3, 10, 49])
def test_k_sparse_at_the_corner_of_its_box(n, radius):
    """Sums of n radii round to more than n times the radius."""
    corner = np.full(n, radius)
    assert KSparse(n, n, radius).project(corner) == pytest.approx(corner, rel=1e-14)
    assert KSparse(n, n, radius).project(2.0 * corner) == pytest.approx(corner, rel=1e-14)


def test_far_points_lose_no_digits():
    y = 1e12 + np.array([0.0, 0.25, 0.5])
    assert Simplex(3).project(y) == pytest.approx([1 / 12, 1 / 3, 7 / 12], abs=1e-14)


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (1, 4)])
def test_nuclear_projection_keeps_singular_vectors(shape):
    ball = NuclearBall(shape, 1.5)
    x = 3.0 * np.random.default_rng(0).normal(size=shape)
    y = ball.project(x.ravel()).reshape(shape)
    before, after = np.linalg.svd(x)[1], np.linalg.svd(y)[1]
    assert after == pytest.approx(Simplex(len(before), 1.5).project(before), abs=1e-13)
    assert x.T @ y == pytest.approx(y.T @ x, abs=1e-12)  # (they share their singular vectors)
    assert x @ y.T == pytest.approx(y @ x.T, abs=1e-12)


@pytest.mark.parametrize("name", PROJECTED)
def test_distance_is_that_of_the_projection(name):
    domain = ALL[name]
    for x in points_around(domain, seed=2):
        expected = np.linalg.norm(x - domain.project(x))
        assert domain.distance(x) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_l2_ball_projects_on_its_boundary():
    ball = L2Ball(3, 0.5, center=[1.0, -2.0, 3.0])
    assert ball.project(np.array([1.0, -2.0, 9.0])) == pytest.approx([1.0, -2.0, 3.5])
    assert ROUND["l2"].project(np.zeros(4)) == pytest.approx(np.zeros(4))


@pytest.mark.parametrize("name", OTHERS)
def test_no_projection_is_an_error_that_says_so(name):
    with pytest.raises(OptionError, match="has no projection"):
        ALL[name].project(np.zeros(ALL[name].size))


def test_k_sparse_leaves_zeros_alone_where_the_sum_rounds():
    """Points whose l1 norm is that of the boundary, to rounding."""
    rng = np.random.default_rng(0)
    for _ in range(1000):
        n = int(rng.integers(3, 30))
        k = int(rng.integers(1, n))
        x = np.append(rng.dirichlet(np.ones(n - 1)) * k * 0.1, 0.0)
        assert KSparse(n, k, 0.1).project(x)[-1] == 0.0
