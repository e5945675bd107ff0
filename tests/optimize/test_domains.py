"""Linear oracles against all vertices, programs and decompositions; distances; what is fixed."""

import numpy as np
import pytest
from scipy.optimize import linprog

from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains import (
    Birkhoff,
    Box,
    Flow,
    KSparse,
    L1Ball,
    L2Ball,
    NuclearBall,
    Oracle,
    Product,
    Simplex,
    Vertices,
)
from blockwolfe.optimize.domains import nuclear as nuclear_file
from small_domains import ALL, POLYTOPES, ROUND, gradients, nearest_in_hull


def rounding(gradient, point):
    return 1e-13 * np.abs(gradient).max() * (1.0 + np.abs(point).sum())


@pytest.mark.parametrize("name", POLYTOPES)
def test_oracle_is_the_best_of_all_vertices(name):
    domain, vertices = POLYTOPES[name]
    vertices = np.array(vertices)
    assert domain.size == vertices.shape[1]
    for gradient in gradients(domain.size):
        point = domain.minimize(gradient).dense()
        off = np.abs(vertices - point).max(axis=1).min()
        assert off <= 1e-13 * (1.0 + np.abs(vertices).max()), "it is one of the vertices"
        best = (vertices @ gradient).min()
        assert abs(point @ gradient - best) <= rounding(gradient, point)


@pytest.mark.parametrize("name", ALL)
def test_oracle_answers_the_same_and_leaves_the_gradient_alone(name):
    domain = ALL[name]
    for gradient in gradients(domain.size, n=5):
        given = gradient.copy()
        atom = domain.minimize(given)
        assert np.array_equal(given, gradient)
        again = domain.minimize(gradient.copy())
        assert again == atom
        assert np.array_equal(again.dense(), atom.dense())
        assert atom.size == domain.size
        assert atom.value.dtype == np.float64
        if atom.index is not None:
            assert atom.index.dtype == np.int64
            assert (np.diff(atom.index) > 0).all()


@pytest.mark.parametrize("name", ALL)
def test_atoms_and_mixtures_are_inside(name):
    domain = ALL[name]
    points = [domain.minimize(g).dense() for g in gradients(domain.size, n=10)]
    points = np.array([*points, domain.start().dense()])
    shares = np.random.default_rng(1).dirichlet(np.ones(len(points)), size=5)
    for x in [*points, *(shares @ points)]:
        assert domain.distance(x) <= 1e-12 * (1.0 + np.abs(points).max())


@pytest.mark.parametrize("name", ALL)
def test_points_beyond_the_best_are_outside(name):
    """Past the minimiser of a linear function lies nothing of the set."""
    domain = ALL[name]
    for gradient in gradients(domain.size, n=5, seed=3):
        largest = np.abs(gradient).max()
        if largest > 0.0:
            ahead = gradient / largest
            ahead /= np.linalg.norm(ahead)
            beyond = domain.minimize(gradient).dense() - 0.1 * ahead
            assert domain.distance(beyond) > 1e-3


@pytest.mark.parametrize("name", ["vertices", "sparse vertices"])
def test_distance_from_vertices_is_euclidean(name):
    domain, vertices = POLYTOPES[name]
    vertices = np.array(vertices)
    for x in np.random.default_rng(2).normal(size=(5, domain.size)):
        expected = np.linalg.norm(nearest_in_hull(x, vertices) - x)
        assert domain.distance(x) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("n", [12, 30])
def test_birkhoff_against_a_linear_program(n):
    rows = np.kron(np.eye(n), np.ones(n))
    columns = np.kron(np.ones(n), np.eye(n))
    gradient = np.random.default_rng(n).normal(size=n * n)
    best = linprog(gradient, A_eq=np.vstack([rows, columns]), b_eq=np.ones(2 * n)).fun
    assert Birkhoff(n).minimize(gradient).dot(gradient) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("k", [1, 3, 7, 12])
def test_k_sparse_against_a_linear_program(k):
    """Its description by inequalities: x = p - q, entries at most 2, their sum at most 2 k."""
    n = 12
    for gradient in list(gradients(n, n=3))[9:]:
        best = linprog(
            np.concatenate([gradient, -gradient]),
            A_ub=np.vstack([np.hstack([np.eye(n), np.eye(n)]), np.ones(2 * n)]),
            b_ub=np.append(np.full(n, 2.0), 2.0 * k),
        ).fun
        found = KSparse(n, k, 2.0).minimize(gradient)
        assert found.dot(gradient) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("name", ["l2", "l2 elsewhere"])
