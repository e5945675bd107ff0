"""Models with a kernel: files, support positions, pruning, predictions and how sure they are."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import blockwolfe as bw
from kernel_twins import TWINS, assert_within_certificates, graph_data, with_nodes
from zoo import chain_data, multiclass_data, token_dicts

NAMES = ["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine"]
OPTIONS = {"lam": 0.2, "tol": 0.1, "random_state": 0}


def fitted(name, X=None, Y=None, **kernel):
    task, data = TWINS[name]
    own = data()
    X, Y = own[0] if X is None else X, own[1] if Y is None else Y
    return bw.StructuredSVM(task(**kernel), **OPTIONS).fit(X, Y), X


def scores_of(svm, X):
    """All that a model says of X, as one array: predictions and scores of the best two."""
    found = svm.predict(X)
    flat = [np.ravel(y) for y in found]
    if isinstance(svm.task, bw.tasks.PairwiseGraph):
        return np.concatenate(flat)
    return np.concatenate(flat), [s for best in svm.predict(X, n_best=2) for _, s in best]


def assert_same_model(a, b, X):
    np.testing.assert_equal(scores_of(a, X), scores_of(b, X))
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)
    assert a.n_support_ == b.n_support_
    assert a.n_features_in_ == b.n_features_in_


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::blockwolfe.KernelWarning")  # (sigmoid is no kernel ...)
@pytest.mark.filterwarnings("ignore::blockwolfe.NotCertifiedWarning")  # (... and is not certified)
@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("name", ["chain", "multiclass", "tree", "cut", "pairwise-graph"])
def test_a_model_is_the_same_after_save_and_load(name, kernel, tmp_path):
    svm, X = fitted(name, kernel=kernel, gamma="scale")
    svm.save(tmp_path / "model.npz")
    loaded = bw.load(tmp_path / "model.npz")
    assert_same_model(loaded, svm, X)
    loaded.save(tmp_path / "again.npz")
    assert_same_model(bw.load(tmp_path / "again.npz"), svm, X)


@pytest.mark.parametrize("name", ["multilabel", "chain-masked", "chain-order-2"])
def test_other_tasks_in_files(name, tmp_path):
    svm, X = fitted(name, kernel="rbf")
    svm.save(tmp_path / "model.npz")
    assert_same_model(bw.load(tmp_path / "model.npz"), svm, X)


def test_precomputed_values_in_files(tmp_path):
    X, Y = chain_data()
    flat = np.concatenate(X)
    cuts = np.cumsum([len(x) for x in X])[:-1]
    values = with_nodes(X, np.split(flat @ flat.T, cuts))
    svm, _ = fitted("chain", values, Y, kernel="precomputed")
    assert 0 < svm.n_support_ < len(flat)
    svm.save(tmp_path / "model.npz")
    loaded = bw.load(tmp_path / "model.npz")
    assert_same_model(loaded, svm, values)
    linear, _ = fitted("chain", kernel="linear")
    np.testing.assert_equal(svm.predict(values), linear.predict(X))
    with pytest.raises(bw.OptionError, match="prune the model before it is saved"):
        loaded.prune(0.1)
    assert svm.prune(1e9).n_support_ == 0


@pytest.mark.parametrize("kernel", ["linear", "rbf", "cosine"])
def test_sparse_inputs_are_as_dense_ones(kernel, tmp_path):
    X, Y = chain_data()
    dense, _ = fitted("chain", kernel=kernel)
    svm, _ = fitted("chain", [sp.csr_array(x) for x in X], Y, kernel=kernel)
    assert_within_certificates(svm.result_, dense.result_)
    svm.save(tmp_path / "model.npz")
    loaded = bw.load(tmp_path / "model.npz")
    assert_same_model(loaded, svm, [sp.csr_array(x) for x in X])
    np.testing.assert_equal(loaded.predict(X), svm.predict(X))


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_token_dicts(kernel, tmp_path):
    X, Y = token_dicts()
    task = bw.tasks.Chain(kernel=kernel)
    svm = bw.StructuredSVM(task, **OPTIONS).fit(X, Y)
    svm.save(tmp_path / "model.npz")
    loaded = bw.load(tmp_path / "model.npz")
    assert_same_model(loaded, svm, X)
    unknown = [[{"w": "bird", "len": 1.0}], *X]
    np.testing.assert_equal(loaded.predict(unknown), svm.predict(unknown))


def test_a_linear_kernel_predicts_as_none():
    X, Y = token_dicts()
    unknown = [[{"w": "bird", "len": 1.0}], *X]
    tight = OPTIONS | {"tol": 1e-6}  # (models at a loose gap may differ where words are unknown)
    kernel, none = (
        bw.StructuredSVM(bw.tasks.Chain(kernel=kernel), **tight).fit(X, Y)
        for kernel in ("linear", None)
    )
    np.testing.assert_equal(kernel.predict(unknown), none.predict(unknown))


def letters_in_common(A, B):
    """A kernel over words: how many letters they share."""
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


def test_a_function_over_strings(tmp_path):
    X = [["the", "cat", "sat"], ["a", "dog"], ["cat"], ["the", "dog", "sat", "down"]]
    Y = token_dicts()[1]
    svm = bw.StructuredSVM(bw.tasks.Chain(kernel=letters_in_common), **OPTIONS).fit(X, Y)
    new = [["a", "cat", "down"], ["sat"]]
    copied = pickle.loads(pickle.dumps(svm))
    assert_same_model(copied, svm, X)
    np.testing.assert_equal(copied.predict(new), svm.predict(new))
    with pytest.raises(bw.OptionError, match=r"letters_in_common is a function.*pickle"):
        svm.save(tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()
    # by the letters themselves it is a linear kernel
    seen = sorted({letter for x in X for word in x for letter in word})
    letters = [np.array([[c in word for c in seen] for word in x], dtype=float) for x in X]
    linear = bw.StructuredSVM(bw.tasks.Chain(kernel="linear"), **OPTIONS).fit(letters, Y)
    np.testing.assert_allclose(svm.dual_coef_, linear.dual_coef_, atol=1e-9)


# -- support positions -----------------------------------------------------------------------------


def test_coefficients_and_why_there_are_no_weights():
    svm, X = fitted("chain", kernel="rbf")
    assert svm.dual_coef_.shape == (svm.n_support_, 3)
    assert svm.dual_coef_.any(axis=1).all()
    # the labels of a position share a change: what one gains the others lose
    np.testing.assert_allclose(svm.dual_coef_.sum(axis=1), 0.0, atol=1e-12)
    with pytest.raises(AttributeError, match="no coef_: its weights are a sum over support"):
        _ = svm.coef_
    linear, _ = fitted("chain")
    with pytest.raises(AttributeError, match="without a kernel has no dual_coef_"):
        _ = linear.dual_coef_
    assert not hasattr(linear, "prune")
    assert not hasattr(linear, "n_support_")
    assert len(np.concatenate(X)) >= svm.n_support_


def test_linear_weights_follow_from_coefficients():
    """(with the same visits: `auto` makes rounds of conjugate gradients without a kernel alone)"""
    task, (X, Y) = TWINS["chain"][0], TWINS["chain"][1]()[:2]
    options = OPTIONS | {"method": "bcfw"}
    kernel = bw.StructuredSVM(task(kernel="linear"), **options).fit(X, Y)
    linear = bw.StructuredSVM(task(), **options).fit(X, Y)
    W = kernel.task_.kernel_.inputs.T @ kernel.dual_coef_
    emission = linear.coef_[linear.task_.groups["emission"]].reshape(W.shape)
    np.testing.assert_allclose(W, emission, atol=1e-9)
    np.testing.assert_allclose(
        kernel.w_[: kernel.task_.n_linear], linear.coef_[emission.size :], atol=1e-9
    )


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_pruning_changes_no_score_by_more_than_it_says(kernel):
    X, y = multiclass_data(n=60)
    task = bw.tasks.Multiclass(kernel=kernel, gamma=0.2, degree=2)
    svm = bw.StructuredSVM(task, lam=0.02, tol=0.05, random_state=0).fit(X, y)
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(300, X.shape[1]))
    largest = np.linalg.norm(svm.task_.kernel_.inputs, axis=1).max()
    new = largest * directions / np.linalg.norm(directions, axis=1)[:, None]
    new = np.concatenate([new * rng.random((300, 1)), new])  # none larger than the largest
    before, n_before, is_pruned = svm.decision_function(new), svm.n_support_, False
    for max_change in (1e-6, 0.05, 0.3, 1.0, 5.0, 1e6):
        pruned = clone(svm).fit(X, y)
        assert pruned.n_support_ == n_before
        assert pruned.prune(max_change) is pruned
        assert np.abs(pruned.decision_function(new) - before).max() <= max_change * (1 + 1e-12)
        assert pruned.n_support_ <= svm.n_support_
        assert pruned.n_support_ == len(pruned.dual_coef_)
        is_pruned |= 0 < pruned.n_support_ < n_before
    assert is_pruned
    assert pruned.n_support_ == 0  # (and biases are left)
    assert len(pruned.predict(new)) == len(new)


@pytest.mark.parametrize("max_change", [0.0, -1.0, np.nan, "a", None])
def test_pruning_refuses_what_is_no_change(max_change):
    svm, _ = fitted("multiclass", kernel="rbf")
    with pytest.raises(bw.OptionError, match="max_change"):
        svm.prune(max_change)


# -- predictions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TWINS)
def test_together_as_one_by_one(name, monkeypatch):
    svm, X = fitted(name, kernel="rbf")
    together = svm.predict(X)
    for i, y in enumerate(together):
        np.testing.assert_array_equal(svm.predict(X[i : i + 1])[0], y)
    monkeypatch.setattr("blockwolfe.tasks.kernelized.task.BATCH_ENTRIES", 1)
    for y, again in zip(together, svm.predict(X), strict=True):
        np.testing.assert_array_equal(again, y)


def at_one_w(name):
    """Models with and without kernel="linear", which may be a tie apart in training.

    Weights are scaled: at an optimum several outputs are equally good, losses and all.
    """
    kernel, X = fitted(name, kernel="linear")
    kernel.w_ = 0.77 * kernel.w_
    linear, _ = fitted(name)
    W = kernel.task_.kernel_.inputs.T @ kernel.dual_coef_
    linear.coef_ = np.concatenate([W.ravel(), kernel.w_[: kernel.task_.n_linear]])
    return kernel, linear, X


@pytest.mark.parametrize("name", ["chain", "chain-masked", "multiclass", "tree", "cut"])
def test_how_sure_a_model_is_with_the_linear_kernel(name):
    kernel, linear, X = at_one_w(name)
    np.testing.assert_equal(list(kernel.predict(X)), list(linear.predict(X)))
    for found, expected in zip(kernel.margins(X), linear.margins(X), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    pairs = zip(kernel.predict(X, n_best=3), linear.predict(X, n_best=3), strict=True)
    for found, expected in pairs:
        np.testing.assert_allclose([s for _, s in found], [s for _, s in expected], atol=1e-9)
    if name == "cut":  # (which has none)
        return
    pairs = zip(kernel.marginals(X), linear.marginals(X), strict=True)
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("name", ["chain", "multiclass", "tree", "cut", "multilabel"])
def test_outputs_for_one_example(name):
    kernel, linear, X = at_one_w(name)
    for x, y in zip(X, TWINS[name][1]()[1], strict=True):
        pairs = [
            (svm.task_.decode(x, svm.w_), svm.task_.augmented_decode(x, y, svm.w_))
            for svm in (kernel, linear)
        ]
        np.testing.assert_equal(*pairs)


def test_bounds_for_graphs():
    kernel, linear, X = at_one_w("pairwise-graph")
    for x, y in zip(X, graph_data(3)[1], strict=True):
        for name, given in (("decode_bound", (x,)), ("augmented_decode_bound", (x, y))):
            found, bound = getattr(kernel.task_, name)(*given, kernel.w_)
            expected, least = getattr(linear.task_, name)(*given, linear.w_)
            np.testing.assert_array_equal(found, expected)
            assert bound == pytest.approx(least, abs=1e-9)
