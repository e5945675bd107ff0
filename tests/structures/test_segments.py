"""The best segmentation equals enumeration."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.structures import chain, segments


def random_case(rng):
    n, longest, k = int(rng.integers(1, 6)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    draw = rng.normal if rng.random() < 0.5 else lambda size: rng.integers(-2, 3, size) * 1.0
    return draw(size=(n, longest, k)), draw(size=(n - 1, k, k))


def test_equals_enumeration():
    rng = np.random.default_rng(0)
    for _ in range(1500):
        segment, transition = random_case(rng)
        outputs = list(segments.enumerate_outputs(*segment.shape))
        scores = [segments.score(segment, transition, y) for y in outputs]
        found = segments.maximize(segment, transition)
        assert found in outputs
        assert segments.score(segment, transition, found) == pytest.approx(max(scores), abs=1e-9)


def test_number_of_segmentations():
    assert sum(1 for _ in segments.enumerate_outputs(4, 4, 1)) == 8  # compositions of 4
    assert sum(1 for _ in segments.enumerate_outputs(4, 2, 1)) == 5  # of ones and twos
    assert sum(1 for _ in segments.enumerate_outputs(3, 3, 2)) == 2 + 2 * 4 + 8


def test_segments_of_length_one_are_a_chain():
    rng = np.random.default_rng(1)
    for _ in range(200):
        unary, transition = rng.normal(size=(7, 4)), rng.normal(size=(4, 4))
        found = segments.maximize(unary[:, None], transition)
        expected = chain.maximize(unary, transition)
        assert [label for _, _, label in found] == expected.tolist()


def test_shapes_are_checked():
    with pytest.raises(bw.InputError, match="segment has shape"):
        segments.maximize(np.zeros((3, 2)), np.zeros((2, 2)))
    with pytest.raises(bw.InputError, match="transition has shape"):
        segments.maximize(np.zeros((3, 2, 2)), np.zeros((3, 2, 2)))
    with pytest.raises(bw.InputError, match=r"segment\[0, 0, 0\] is nan"):
        segments.maximize(np.full((3, 2, 2), np.nan), np.zeros((2, 2)))
    with pytest.raises(bw.InputError, match=r"transition\[0, 0, 0\] is nan"):
        segments.maximize(np.zeros((3, 2, 2)), np.full((2, 2), np.nan))
