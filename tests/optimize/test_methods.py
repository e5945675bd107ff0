"""Every method on every kind of set and function: certificates that other code confirms."""

from itertools import product

import numpy as np
import pytest
from sklearn import linear_model

from blockwolfe import Status
from blockwolfe import optimize as bo
from optimum import l2_ball, nuclear_ball, objectives, over_ball, over_hull
from small_domains import POLYTOPES

BLOCKS = bo.Product(
    [bo.Simplex(3), bo.Box(-0.5, 1.0, n=2), bo.L1Ball(2, 1.5), bo.Vertices(np.eye(3)[:, :2])]
)
CORNERS = (
    np.eye(3),
    list(product([-0.5, 1.0], repeat=2)),
    1.5 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]),
    np.eye(3)[:, :2],
)
SETS = POLYTOPES | {"blocks": (BLOCKS, [np.concatenate(x) for x in product(*CORNERS)])}
FLAT = bo.Product([bo.Simplex(3), bo.Box(-0.5, 1.0, n=2), bo.L1Ball(2, 1.5), bo.Simplex(2)])
BALLS = {
    "l2": (bo.L2Ball(4, 0.7), *l2_ball(0.7)),
    "nuclear": (bo.NuclearBall((3, 2), 0.8), *nuclear_ball((3, 2), 0.8)),
}
KINDS = ["least squares", "quadratic", "logistic", "function", "squared norm"]
METHODS = [
    "fw",
    "away",
    "pairwise",
    "blended",
    "best",
    "corrective",
    "fcfw",
    "bcfw",
    "bcfw+gap+pairwise",
    "bcfw+uniform+away",
    "bcfw+maxgap+blended",
    "bcfw+cyclic+best",
    "projected",
    "raway",
    "fw+predefined",
    "bcfw+adaptive+pairwise",
]
LINEAR = {  # methods that must certify 1e-7 on polytopes within their passes
    "away", "pairwise", "blended", "best", "corrective", "fcfw", "bcfw+gap+pairwise",
    "bcfw+uniform+away", "bcfw+maxgap+blended", "bcfw+cyclic+best", "bcfw+adaptive+pairwise",
}  # fmt: skip
TOL = 1e-7


def is_for(method, domain):
    if method == "projected":
        return domain.has_projection
    return method != "raway" or domain.n_atoms is not None


def check(result, f, domain, reference):
    """What any result must be, whether or not it has reached its tolerance."""
    best, missing = reference
    certificate = result.certificate
    x = result.x.ravel()
    scale = 1.0 + abs(best)
    noise = certificate.resolution + 1e-12 * scale
    assert 0.0 <= missing <= 1e-5 * scale  # (the reference is one)
    assert certificate.exact
    assert certificate.primal == pytest.approx(f.value(x), rel=1e-12, abs=1e-12)
    assert certificate.dual <= best + noise
    assert certificate.primal >= best - missing - noise
    assert certificate.primal - certificate.dual == pytest.approx(certificate.gap, abs=noise)
    assert certificate.block_gaps.sum() == pytest.approx(certificate.gap, abs=noise)
    assert certificate.block_gaps.min() >= -noise
    assert not domain.distance(x) > 1e-9 * (1.0 + np.abs(x).max())
    np.testing.assert_array_equal(np.concatenate([each.ravel() for each in result.blocks]), x)


def check_atoms(result, domain):
    """Weights of distinct atoms of the set, whose mean is x."""
    means = []
    for active in result.active_sets:
        assert (active.weights > 0.0).all()
        assert active.weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert len({atom.key for atom in active.atoms}) == len(active)
        means.append(active.weights @ np.array([atom.dense() for atom in active.atoms]))
    np.testing.assert_allclose(np.concatenate(means), result.x.ravel(), atol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_polytopes(name):
    domain, vertices = SETS[name]
    kinds = [KINDS[list(SETS).index(name) % 5], KINDS[(list(SETS).index(name) + 2) % 5]]
    of_kind = objectives(domain.size)
    for kind in kinds:
        f, reached = of_kind[kind], {}
        reference = over_hull(f, vertices)
        for method in METHODS:
            if not is_for(method, domain):
                continue
            most = 5000 if method in LINEAR else 300
            result = bo.minimize(f, domain, method, TOL, max_passes=most, random_state=1)
            check(result, f, domain, reference)
            assert (result.active_sets is not None) == (
                method not in ("fw", "bcfw", "projected", "fw+predefined")
            )
            if result.active_sets is not None:
                check_atoms(result, domain)
            if method in LINEAR:
                assert result.status is Status.CERTIFIED, (kind, method, result.message)
            reached[method] = result
        values = {method: result.certificate.primal for method, result in reached.items()}
        lower = max(result.certificate.dual for result in reached.values())
        assert all(value >= lower - 1e-12 * (1.0 + abs(value)) for value in values.values())


@pytest.mark.parametrize("kind", ["least squares", "logistic", "function"])
@pytest.mark.parametrize("name", BALLS)
def test_balls(name, kind):
    domain, project, largest_product = BALLS[name]
    f = objectives(domain.size)[kind]
    reference = over_ball(f, project, largest_product, np.zeros(domain.size))
    for method in METHODS:
        if is_for(method, domain):
            result = bo.minimize(f, domain, method, 1e-5, max_passes=60, random_state=1)
            check(result, f, domain, reference)
            if result.active_sets is not None:
                check_atoms(result, domain)


def test_a_product_of_round_and_flat_sets():
    """Its reference: the polytope of the same set, with many points of the circle."""
    domain = bo.Product([bo.L2Ball(2), bo.Simplex(3), bo.NuclearBall((1, 2), 2.0)])
    angles = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)]) / np.cos(angles[1] / 2.0)
    f = objectives(7)["least squares"]
    results = [
        bo.minimize(f, domain, method, 1e-6, max_passes=2000, random_state=0)
        for method in ("bcfw", "bcfw+gap+pairwise", "fcfw", "projected")
    ]
    inside = [np.concatenate(x) for x in product(circle[::5], np.eye(3), 2.0 * circle[::5])]
    scale = np.concatenate([np.full(2, np.cos(angles[1] / 2.0)), np.ones(3), np.full(2, 0.99)])
    best_inside, _ = over_hull(f, np.array(inside) * scale)
    for result in results:
        assert not domain.distance(result.x) > 1e-9
        assert result.certificate.dual <= best_inside
        for other in results:
            assert other.certificate.dual <= result.certificate.primal + 1e-12