def test_l2_ball_by_its_formula(name):
    ball = ROUND[name]
    for gradient in gradients(ball.n):
        atom = ball.minimize(gradient)
        assert np.linalg.norm(atom.dense() - ball.center) == pytest.approx(ball.radius, rel=1e-14)
        scale = np.abs(gradient).max() or 1.0
        unit = gradient / scale
        best = ball.center @ unit - ball.radius * np.linalg.norm(unit)
        assert atom.dot(unit) == pytest.approx(best, abs=1e-13)


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (1, 5), (5, 1), (70, 90), (90, 70), (80, 80)])
def test_nuclear_ball_against_all_singular_values(shape, monkeypatch):
    monkeypatch.setattr(nuclear_file, "_DENSE_UP_TO", 64)
    ball = NuclearBall(shape, 2.0)
    for gradient in list(gradients(ball.size, n=2))[4:]:
        scale = np.abs(gradient).max()
        top = np.linalg.norm((gradient / scale).reshape(shape), 2)
        atom = ball.minimize(gradient)
        assert atom.dot(gradient / scale) == pytest.approx(-2.0 * top, rel=1e-12)
        assert np.linalg.norm(atom.dense().reshape(shape), "nuc") == pytest.approx(2.0, rel=1e-12)


def hard_matrices():
    """Leading singular values that are equal, close, or of a rank that is low."""
    rng = np.random.default_rng(0)
    u, v = (np.linalg.qr(rng.normal(size=(80, 80)))[0] for _ in range(2))
    for sizes in [
        np.ones(80),
        np.append([1.0, 1.0 - 1e-9], np.full(78, 0.5)),
        np.append([1.0], np.zeros(79)),
        np.append([1.0, 1.0], np.zeros(78)),
        1.0 - 1e-6 * np.arange(80),
        0.5 ** np.arange(80),
    ]:
        yield (u * sizes) @ v
    yield np.eye(80)
    yield np.diag(np.append(np.zeros(79), 1.0))
    yield np.ones((80, 80))


@pytest.mark.parametrize("number", range(9))
def test_nuclear_ball_at_hard_matrices(number, monkeypatch):
    monkeypatch.setattr(nuclear_file, "_DENSE_UP_TO", 64)
    gradient = list(hard_matrices())[number]
    top = np.linalg.norm(gradient, 2)
    found = NuclearBall((80, 80)).minimize(gradient.ravel()).dot(gradient.ravel())
    assert found == pytest.approx(-top, rel=1e-12)


def test_lanczos_is_used_and_judged_by_its_residual(monkeypatch):
    calls = []
    svds = nuclear_file.svds

    def counted(*args, **options):
        calls.append(1)
        return svds(*args, **options)

    monkeypatch.setattr(nuclear_file, "_DENSE_UP_TO", 64)
    gradient = np.random.default_rng(0).normal(size=(70, 90))
    top = np.linalg.norm(gradient, 2)
    monkeypatch.setattr(nuclear_file, "svds", counted)
    pair = nuclear_file._leading_by_lanczos(gradient)
    assert calls
    assert pair is not None
    assert pair[0] @ gradient @ pair[1] == pytest.approx(top, rel=1e-13)

    def rough(matrix, **options):
        u, s, v = svds(matrix, **options)
        return u, s, v + 1e-5

    monkeypatch.setattr(nuclear_file, "svds", rough)
    assert nuclear_file._leading_by_lanczos(gradient) is None
    found = NuclearBall((70, 90)).minimize(gradient.ravel()).dot(gradient.ravel())
    assert found == pytest.approx(-top, rel=1e-13)


@pytest.mark.parametrize("name", ["simplex", "l1", "vertices", "sparse vertices"])
def test_numbered_atoms(name):
    domain, vertices = POLYTOPES[name]
    rng = np.random.default_rng(0)
    atoms = [domain.atom(k).dense() for k in range(domain.n_atoms)]
    assert np.array_equal(atoms, np.array(vertices))
    for gradient in gradients(domain.size, n=10):
        numbers = rng.permutation(domain.n_atoms)[: rng.integers(1, domain.n_atoms + 1)]
        among = domain.minimize_among(gradient, numbers)
        values = [domain.atom(k).dot(gradient) for k in sorted(numbers)]
        assert among == domain.atom(sorted(numbers)[int(np.argmin(values))])


