"""The quadratic over a unit box, against its optimality conditions and all of its faces."""

import itertools

import numpy as np
import pytest

from blockwolfe.base.box_qp import maximize_on_box


def value(Q, s, c):
    return s @ c - 0.5 * c @ Q @ c


def best_of_all_faces(Q, s):
    """The largest value at a stationary point of any face of the box."""
    n, best = len(s), -np.inf
    for face in itertools.product([0.0, 1.0, None], repeat=n):
        c = np.array([0.0 if at is None else at for at in face])
        free = [k for k in range(n) if face[k] is None]
        if free:
            c[free] = np.linalg.lstsq(Q[np.ix_(free, free)], (s - Q @ c)[free], rcond=None)[0]
        if (c >= 0.0).all() and (c <= 1.0).all():
            best = max(best, value(Q, s, c))
    return best


@pytest.mark.parametrize("rank", [0, 1, 2, 4])
@pytest.mark.parametrize("seed", range(12))
def test_the_maximum_is_that_of_all_faces(seed, rank):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rank, 4))
    Q, s = A.T @ A, rng.normal(size=4) + rng.choice([0.0, 2.0])
    c = maximize_on_box(Q, s)
    assert ((c >= 0.0) & (c <= 1.0)).all()
    assert value(Q, s, c) == pytest.approx(best_of_all_faces(Q, s), abs=1e-12)


@pytest.mark.parametrize("n", [1, 3, 40])
def test_the_slopes_are_those_of_a_maximum(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        A = rng.normal(size=(n + 2, n))
        Q, s = A.T @ A, n * rng.normal(size=n)
        c = maximize_on_box(Q, s)
        slope, small = s - Q @ c, 1e-12 * (np.abs(s) + np.abs(Q) @ c)
        assert (slope[c == 0.0] <= small[c == 0.0]).all()
        assert (slope[c == 1.0] >= -small[c == 1.0]).all()
        inside = (c > 0.0) & (c < 1.0)
        assert (np.abs(slope) <= small)[inside].all()


def test_directions_that_are_nearly_equal():
    """Coordinate steps alone go by a hundred-thousandth of the way each."""
    Q, best = np.full((2, 2), 1.0 - 1e-5) + 1e-5 * np.eye(2), np.array([0.3, 0.7])
    np.testing.assert_allclose(maximize_on_box(Q, Q @ best), best, atol=1e-9)


def test_equal_directions_share():
    c = maximize_on_box(np.ones((3, 3)), np.full(3, 1.5))
    assert c.sum() == pytest.approx(1.5)


def test_nothing_to_gain():
    assert maximize_on_box(np.zeros((2, 2)), np.zeros(2)).tolist() == [0.0, 0.0]
    assert maximize_on_box(np.eye(2), np.array([-1.0, -2.0])).tolist() == [0.0, 0.0]
