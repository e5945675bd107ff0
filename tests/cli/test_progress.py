"""The time that is left, by the slope of log(gap)."""

import math

import pytest

from blockwolfe.cli.progress import seconds_left


def test_straight_line():
    seconds = [0.0, 1.0, 2.0, 3.0]
    gaps = [10.0 ** (-0.5 * t) for t in seconds]
    assert seconds_left(seconds, gaps, tol=gaps[-1] * 1e-2) == pytest.approx(4.0)


def test_only_the_last_certificates_count():
    early = [(t, 1.0) for t in range(50)]
    late = [(50 + t, math.exp(-t)) for t in range(9)]
    seconds, gaps = zip(*early, *late, strict=True)
    assert seconds_left(seconds, gaps, tol=math.exp(-10)) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("seconds", "gaps", "tol"),
    [
        ([], [], 0.1),
        ([1.0], [0.5], 0.1),
        ([1.0, 2.0], [0.1, 0.5], 0.1),
        ([1.0, 1.0], [0.5, 0.1], 0.01),
        ([1.0, 2.0], [0.5, 0.1], 0.0),
        ([1.0, 2.0], [0.5, 0.0], 0.1),
    ],
)
def test_nothing_to_say(seconds, gaps, tol):
    assert math.isnan(seconds_left(seconds, gaps, tol))


def test_done():
    assert seconds_left([1.0, 2.0], [0.5, 0.1], tol=0.2) == 0.0
