"""Displays of gaps, confusion, transitions and convergence: their data, and that they draw it."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

import blockwolfe as bw
from zoo import chain_data, multiclass_data

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def chain():
    X, Y = chain_data(n=20)
    return (
        bw.StructuredSVM(bw.tasks.Chain(3), lam=0.1, tol=0.01, random_state=0).fit(
            X, Y, held_out=(X, Y)
        ),
        X,
        Y,
    )


def test_confusion_counts_as_scikit_learn_does(chain):
    svm, X, Y = chain
    display = bw.ConfusionDisplay.from_estimator(svm, X, Y)
    truth, guess = np.concatenate(Y), np.concatenate(svm.predict(X))
    np.testing.assert_array_equal(display.matrix, confusion_matrix(truth, guess, labels=[0, 1, 2]))
    assert display.accuracy == np.mean(truth == guess)
    expected = np.transpose(precision_recall_fscore_support(truth, guess, labels=[0, 1, 2]))
    np.testing.assert_allclose([s[1:] for s in display.per_label()], expected)
    frequent = display.most_frequent(100)
    assert sum(count for _, _, count in frequent) == np.sum(truth != guess)
    assert [c for *_, c in frequent] == sorted((c for *_, c in frequent), reverse=True)
    assert all(np.sum((truth == a) & (guess == b)) == c for a, b, c in frequent)


def test_confusion_of_single_labels_and_order():
    display = bw.ConfusionDisplay.from_predictions(
        ["b", "a", "c"], ["b", "b", "a"], labels=["b", "a", "z"]
    )
    assert display.labels == ["b", "a", "z", "c"]
    assert display.matrix.tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    z = display.per_label()[2]
    assert np.isnan([z.precision, z.recall, z.f1]).all()


def test_confusion_is_drawn(chain):
    svm, X, Y = chain
    display = bw.ConfusionDisplay.from_estimator(svm, X, Y)
    drawn = display.plot().ax_.images[0].get_array()
    np.testing.assert_array_equal(drawn, display.matrix)
    _, ax = plt.subplots()
    shares = display.plot(ax, normalize="true").ax_.images[0].get_array()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert display.ax_ is ax
    np.testing.assert_allclose(
        display.plot(normalize="pred").ax_.images[0].get_array().sum(axis=0), 1.0
    )
    assert display.plot(normalize="all").ax_.images[0].get_array().sum() == pytest.approx(1.0)
    with pytest.raises(bw.OptionError, match="normalize='rows' is not known"):
        display.plot(normalize="rows")


@pytest.mark.parametrize(("truth", "guess", "message"), [
    ([["a"], ["b"]], [["a"]], "Y_true has 2 examples and Y_pred has 1"),
    ([["a"], ["b", "a"]], [["a"], ["b"]], r"Y_true\[1\] has 2 labels and Y_pred\[1\] has 1"),
    ([["a"]], [[1]], "labels of one kind"),
])  # fmt: skip
def test_confusion_refuses_what_does_not_fit(truth, guess, message):
    with pytest.raises(bw.InputError, match=message):
        bw.ConfusionDisplay.from_predictions(truth, guess)


def test_confusion_needs_labels():
    X = [[("we", "PRON"), ("ran", "VERB")]]
    svm = bw.StructuredSVM(bw.tasks.SpanningTree(), lam=0.1).fit(X, [[2, 0]])
    with pytest.raises(bw.OptionError, match="outputs of SpanningTree are not labels"):
        bw.ConfusionDisplay.from_estimator(svm, X, [[2, 0]])
    with pytest.raises(bw.InputError, match="expected a row and a column for each of the 1 labels"):
        bw.ConfusionDisplay(np.zeros((2, 2)), ["a"])


def test_transitions(chain):
    svm, _, _ = chain
    display = bw.TransitionsDisplay.from_estimator(svm).plot()
    at = svm.task_.layout_.transition
    np.testing.assert_array_equal(display.weights.ravel(), svm.coef_[at : at + 9])
    assert display.ax_.get_xlabel() == "next label"
    plain = bw.StructuredSVM(lam=0.1, tol=0.1).fit(*multiclass_data())
    with pytest.raises(bw.OptionError, match="Multiclass has no weights for transitions"):
        bw.TransitionsDisplay.from_estimator(plain)


def test_block_gaps(chain):
    svm, _, _ = chain
    display = bw.BlockGapsDisplay.from_estimator(svm).plot(n_hardest=4)
    assert display.total == pytest.approx(svm.certificate_.block_gaps.sum(), abs=1e-9)
    first = display.hardest(3)
    assert display.gaps[first[0]] == svm.certificate_.block_gaps.max()
    assert sum(display.share(i) for i in range(20)) == pytest.approx(1.0)
    left, right = display.axes_
    assert sum(bar.get_height() for bar in left.patches) == 20
    assert [text.get_text() for text in right.get_yticklabels()] == [
        str(i) for i in display.hardest(4)
    ]
    with pytest.raises(bw.OptionError, match="ended without a full pass"):
        bw.BlockGapsDisplay.from_certificate(bw.Certificate.unknown(3, 1.0))


def test_held_out_loss_is_drawn_where_it_was_traced(chain):
    svm, X, Y = chain
    display = bw.ConvergenceDisplay.from_estimator(svm).plot(against="seconds")
    assert len(display.axes_) == 3
    line = display.axes_[2].lines[0]
    known = ~np.isnan(svm.trace_["gap"])
    np.testing.assert_array_equal(line.get_ydata(), svm.trace_["held_out_loss"][known])
    without = bw.StructuredSVM(bw.tasks.Chain(3), lam=0.1, tol=0.1).fit(X, Y)
    assert len(bw.ConvergenceDisplay.from_result(without.result_).plot().axes_) == 2
    _, axes = plt.subplots(1, 2)
    assert len(bw.ConvergenceDisplay.from_result(svm.result_).plot(axes=axes).axes_) == 2


def test_a_colour_bar_is_as_tall_as_its_matrix():
    """Also where the matrix is smaller than its place, as in the picture of the demo."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    display = bw.TransitionsDisplay(np.eye(3), "abc").plot(axes[1])
    figure.canvas.draw()
    (bar,) = display.ax_.child_axes
    matrix, beside = display.ax_.get_window_extent(), bar.get_window_extent()
    assert (beside.y0, beside.y1) == pytest.approx((matrix.y0, matrix.y1))
    assert 0 < beside.x0 - matrix.x1 < 0.1 * matrix.width
    plt.close(figure)


