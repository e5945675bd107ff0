"""Bounds from all that asks for them: one side alone, groups, the task's own."""

from types import SimpleNamespace

import numpy as np
import pytest

from blockwolfe.errors import InputError
from blockwolfe.problem.bounds import box_of

TASK = SimpleNamespace(groups={"a": slice(0, 2), "b": slice(2, 4)})


@pytest.mark.parametrize(
    ("bounds", "lower", "upper"),
    [
        ((None, 0.5), -np.inf, 0.5),
        ((-1.0, None), -1.0, np.inf),
        ((-1.0, 0.5), -1.0, 0.5),
        ({"b": (None, 2)}, -np.inf, [np.inf, np.inf, 2, 2]),
        ({"a": (0, 1), "b": (-1, None)}, [0, 0, -1, -1], [1, 1, np.inf, np.inf]),
    ],
)
def test_either_side_and_any_group(bounds, lower, upper):
    found = box_of(bounds, TASK, 4)
    np.testing.assert_array_equal(found[0], np.broadcast_to(lower, 4))
    np.testing.assert_array_equal(found[1], np.broadcast_to(upper, 4))


def test_the_tightest_of_what_task_and_user_ask_for():
    task = SimpleNamespace(groups=TASK.groups, bounds={"a": (0, 1)})
    lower, upper = box_of((-1, 0.5), task, 4)
    assert lower.tolist() == [0, 0, -1, -1]
    assert upper.tolist() == [0.5] * 4
    with pytest.raises(InputError, match="no w satisfies both"):
        box_of((None, -0.5), task, 4)


def test_no_bounds_are_no_arrays():
    assert [side.size for side in box_of((None, np.inf), TASK, 4)] == [0, 0]
