"""The parts of differences in order, so that labels of one position are scored together."""

import numpy as np
import pytest

from blockwolfe.base.look import make_look
from blockwolfe.dual.differences import FEW_PARTS, Differences, _number


def numbered(rng, sizes, n_parts):
    """Entries of some members of two blocks, drawn at random, with the numbers of their parts."""
    begin = np.concatenate([[0], np.cumsum(sizes)])
    part = rng.integers(n_parts, size=begin[-1]).astype(np.int32)
    first = np.array([0, len(sizes) // 2, len(sizes)])
    room = np.zeros_like(part)
    made = Differences(
        first,
        begin[:-1],
        begin[1:],
        part,
        np.ones(len(part)),
        np.zeros_like(part),
        np.zeros_like(first),
        room,
    )
    _number(made, make_look(n_parts))
    return made


@pytest.mark.parametrize("n_parts", [1, 5, 40, FEW_PARTS, 4 * FEW_PARTS])
def test_every_entry_finds_its_part(n_parts):
    rng = np.random.default_rng(n_parts)
    for n_entries in (0, 1, 7, 2 * FEW_PARTS):
        made = numbered(rng, rng.integers(n_entries + 1, size=6), n_parts)
        for i in range(2):
            entries = slice(made.begin[made.first[i]], made.end[made.first[i + 1] - 1])
            own = made.distinct[made.part_first[i] : made.part_first[i + 1]]
            np.testing.assert_array_equal(own[made.slot[entries]], made.part[entries])
            assert sorted(own.tolist()) == sorted(set(made.part[entries].tolist()))
            if len(own) <= FEW_PARTS:  # (more would take too long)
                assert (np.diff(own) > 0).all()