def test_calibration_counts(chain):
    svm, X, Y = chain
    display = bw.CalibrationDisplay.from_estimator(svm, X, Y, temperature=0.3)
    p = np.concatenate(svm.marginals(X, temperature=0.3))
    np.testing.assert_allclose(display.probability, p.max(axis=1))
    np.testing.assert_array_equal(display.is_right, p.argmax(axis=1) == np.concatenate(Y))
    bins = display.bins(10)
    assert sum(b.n_choices for b in bins) == len(p)
    right = sum(b.n_choices * b.share_right for b in bins)
    assert right == pytest.approx(display.is_right.sum())
    expected = sum(b.n_choices * abs(b.share_right - b.probability) for b in bins) / len(p)
    assert display.error() == pytest.approx(expected)
    drawn = display.plot().ax_.lines[1].get_ydata()
    np.testing.assert_allclose(drawn, [b.share_right for b in bins])


def test_calibration_refuses_what_has_no_table():
    X, Y = np.eye(3), np.eye(3, dtype=int)[:, :2]
    svm = bw.StructuredSVM(bw.tasks.Multilabel(), lam=1.0, tol=0.1).fit(X, Y)
    with pytest.raises(bw.InputError, match="does not choose one label for each position"):
        bw.CalibrationDisplay.from_estimator(svm, X, [{0}, {1}, {0}])
    with pytest.raises(bw.InputError, match="expected one of each per choice"):
        bw.CalibrationDisplay([0.5], [True, False])
