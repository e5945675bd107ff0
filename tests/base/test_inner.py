"""Inner products of long vectors."""

import math

import numpy as np
import pytest

from blockwolfe.base.inner import inner


@pytest.mark.parametrize("n", [1000, 20_000, 200_000])
def test_long_sums_lose_no_digits(n):
    """A few terms over and over, whose rounding errors add up if they are summed one by one."""
    a, b = np.full(n, 1.0 / n), np.where(np.arange(n) % 3, 0.9, 1.1)
    exact = math.fsum(a * b)
    assert abs(inner(a, b) - exact) <= 4 * np.finfo(float).eps * exact


@pytest.mark.filterwarnings("error")
def test_squares_that_overflow_are_infinite():
    assert inner(np.array([1e300, 1.0]), np.array([1e300, 1.0])) == math.inf
