"""Distance transforms equal the maximum over all sources, for any price."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from blockwolfe.errors import InputError
from blockwolfe.structures import distance_transform
from blockwolfe.structures.chain import FORBIDDEN
from blockwolfe.structures.distance_transform import SHORT

VALUES = st.one_of(st.integers(-4, 4).map(float), st.floats(-50, 50))
A = st.one_of(
    st.sampled_from([0.0, 1e-300, 1e-18, 1e-3, 0.5, 1.0, 2.0, -1.0, -1e-3]), st.floats(-3, 3)
)
B = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-20, 20))
SHIFT = st.one_of(st.integers(-12, 12).map(float), st.floats(-30, 30))


def brute(f, a, b, shift):
    """(1), and all its terms as [j, q]."""
    n = len(f)
    x = np.arange(n)[:, None] + shift - np.arange(n)
    terms = f - (a * x + b) * x
    return terms.max(axis=1), terms


@settings(max_examples=300, deadline=None)
@given(hnp.arrays(float, st.integers(1, 12), elements=VALUES), A, B, SHIFT)
def test_line_equals_brute_force(f, a, b, shift):
    out, at = distance_transform.maximize(f, a, b, shift)
    expected, terms = brute(f, a, b, shift)
    size = 1.0 + np.abs(terms).max()
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13 * size)
    np.testing.assert_array_equal(out, terms[np.arange(len(f)), at])


def test_line_equals_brute_force_thousands_of_times():
    rng = np.random.default_rng(0)
    for _ in range(5000):
        n = int(rng.integers(1, 30))
        f = rng.normal(size=n) * 10.0 ** rng.integers(-3, 3)
        a = float(rng.normal() * 10.0 ** rng.integers(-6, 2)) * (rng.random() < 0.9)
        b, shift = rng.normal(size=2) * rng.choice([0.0, 1.0, 10.0], size=2)
        out, _ = distance_transform.maximize(f, a, b, shift)
        expected, terms = brute(f, a, b, shift)
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13 * (1 + np.abs(terms).max()))


def without_places(f, a, b, shift):
    """As `maximize`, by the way that is taken when the best q is not asked for."""
    out, line, floats = np.zeros(2 * len(f)), np.zeros(len(f), dtype=np.int64), np.zeros(3 * len(f))
    distance_transform.maximize_into(f, (a, b, shift), out, line[:0], 2, line, floats)
    assert not out[1::2].any()
    return out[::2]


@pytest.mark.parametrize("n", [*range(1, 14), SHORT - 1, SHORT, SHORT + 1, SHORT + 7])
def test_values_alone_are_the_same(n):
    rng = np.random.default_rng(n)
    for a in (-0.5, 0.0, 1e-3, 2.0):
        f, b, shift = rng.normal(size=n), float(rng.normal()), float(rng.normal() * 5)
        expected, terms = brute(f, a, b, shift)
        atol = 1e-13 * (1 + np.abs(terms).max())
        np.testing.assert_allclose(without_places(f, a, b, shift), expected, rtol=0, atol=atol)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.tuples(A, A), st.tuples(B, B), st.tuples(SHIFT, SHIFT))
def test_plane_equals_brute_force(data, a, b, shift):
    shape = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    f = data.draw(hnp.arrays(float, shape, elements=VALUES))
    out, at = distance_transform.maximize_2d(f, a, b, shift)
    height, width = shape
    x = np.arange(width)[:, None] + shift[0] - np.arange(width)
    y = np.arange(height)[:, None] + shift[1] - np.arange(height)
    price_x, price_y = (a[0] * x + b[0]) * x, (a[1] * y + b[1]) * y
    terms = f - price_x[None, :, None, :] - price_y[:, None, :, None]
    size = 1.0 + np.abs(terms).max()
    np.testing.assert_allclose(out, terms.max(axis=(2, 3)), rtol=0, atol=1e-13 * size)
    rows, columns = np.indices(shape)
    reached = terms[rows, columns, at[..., 1], at[..., 0]]
    np.testing.assert_allclose(out, reached, rtol=0, atol=1e-13 * size)


@pytest.mark.parametrize("a", [-0.7, 0.0, 1e-3, 0.7])
def test_long_lines(a):
    rng = np.random.default_rng(0)
    f = rng.normal(size=700) * 1000
    out, _ = distance_transform.maximize(f, a, 0.3, 11.25)
    expected, terms = brute(f, a, 0.3, 11.25)
    np.testing.assert_allclose(out, expected, atol=1e-13 * np.abs(terms).max())


@pytest.mark.parametrize("mark", [FORBIDDEN, -np.inf])
@pytest.mark.parametrize("a", [-1.0, 0.0, 1.0])
def test_forbidden_sources_are_not_used(mark, a):
    rng = np.random.default_rng(0)
    for _ in range(200):
        f, is_out = rng.normal(size=8), rng.random(8) < 0.6
        is_out[rng.integers(8)] = False
        out, at = distance_transform.maximize(np.where(is_out, mark, f), a, shift=0.5)
        assert not is_out[at].any()
        expected = brute(np.where(is_out, -np.inf, f), a, 0.0, 0.5)[0]
        np.testing.assert_allclose(out, expected, atol=1e-12)


def test_ties_go_to_the_lowest_source():
    for a in (0.0, 1.0):
        assert distance_transform.maximize([1.0, 1.0, 1.0], a, shift=20.0)[1][0] == (2 if a else 0)
    assert distance_transform.maximize([0.0, -9.0, 0.0], 1.0)[1].tolist() == [0, 0, 2]


def test_input_is_left_alone():
    f = np.array([[-np.inf, 1.0]])
    distance_transform.maximize_2d(f, (1.0, 1.0))
    assert f[0, 0] == -np.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, np.nan], 1.0), "f has NaN"),
        (([1.0, np.inf], 1.0), "f has NaN or"),
        (([[1.0]], 1.0), r"f has shape \(1, 1\); expected 1 dimension"),
        (([], 1.0), r"f has shape \(0,\)"),
        (([1.0], np.nan), "a, b, shift = "),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        distance_transform.maximize(*arguments)
