"""`PoseDisplay` holds what it draws, and draws it."""

import matplotlib as mpl
import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.errors import InputError

mpl.use("Agg")


def test_plot(tmp_path):
    poses = bw.datasets.synthetic_poses(2, size=16)
    display = bw.PoseDisplay(poses.X[0], poses.Y[1], poses.Y[0]).plot()
    np.testing.assert_array_equal(display.picture, poses.X[0].max(axis=0))
    np.testing.assert_array_equal(display.limbs(display.joints)[0], poses.Y[1][[12, 13]])
    assert len(display.ax_.lines) == 2 * (13 + 1)
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["true", "found"]
    display.figure_.savefig(tmp_path / "pose.png")


def test_from_estimator():
    X, Y = [np.eye(3)[None].repeat(2, axis=0)] * 2, [[[0, 0], [1, 1]], [[1, 1], [2, 2]]]
    svm = bw.StructuredSVM(bw.tasks.Pose(1, arcs=[(0, 1)]), lam=1.0, tol=0.1).fit(X, Y)
    display = bw.PoseDisplay.from_estimator(svm, X[0], Y[0])
    np.testing.assert_array_equal(display.joints, svm.predict(X)[0][:, :2])
    assert display.arcs.tolist() == [[0, 1]]


def test_bad_input_is_refused():
    with pytest.raises(InputError, match=r"x has shape \(3, 3\)"):
        bw.PoseDisplay(np.zeros((3, 3)), np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"truth has shape \(2, 2\); expected \(3, 2\)"):
        bw.PoseDisplay(np.zeros((3, 4, 4)), np.zeros((3, 2)), np.zeros((2, 2)))