def test_ties_go_to_the_smallest_coordinate():
    assert Simplex(4).minimize(np.array([1.0, 0.0, 0.0, 0.0])) == Atom.unit(4, 1)
    assert L1Ball(3).minimize(np.array([1.0, -2.0, 2.0])) == Atom.unit(3, 1)
    assert L1Ball(3).minimize(np.array([1.0, 2.0, -2.0])) == Atom.unit(3, 1, -1.0)
    assert L1Ball(3).minimize(np.zeros(3)) == Atom.unit(3, 0)
    assert KSparse(4, 2).minimize(np.array([1.0, -1.0, 1.0, 0.0])) == Atom.sparse(
        4, [0, 1], [-1, 1]
    )
    assert Vertices([[0.0, 1.0], [0.0, 2.0]]).minimize(np.array([1.0, 0.0])).value[1] == 1.0
    assert Box(0.0, 1.0, n=2).minimize(np.zeros(2)) == Atom.full([0.0, 0.0])


def test_product_knows_its_blocks():
    inner = Product([Simplex(2), L2Ball(3)])
    product = Product([Box(0.0, 1.0, n=4), inner, inner])
    assert [block.size for block in product.blocks] == [4, 2, 3, 2, 3]
    assert product.offsets.tolist() == [0, 4, 6, 9, 11, 14]
    assert product.size == 14
    assert not product.is_polytope
    assert product.has_projection
    assert Simplex(3).blocks[0].size == 3
    mixed = Product([Simplex(2), Birkhoff(2)])
    assert mixed.is_polytope
    assert not mixed.has_projection
    assert mixed.minimize(np.zeros(6)).index is not None
    gradient = np.random.default_rng(0).normal(size=14)
    point = product.minimize(gradient).dense()
    for block, begin in zip(product.blocks, product.offsets, strict=False):
        part = slice(begin, begin + block.size)
        assert np.array_equal(point[part], block.minimize(gradient[part]).dense())


@pytest.mark.parametrize(
    ("domain", "shown"),
    [
        (Simplex(3), "Simplex(3)"),
        (L1Ball(3, 2.0), "L1Ball(3, radius=2)"),
        (KSparse(5, 2), "KSparse(5, k=2)"),
        (NuclearBall((2, 3), 0.5), "NuclearBall((2, 3), radius=0.5)"),
        (Birkhoff(3), "Birkhoff(3)"),
        (Flow([[0, 1]], 0, 1), "Flow(1 arc, 0 -> 1)"),
        (Vertices(np.eye(2)), "Vertices(2 points of 2 entries)"),
        (Oracle(np.sign, (2, 2)), "Oracle(sign, (2, 2))"),
        (Product([Simplex(2)] * 3), "Product([3 x Simplex(2)])"),
    ],
)
def test_short_names(domain, shown):
    assert repr(domain) == shown


@pytest.mark.parametrize(("shape", "n"), [((2, 3), None), ((4,), 4)])
def test_boxes_of_any_shape(shape, n):
    box = Box(np.zeros(shape), 1.0, n=n)
    assert box.shape == shape
    assert box.size == np.prod(shape)


def test_own_oracle_may_return_shapes_and_atoms_and_reuse_its_memory():
    memory = np.zeros((2, 2))

    def corner(gradient):
        assert gradient.shape == (2, 2)
        memory[:] = gradient < 0.0
        return memory

    domain = Oracle(corner, (2, 2))
    first = domain.minimize(np.array([-1.0, 1.0, 1.0, 1.0]))
    domain.minimize(np.ones(4))
    assert first == Atom.unit(4, 0)
    unit = Oracle(lambda gradient: Atom.unit(3, int(gradient.argmin())), 3)
    assert unit.minimize(np.array([1.0, -1.0, 0.0])) == Atom.unit(3, 1)


def test_products_that_overflow_are_compared_all_the_same():
    far = Vertices([[1e10, 2e10], [-1e10, 1e10], [0.0, -3e10]])
    assert far.minimize(np.array([1e300, 1e300])) == far.atom(2)
    assert far.minimize(np.array([1e300, 1e299])) == far.atom(1)


def test_negative_entries_are_not_doubly_stochastic():
    assert Birkhoff(2).distance(np.array([1.5, -0.5, -0.5, 1.5])) == 0.5
    assert Birkhoff(2).distance(np.array([0.75, 0.75, 0.25, 0.25])) == 0.5
    assert Birkhoff(2).distance(np.full(4, 0.5)) == 0.0