# -- along the way -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["least squares", "logistic", "function"])
@pytest.mark.parametrize(
    "method", [m for m in METHODS if m not in ("fw+predefined", "raway")] + ["fw+adaptive"]
)
def test_the_value_never_rises(method, kind):
    f, seen = objectives(FLAT.size)[kind], []
    result = bo.minimize(f, FLAT, method, 0.0, max_passes=25, random_state=3, callbacks=seen.append)
    values = np.array([f.value(event.x) for event in seen])
    assert len(values) > 5
    assert values[-1] < values[0]
    assert (np.diff(values) <= 1e-13 * (1.0 + np.abs(values[1:]))).all()
    gaps = result.trace["gap"]
    assert (gaps[np.isfinite(gaps)] >= 0.0).all()
    assert (result.trace["gap_estimate"] >= 0.0).all()
    for event in seen:
        assert not FLAT.distance(event.x) > 1e-9


@pytest.mark.parametrize("kind", ["least squares", "logistic"])
def test_raway_and_short_steps_never_rise(kind):
    f, domain, values = objectives(6)[kind], bo.L1Ball(6, 2.0), []
    L = max(np.linalg.norm(f.gradient(e) - f.gradient(0 * e)) for e in np.eye(6)) * 6
    note = lambda event: values.append(f.value(event.x))  # noqa: E731
    bo.minimize(f, domain, "raway", 0.0, max_passes=60, random_state=0, callbacks=note)
    assert (np.diff(values) <= 1e-12).all()
    values.clear()
    method = bo.FrankWolfe(bo.FrankWolfe().step, step_size=bo.ShortStep(L))
    bo.minimize(f, domain, method, 0.0, max_passes=60, random_state=0, callbacks=note)
    assert (np.diff(values) <= 1e-12).all()


# -- answers that are known ----------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fcfw", "min_norm_point", "pairwise", "away"])
def test_the_nearest_point_of_a_simplex(method):
    """(The largest entries of the centre, less what they have in common.)"""
    center = np.array([2.0, 1.5, -1.0, 0.0])
    result = bo.minimize(bo.SquaredNorm(center), bo.Simplex(4), method, 1e-12)
    np.testing.assert_allclose(result.x, [0.75, 0.25, 0.0, 0.0], atol=1e-6)


def test_the_least_norm_in_a_base_polytope_minimises_the_function():
    """The negative entries of the nearest point to 0 (Fujishige)."""
    rng = np.random.default_rng(0)
    cut, pull = np.triu(rng.random((7, 7)), 1), rng.normal(size=7)

    def f(members):
        inside = np.isin(np.arange(7), members)
        return cut[inside][:, ~inside].sum() + cut[~inside][:, inside].sum() + pull[inside].sum()

    subsets = [[j for j in range(7) if code >> j & 1] for code in range(2**7)]
    best = min(map(f, subsets))
    found = bo.minimize(bo.SquaredNorm(), bo.BasePolytope(f, 7), "min_norm_point", 1e-10)
    assert f(np.flatnonzero(found.x < 0.0).tolist()) == pytest.approx(best, abs=1e-9)


def test_lasso():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(30, 12)), rng.normal(size=30)
    lasso = linear_model.Lasso(alpha=0.1, fit_intercept=False, tol=1e-14, max_iter=10**6).fit(A, b)
    ball = bo.L1Ball(12, radius=np.abs(lasso.coef_).sum())
    for method in ("pairwise", "away", "fcfw", "raway"):
        result = bo.minimize(
            bo.LeastSquares(A, b, scale=1 / 30), ball, method, 1e-12, random_state=0
        )
        assert result.is_certified, method
        np.testing.assert_allclose(result.x, lasso.coef_, atol=1e-5)


def test_shapes_are_those_of_the_domain():
    f = bo.SquaredNorm(np.arange(9.0))
    result = bo.minimize(f, bo.Birkhoff(3), "pairwise", callbacks=lambda e: e.x.shape != (3, 3))
    assert result.x.shape == (3, 3)
    assert result.status is not Status.STOPPED_BY_CALLBACK
    assert [block.shape for block in result.blocks] == [(3, 3)]
    both = bo.Product([bo.Birkhoff(2), bo.Simplex(3)])
    result = bo.minimize(bo.SquaredNorm(), both, "bcfw+pairwise")
    assert [block.shape for block in result.blocks] == [(2, 2), (3,)]
    assert result.x.shape == (7,)
