"""Pictures of labels: the right node at every pixel, and bad input refused."""

import numpy as np
import pytest

import blockwolfe as bw


def test_a_grid_is_shown_as_it_is():
    labels = np.arange(12) % 2
    positions = np.stack(np.unravel_index(np.arange(12), (3, 4)), axis=1)
    display = bw.SegmentationDisplay(positions, {"truth": labels}, shape=(3, 4))
    np.testing.assert_array_equal(display.pictures["truth"], labels.reshape(3, 4))


def test_centres_are_spread_to_the_nearest_pixels():
    display = bw.SegmentationDisplay([[0, 0], [0, 10]], {"a": [3, 5]}, shape=(1, 11))
    np.testing.assert_array_equal(display.pictures["a"][0, [0, 4, 6, 10]], [3, 3, 5, 5])


def test_truth_prediction_and_errors_are_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    display = bw.SegmentationDisplay.from_predictions(
        [[0, 0], [0, 1], [1, 0], [1, 1]], list("abab"), list("abbb"), ["a", "b"], shape=(2, 2)
    )
    assert display.pictures["wrong"].sum() == 1
    assert display.plot() is display
    assert [ax.get_title() for ax in display.axes_] == ["truth", "prediction", "wrong"]


def test_bad_input():
    with pytest.raises(bw.InputError, match="positions has shape"):
        bw.SegmentationDisplay([1, 2], {})
    with pytest.raises(bw.InputError, match="panel 'a' has shape"):
        bw.SegmentationDisplay([[0, 0]], {"a": [1, 2]})
