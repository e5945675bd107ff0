"""Exponentials of many numbers against those of longer floats."""

import numpy as np
import pytest

from blockwolfe.base.exponential import LOWEST, exponentials

EPS = np.finfo(np.float64).eps


@pytest.mark.parametrize("top", [0.0, 3.5, -1e4, 1e5])
def test_they_are_right_to_the_last_digit(top):
    rng = np.random.default_rng(0)
    below = np.concatenate([700 * rng.random(5000), 5 * rng.random(5000), 10.0 ** -np.arange(300)])
    x = top - np.append(below, 0.0)
    found = np.zeros(len(x))
    exponentials(x, top, found)
    expected = np.exp((x - top).astype(np.longdouble))
    assert float(np.max(np.abs(found - expected) / expected)) < 2 * EPS


def test_far_below_they_are_zero_and_nan_stays():
    x = np.array([0.0, -740.0, LOWEST, -1e10, -1e200, -np.inf, np.nan])
    found = np.full(len(x), 7.0)
    exponentials(x, 0.0, found)
    np.testing.assert_allclose(found, np.exp(x), rtol=1e-15)


def test_it_may_be_done_in_place():
    x = np.array([-1.0, 0.0, -2.0])
    exponentials(x, 0.0, x)
    np.testing.assert_allclose(x, np.exp([-1.0, 0.0, -2.0]), rtol=1e-15)
