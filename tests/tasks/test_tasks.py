"""Layout, losses and label handling of the built-in tasks, against direct formulas."""

import numpy as np
import pytest

import blockwolfe as bw
from zoo import chain_data, multiclass_data, tree_data


def test_dimension_of_the_ocr_model():
    X = [np.zeros((2, 128))]
    assert bw.Problem(bw.tasks.Chain(26), X, [[0, 1]]).n_features == 4082


@pytest.mark.parametrize("off", ["emission", "transition", "bias", "first", "last"])
def test_every_group_can_be_switched_off(off):
    X, Y = chain_data()
    sizes = {"emission": 12, "transition": 9, "bias": 3, "first": 3, "last": 3}
    problem = bw.Problem(bw.tasks.Chain(3, **{off: False}), X, Y)
    assert problem.n_features == sum(sizes.values()) - sizes[off]
    assert bw.solve(problem, 1.0, tol=0.05).is_certified


def test_features_by_hand():
    x = np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]])
    task = bw.Problem(bw.tasks.Chain(2), [x], [[0, 1, 1]]).task
    emission = np.zeros((2, 2))
    for row, label in zip(x, [1, 0, 1], strict=True):
        emission[:, label] += row
    bias, first, last = [1, 2], [0, 1], [0, 1]
    transition = [[0, 1], [1, 0]]
    expected = np.concatenate([emission.ravel(), bias, first, last, np.ravel(transition)])
    np.testing.assert_array_equal(task.features(x, [1, 0, 1]), expected)


@pytest.mark.parametrize(("loss", "expected"), [
    ("hamming", 3.0),
    ("normalized_hamming", 3 / 4),
    (bw.tasks.Hamming(class_weight={"a": 3.0}), 7.0),
    (bw.tasks.Hamming(class_weight={"b": 3.0}), 5.0),
    ([[0, 5], [2, 0]], 12.0),
    (bw.tasks.CostMatrix([[0, 5], [2, 0]], normalize=True), 3.0),
    (bw.tasks.CostMatrix([[0, 5], [2, 0]], class_weight={"a": 3.0}), 32.0),
])  # fmt: skip
def test_losses_by_hand(loss, expected):
    """Two of two "a" are missed, one of two "b": a cost of what was predicted would be another."""
    truth, guess = ["a", "b", "b", "a"], ["b", "a", "b", "b"]
    task = bw.Problem(bw.tasks.Chain(task_loss=loss), [np.zeros((4, 1))], [truth]).task
    assert task.loss(truth, guess) == pytest.approx(expected)
    assert task.loss(truth, truth) == 0.0


def test_the_truth_costs_nothing_and_all_else_the_same():
    X, Y = tree_data()
    task = bw.Problem(bw.tasks.Tree(3), X, Y).task
    for y in Y:
        assert task.loss(y, y) == 0.0
        assert task.loss(y, (y + 1) % 3) == len(y)


def test_balanced_class_weight():
    X, Y = multiclass_data(n=30)
    task = bw.Problem(bw.tasks.Multiclass(task_loss=bw.tasks.ZeroOne("balanced")), X, Y).task
    expected = 30 / (3 * np.bincount(Y))
    for label in range(3):
        assert task.loss(label, (label + 1) % 3) == pytest.approx(expected[label])


def test_given_label_order_is_kept():
    X, Y = chain_data()
    names = np.array(["z", "a", "m"])
    Y = [list(names[y]) for y in Y]
    task = bw.Problem(bw.tasks.Chain(labels=["m", "z", "a"]), X, Y).task
    assert list(task.classes_) == ["m", "z", "a"]
    assert task.loss(["z"], ["z"]) == 0.0
    assert task.loss(["z"], ["a"]) == 1.0
    costs = bw.tasks.CostMatrix([[0, 1, 2], [3, 0, 4], [5, 6, 0]])
    task = bw.Problem(bw.tasks.Chain(labels=["m", "z", "a"], task_loss=costs), X, Y).task
    assert task.loss(["z"], ["a"]) == 4.0


def test_masks_are_kept_in_training_and_prediction():
    X, Y = chain_data(n=20)
    allowed = [np.eye(3, dtype=bool)[y] | [False, True, True] for y in Y]
    masked = [bw.tasks.Masked(x, a) for x, a in zip(X, allowed, strict=True)]
    svm = bw.StructuredSVM(bw.tasks.Chain(3), lam=0.5, tol=0.05).fit(masked, Y)
    for guess, mask in zip(svm.predict(masked), allowed, strict=True):
        assert mask[np.arange(len(guess)), guess].all()
    only_two = [bw.tasks.Masked(x, np.tile([False, False, True], (len(x), 1))) for x in X]
    assert all((guess == 2).all() for guess in svm.predict(only_two))


def test_large_label_sets_need_no_dense_block_state():
    """K = 400 labels, K^2 = 160,000 transitions: a block stores only parts that it has used."""
    rng = np.random.default_rng(0)
    Y = [rng.integers(400, size=10) for _ in range(30)]
    X = [rng.normal(size=(10, 3)) for _ in Y]
    problem = bw.Problem(bw.tasks.Chain(400), X, Y)
    result = bw.solve(problem, 1.0, tol=0.0, max_passes=3)
    assert len(result.state.part) < 30 * 19 * 5
