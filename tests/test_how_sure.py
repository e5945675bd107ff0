"""How sure an estimator is: what it answers, what it refuses, and what its file keeps."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import blockwolfe as bw
from blockwolfe.estimators.model_file import load
from command_line import program
from test_crafted_files import crafted, setter
from zoo import chain_data, multiclass_data, tree_data


@pytest.fixture(scope="module")
def svm():
    return bw.StructuredSVM(bw.tasks.Chain(3), lam=0.05, tol=0.05).fit(*chain_data())


QUESTIONS = {
    "n_best": lambda svm, X: svm.predict(X, n_best=2),
    "margins": lambda svm, X: svm.margins(X),
    "marginals": lambda svm, X: svm.marginals(X),
    "fit_temperature": lambda svm, X: svm.fit_temperature(X, [[0]] * len(X)),
}


def test_the_first_of_the_best_is_the_prediction(svm):
    X, _ = chain_data(seed=1)
    for y, best in zip(svm.predict(X), svm.predict(X, n_best=3), strict=True):
        assert len(best) == min(3, 3 ** len(y))
        assert best[0].output.tolist() == y.tolist()
        scores = [score for _, score in best]
        assert scores == sorted(scores, reverse=True)


def test_margins_and_probabilities_belong_together(svm):
    """At a low temperature the surer label is the likelier one, and the prediction the likeliest."""
    X, _ = chain_data(seed=1)
    cold = svm.marginals(X, temperature=1e-3)
    for y, margin, p in zip(svm.predict(X), svm.margins(X), cold, strict=True):
        is_clear = margin > 0.05
        assert (p.argmax(axis=1) == y)[is_clear].all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", QUESTIONS)
def test_before_fit_there_is_nothing_to_ask(name):
    with pytest.raises(NotFittedError):
        QUESTIONS[name](bw.StructuredSVM(bw.tasks.Chain(3)), chain_data()[0])


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3", np.nan])
def test_n_best_is_a_number_of_outputs(svm, k):
    with pytest.raises(bw.OptionError, match="n_best=.* must be an integer >= 1"):
        svm.predict(chain_data()[0], n_best=k)


@pytest.mark.parametrize("temperature", [0, -1.0, np.inf, np.nan, "hot", True])
def test_a_temperature_is_positive(svm, temperature):
    with pytest.raises(bw.OptionError, match="temperature=.* must be a finite number > 0"):
        svm.marginals(chain_data()[0], temperature=temperature)


@pytest.mark.parametrize("name", ["n_best", "margins", "marginals"])
def test_no_examples_no_answers(svm, name):
    assert QUESTIONS[name](svm, []) == []


def test_no_temperature_of_nothing(svm):
    with pytest.raises(bw.InputError, match="X is empty"):
        svm.fit_temperature([], [])
    with pytest.raises(bw.InputError, match="X has 8 .* 1"):
        svm.fit_temperature(chain_data()[0], [[0]])


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_task_without_answers_is_refused_and_others_named(name):
    X, Y = tree_data()
    task = bw.tasks.PairwiseGraph(3)
    svm = bw.StructuredSVM(task, lam=1.0, tol=0.5).fit(X, Y)
    with pytest.raises(bw.InputError, match="PairwiseGraph does not offer .*: Chain, .*Tree"):
        QUESTIONS[name](svm, X)


class Coin:
    """A task of a user's own that says how sure it is."""

    n_features = 1

    def features(self, x, y):
        return np.array([float(x * y)])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w):
        return 1 if w[0] * x >= 0 else -1

    def augmented_decode(self, x, y, w):
        return max((-1, 1), key=lambda h: self.loss(y, h) + h * w[0] * x)

    def margins(self, X, w):
        return [abs(2 * w[0] * x) for x in X]


def test_a_task_of_ones_own_may_offer_some():
    svm = bw.StructuredSVM(Coin(), lam=0.1, tol=0.01).fit([1.0, -2.0], [1, -1])
    assert svm.margins([3.0]) == [abs(6.0 * svm.coef_[0])]
    with pytest.raises(bw.InputError, match="A task of your own offers them by a method n_best"):
        svm.predict([3.0], n_best=2)


def test_the_fitted_temperature_is_used_and_kept(tmp_path):
    X, Y = multiclass_data()
    svm = bw.StructuredSVM(lam=0.1, tol=0.01).fit(X, Y)
    before = svm.marginals(X)
    np.testing.assert_array_equal(before, svm.marginals(X, temperature=1.0))
    assert svm.fit_temperature(*multiclass_data(seed=1)) is svm
    warm = svm.marginals(X)
    assert abs(warm - before).max() > 1e-3
    svm.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load(tmp_path / "model.npz").marginals(X), warm)
    assert not hasattr(svm.fit(X, Y), "temperature_")


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "1", None, [1.0]])
def test_a_file_has_a_temperature_or_none(tmp_path, value):
    path = tmp_path / "model.npz"
    svm = bw.StructuredSVM(lam=0.1, tol=0.01).fit(*multiclass_data())
    svm.fit_temperature(*multiclass_data(seed=1)).save(path)
    crafted(path, setter(("temperature",), value))
    with pytest.raises(bw.errors.ModelFileError, match="temperature"):
        load(path)


def test_on_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{label} 1:{rng.normal() + k:.3f}" for k, label in enumerate(["a", "b", "c"] * 5)]
    data, model = tmp_path / "train.svm", tmp_path / "model.npz"
    data.write_text("\n".join(rows) + "\n")
    done = program("train", "multiclass", data, "-o", model, "--lam", "0.1", "-q")
    assert done.returncode == 0, done.stderr
    done = program("predict", model, data, "--n-best", "2", "--margins")
    assert done.returncode == 0, done.stderr
    for item in map(json.loads, done.stdout.splitlines()):
        first, second = item["n_best"]
        assert first["output"] == item["output"] != second["output"]
        assert item["margins"] == pytest.approx(first["score"] - second["score"])
    refused = program("predict", model, data, "--n-best", "0")
    assert refused.returncode == 2
    assert "must be an integer >= 1" in refused.stderr
