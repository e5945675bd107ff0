"""Pictures of label pairs and of selections: the data they hold, and that they draw."""

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pytest

import blockwolfe as bw


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (X @ rng.normal(size=(3, 4)) > 0).astype(int)
    Y[:, 3] = 0  # never on: no shares
    return X, Y


@pytest.mark.parametrize("pairs", ["full", "tree", "independent"])
def test_label_pairs(labels, pairs):
    X, Y = labels
    svm = bw.StructuredSVM(bw.tasks.Multilabel(pairs), lam=0.5, tol=0.05).fit(X, Y)
    display = bw.LabelPairsDisplay.from_estimator(svm, Y, labels="abcd")
    on = Y[:, 0] == 1
    assert display.shares[0, 1] == pytest.approx(Y[on, 1].mean())
    assert np.isnan(display.shares[3]).all()
    n_weights = {"full": 12, "tree": 6, "independent": 0}[pairs]
    assert np.isfinite(display.weights).sum() == n_weights
    left, right = display.plot().axes_
    assert [text.get_text() for text in left.get_xticklabels()] == list("abcd")
    assert len(right.texts) == n_weights
    display.figure_.canvas.draw()


def test_label_pairs_of_another_model():
    with pytest.raises(bw.InputError, match="not a fitted model of label sets"):
        bw.LabelPairsDisplay.from_estimator(bw.StructuredSVM(), [[0, 1]])


def test_selection():
    x = bw.tasks.ProgramInput(np.eye(4), [[1, 1, 1, 1], [1, 0, 0, 0]], [2, np.inf])
    svm = bw.StructuredSVM(bw.tasks.Program(), lam=0.1, tol=1e-4).fit([x], [[1, 1, 0, 0]])
    display = bw.SelectionDisplay.from_estimator(svm, x, [0, 1, 1, 0], ["two", "free"])
    assert display.kinds == ["chosen, wrongly", "chosen, rightly", "missed", "left out, rightly"]
    assert display.usage.tolist() == [1.0]
    assert display.row_names == ["two"]
    left, _ = display.plot().axes_
    assert len(left.containers) == 4
    display.figure_.canvas.draw()
