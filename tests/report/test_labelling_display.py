"""`LabellingDisplay` holds what it is given, and draws it."""

import numpy as np
import pytest

import blockwolfe as bw

plt = pytest.importorskip("matplotlib.pyplot")


def test_data_first_then_pictures():
    truth = np.array([["sky", "sky"], ["sea", "sand"]])
    found = np.array([["sky", "sea"], ["sea", "sand"]])
    display = bw.LabellingDisplay({"true": truth, "model": found})
    assert display.agreement == {"model": 0.75}
    assert not hasattr(display, "figure_")
    display.plot()
    assert [ax.get_title() for ax in display.axes_] == ["true\n", "model\n75% right"]
    shown = display.axes_[1].images[0].get_array()
    np.testing.assert_array_equal(shown, [[2, 1], [1, 0]])
    plt.close(display.figure_)


def test_given_axes_are_used():
    figure, axes = plt.subplots(1, 2)
    display = bw.LabellingDisplay({"a": np.zeros((2, 3)), "b": np.zeros((2, 3))}).plot(axes)
    assert display.figure_ is figure
    plt.close(figure)


@pytest.mark.parametrize(
    "pictures", [{}, {"a": [1, 2]}, {"a": [[1]], "b": [[1, 2]]}], ids=["none", "flat", "unequal"]
)
def test_shapes_are_checked(pictures):
    with pytest.raises(bw.InputError, match="one 2-d shape"):
        bw.LabellingDisplay(pictures)
