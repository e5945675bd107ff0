"""`TreeDisplay` lays a tree out, and draws it."""

import numpy as np
import pytest

import blockwolfe as bw

pytest.importorskip("matplotlib.pyplot")

EDGES = [[0, 1], [0, 2], [2, 3], [2, 4]]


def test_layout():
    display = bw.TreeDisplay(EDGES, list("abcab"), list("abcbb"))
    assert display.depth.tolist() == [0, 1, 1, 2, 2]
    assert display.n_right == 4
    # children are under their parent, in order, and no two nodes of one depth share a place
    assert display.place[1] < display.place[2]
    assert display.place[2] == np.mean(display.place[[3, 4]])
    assert len({(d, p) for d, p in zip(display.depth, display.place, strict=True)}) == 5


def test_forest_and_single_node():
    assert bw.TreeDisplay([[1, 0]], [0, 0, 0], [0, 0, 1]).depth.tolist() == [1, 0, 0]
    assert bw.TreeDisplay([], ["x"], ["x"]).plot().n_right == 1


def test_of_an_estimator():
    X = [bw.tasks.Graph(np.array([[0.0], [1.0]]), [[0, 1]])] * 2
    svm = bw.StructuredSVM(bw.tasks.Tree(), lam=0.01, tol=0.01).fit(X, [["a", "b"]] * 2)
    display = bw.TreeDisplay.from_estimator(svm, X[0], ["a", "a"], names="xy")
    assert display.predicted.tolist() == ["a", "b"]
    assert display.n_right == 1
    assert display.names == ["x", "y"]


def test_drawing():
    display = bw.TreeDisplay(EDGES, list("abcab"), list("abcbb"), names="vwxyz").plot()
    ax = display.ax_
    assert len(ax.lines) == len(EDGES)
    assert {text.get_text() for text in ax.texts} == set("vwxyz")
    assert "4 of 5" in ax.get_title()
    rings = ax.collections[-1]
    assert len(rings.get_offsets()) == 1


@pytest.mark.parametrize(
    ("edges", "truth", "predicted", "words"),
    [
        ([[0, 1]], [0, 1], [0], "predicted has 1 entries"),
        ([[0, 5]], [0, 1], [0, 1], r"\(0, 5\) does not fit"),
        ([[0, 1], [2, 1]], [0, 1, 2], [0, 1, 2], "each child once"),
        ([[0, 1], [1, 0]], [0, 1], [0, 1], "cycle"),
    ],
)
def test_what_is_no_tree(edges, truth, predicted, words):
    with pytest.raises(bw.InputError, match=words):
        bw.TreeDisplay(edges, truth, predicted)
