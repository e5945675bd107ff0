"""Followers after many moves, and lines, against what the objective itself says."""

import numpy as np
import pytest
import scipy.sparse as sp

from blockwolfe.optimize.directions import Direction
from blockwolfe.optimize.objectives.function import Function
from blockwolfe.optimize.objectives.least_squares import LeastSquares
from blockwolfe.optimize.objectives.logistic import Logistic
from blockwolfe.optimize.objectives.matrices import columns_of
from blockwolfe.optimize.objectives.reading import read_matrix
from objective_zoo import NAMES, N, dense, make, random_direction

CURVED = [name for name in NAMES if not name.startswith(("function", "logistic"))]


def random_block(rng):
    begin, end = sorted(rng.choice(N + 1, size=2, replace=False).tolist())
    return slice(begin, end)


@pytest.mark.parametrize("name", NAMES)
def test_a_follower_agrees_after_hundreds_of_moves(name):
    f, rng = make(name), np.random.default_rng(4)
    follower = f.follow(rng.normal(size=N))
    x = follower.x.copy()
    for step in range(400):
        direction = random_direction(rng)
        if step % 50 == 49:  # back to the origin, as a large move
            direction = Direction(slice(0, N), rng.normal(size=N) - follower.x)
        gamma = float(rng.uniform(-1, 1))
        x += gamma * dense(direction)
        follower.move(follower.along(direction), gamma)
        block = random_block(rng)
        expected, g = f.value(x), f.gradient(x)
        assert follower.value() == pytest.approx(expected, rel=1e-12, abs=1e-12)
        atol = 1e-12 * max(1.0, np.abs(g).max())
        np.testing.assert_allclose(follower.gradient(block), g[block], rtol=0, atol=atol)
        np.testing.assert_allclose(follower.x, x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_lines_are_the_objective_along_a_direction(name):
    f, rng = make(name), np.random.default_rng(5)
    for _ in range(40):
        x, direction = rng.normal(size=N), random_direction(rng)
        d = dense(direction)
        line = f.follow(x).along(direction)
        size = abs(f.value(x)) + np.abs(f.gradient(x)) @ np.abs(d) + 1.0
        assert line.slope == pytest.approx(f.gradient(x) @ d, abs=1e-13 * size)
        assert line.sqnorm == pytest.approx(d @ d, rel=1e-14)
        for gamma in (0.0, 1e-3, 0.3, 1.0):
            end = x + gamma * d
            assert line.value(gamma) == pytest.approx(f.value(end), abs=1e-13 * size)
            assert line.slope_at(gamma) == pytest.approx(f.gradient(end) @ d, abs=1e-13 * size)
            change, error = line.change(gamma)
            assert change == pytest.approx(f.value(end) - f.value(x), abs=1e-13 * size)
            assert 0.0 <= error <= 1e-11 * size


@pytest.mark.parametrize("name", NAMES)
def test_curvature_is_the_second_derivative_of_quadratics_alone(name):
    f, rng = make(name), np.random.default_rng(6)
    for _ in range(20):
        x, direction = rng.normal(size=N), random_direction(rng)
        line = f.follow(x).along(direction)
        if name not in CURVED:
            assert line.curvature is None
            continue
        d = dense(direction)
        found = (f.gradient(x + d) - f.gradient(x)) @ d
        assert line.curvature == pytest.approx(found, abs=1e-12 * (1 + abs(found)))
        assert line.curvature >= 0.0


@pytest.mark.parametrize("name", NAMES)
def test_rebuild_takes_x_as_it_was_written(name):
    f, rng = make(name), np.random.default_rng(7)
    follower = f.follow(rng.normal(size=N))
    follower.value(), follower.gradient(slice(0, N))
    follower.x[:] = x = rng.normal(size=N)
    follower.rebuild()
    assert follower.value() == f.value(x)
    np.testing.assert_array_equal(follower.gradient(slice(2, 5)), f.gradient(x)[2:5])


def test_rebuilding_ends_the_drift():
    """Moves of 1e6 there and back leave rounding errors, which are gone afterwards."""
    f = make("least squares")
    follower = f.follow(np.zeros(N))
    direction = Direction(slice(0, N), np.random.default_rng(0).normal(size=N))
    for gamma in (1e6, -1e6 + 1.0):
        follower.move(follower.along(direction), gamma)
    drifted = follower.value()
    follower.rebuild()
    assert follower.value() == f.value(follower.x) != drifted


@pytest.mark.parametrize("name", NAMES)
def test_followers_do_not_share_what_they_maintain(name):
    f, rng = make(name), np.random.default_rng(8)
    x = rng.normal(size=N)
    first, second = f.follow(x), f.follow(x)
    value = second.value()
    first.move(first.along(random_direction(rng)), 0.7)
    second.rebuild()
    assert second.value() == value


def test_images_are_products_of_the_matrix():
    rng = np.random.default_rng(9)
    for density in (0.01, 0.1, 0.5):
        A = sp.random_array((200, N), density=density, rng=rng).tocsc()
        for matrix in (columns_of(read_matrix("A", A)), columns_of(read_matrix("A", A.toarray()))):
            for _ in range(30):
                direction = random_direction(rng)
                image = matrix.image(direction)
                found = dense(image, 200)
                np.testing.assert_allclose(found, A @ dense(direction), rtol=0, atol=1e-14)
                if not isinstance(image.index, slice):
                    assert len(np.unique(image.index)) == len(image.index)


def test_the_image_of_few_columns_has_few_rows():
    A = sp.eye_array(1000, format="csc")
    image = columns_of(read_matrix("A", A)).image(Direction(np.array([7, 3]), np.array([1.0, 2.0])))
    assert sorted(image.index.tolist()) == [3, 7]


def test_a_direction_without_coordinates_changes_nothing():
    none = Direction(np.zeros(0, dtype=np.int64), np.zeros(0))
    for name in NAMES:
        follower = make(name).follow(np.ones(N))
        line = follower.along(none)
        assert line.slope == 0.0 == line.slope_at(1.0)
        follower.move(line, 1.0)
        assert follower.value() == make(name).value(np.ones(N))


class Counting:
    """1/2 |x|^2 that counts its calls."""

    def __init__(self):
        self.n_values = self.n_gradients = 0

    def value(self, x):
        self.n_values += 1
        return 0.5 * x @ x

    def gradient(self, x):
        self.n_gradients += 1
        return x


def test_own_functions_are_asked_once_at_each_point():
    own = Counting()
    follower = Function(own.value, own.gradient).follow(np.ones(4))
    follower.gradient(slice(0, 2)), follower.gradient(slice(2, 4))
    line = follower.along(Direction(slice(0, 4), -np.ones(4)))
    follower.value(), line.value(0.0), line.change(0.5), line.slope_at(0.5)
    follower.move(line, 0.5)
    assert follower.value() == 0.5
    np.testing.assert_array_equal(follower.gradient(slice(0, 4)), 0.5)
    assert (own.n_values, own.n_gradients) == (2, 2)


def test_small_changes_of_a_logistic_loss_keep_their_digits():
    """Against the same difference with more digits, and against a bound of its own error."""
    A, b = np.array([[1.0], [-1.0], [1.0]]), [1, 1, 1]
    longdouble = np.longdouble
    for x, gamma in [(3.0, 1e-9), (-5.0, 1e-7), (30.0, 1e-3), (-800.0, 0.4), (2.0, 3.0)]:
        line = Logistic(A, b).follow([x]).along(Direction(slice(0, 1), np.ones(1)))
        margins = longdouble(x) * A[:, 0].astype(longdouble)
        moved = margins + longdouble(gamma) * A[:, 0]
        exact = (np.logaddexp(longdouble(0), -moved) - np.logaddexp(longdouble(0), -margins)).sum()
        change, error = line.change(gamma)
        assert abs(change - float(exact)) <= error
        assert error <= 1e-12 * max(1.0, abs(x)) * gamma


def test_a_line_at_margins_of_ten_thousand():
    with np.errstate(all="raise", under="ignore"):
        follower = Logistic([[1.0], [-1.0]], [1, 1]).follow([1e4])
        line = follower.along(Direction(slice(0, 1), np.array([-2e4])))
        assert line.slope == pytest.approx(-2e4)
        assert line.change(1.0)[0] == pytest.approx(0.0, abs=1e-9)
        assert line.change(0.5)[0] == pytest.approx(2 * np.log(2) - 1e4)
        follower.move(line, 0.5)
        assert follower.value() == pytest.approx(2 * np.log(2))


@pytest.mark.parametrize("name", ["least squares", "logistic"])
def test_sparse_moves_are_dense_moves(name):
    rng = np.random.default_rng(11)
    followers = [make(n).follow(np.ones(N)) for n in (name, f"{name}, sparse")]
    for _ in range(100):
        direction = random_direction(rng)
        lines = [follower.along(direction) for follower in followers]
        assert lines[0].slope == pytest.approx(lines[1].slope, abs=1e-13)
        for follower, line in zip(followers, lines, strict=True):
            follower.move(line, 0.3)
    whole = slice(0, N)
    g = followers[0].gradient(whole)
    np.testing.assert_allclose(
        followers[1].gradient(whole), g, rtol=0, atol=1e-13 * max(1, abs(g).max())
    )


def test_columns_of_64_bit_indices_are_read():
    A = sp.csc_array(np.eye(3))
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    follower = LeastSquares(A, np.ones(3)).follow(np.zeros(3))
    follower.move(follower.along(Direction(np.array([1]), np.ones(1))), 1.0)
    assert follower.value() == 1.0
