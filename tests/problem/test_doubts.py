"""Oracles that find no loss where there is some are refused; those that may be right are doubted."""

import itertools
import warnings

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.errors import OracleWarning
from blockwolfe.problem.doubts import check_losses
from plain_tasks import Labels
from zoo import PROBLEMS, multiclass_data

METHODS = ["auto", "bcfw", "fw"]


class WrongSign(Labels):
    """Takes the loss away instead of adding it."""

    def augmented_decode(self, x, y, w):
        scores = x @ w.reshape(self.n_inputs, self.n_labels)
        return int(np.argmax(scores - (np.arange(self.n_labels) != y)))


class OnlyTruth(Labels):
    """Finds the true output at any w that training could reach."""

    def augmented_decode(self, x, y, w):
        return y


class OneOutput(OnlyTruth):
    """There is no other output: nothing to learn, and nothing wrong."""

    def decode(self, x, w):
        raise NotImplementedError("never needed in training")


class Bounded(OnlyTruth):
    """Finds no better output than the true one, and says how good others might be."""

    exact = False

    def augmented_decode_bound(self, x, y, w):
        scores = x @ w.reshape(self.n_inputs, self.n_labels)
        return y, float(np.max(scores + (np.arange(self.n_labels) != y)))


def test_an_oracle_whose_bounds_know_of_the_losses_is_right():
    problem = bw.Problem(Bounded(3, 4), *multiclass_data())
    certificate = bw.certify(problem, problem.initial_state(), 0.1)
    assert certificate.valid
    assert certificate.primal == certificate.slack == 1.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("task", [WrongSign, OnlyTruth])
def test_an_oracle_that_misses_all_losses_is_refused(task, method):
    problem = bw.Problem(task(3, 4), *multiclass_data())
    with pytest.raises(bw.OracleError, match="sign of the loss"):
        bw.solve(problem, 0.1, method)


def test_it_is_refused_wherever_all_blocks_are_asked_at_zero():
    problem = bw.Problem(OnlyTruth(3, 4), *multiclass_data())
    with pytest.raises(bw.OracleError, match="example 0 .* has loss 1,"):
        bw.certify(problem, problem.initial_state(), 0.1)
    with pytest.raises(bw.OracleError, match="sign of the loss"):
        bw.solve_path(problem, eps=0.1)


def test_a_sign_that_shows_only_beyond_the_probed_examples_is_found_as_well():
    """The first examples have one output, later ones have more."""

    class Late(OnlyTruth):
        def decode(self, x, w):
            return int(x[0]) if x[0] <= 2 else super().decode(x, w)

    X, Y = multiclass_data()
    X[:, 0] = [0, 1, 2, *[5] * 9]
    with pytest.raises(bw.OracleError, match="example [3-9]"):
        bw.solve(bw.Problem(Late(3, 4), X, Y), 0.1)


def test_a_list_of_outputs_is_looked_at():
    class Listed(OneOutput):
        def outputs(self, x):
            return itertools.count()  # (without end)

    X, Y = multiclass_data()
    with pytest.raises(bw.OracleError, match="but 1 has loss 1,"):
        bw.solve(bw.Problem(Listed(3, 4), X, np.zeros_like(Y)), 0.1)


@pytest.mark.parametrize("method", METHODS)
def test_one_output_each_is_doubted_and_can_be_meant(method):
    problem = bw.Problem(OneOutput(3, 4), *multiclass_data())
    with pytest.warns(OracleWarning, match="nothing is learned.*check_task.*OracleWarning"):
        result = bw.solve(problem, 0.1, method)
    assert result.is_certified
    assert not result.w.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", OracleWarning)
        assert bw.solve(problem, 0.1, method).is_certified


def test_sound_oracles_and_built_in_tasks_are_not_doubted():
    X, Y = multiclass_data()
    with warnings.catch_warnings():
        warnings.simplefilter("error", OracleWarning)
        bw.solve(bw.Problem(Labels(3, 4), X, Y), 0.1)
        bw.solve(bw.Problem(bw.tasks.Multiclass(1), X, np.zeros_like(Y)), 0.1)


def test_an_oracle_that_claims_nothing_is_not_refused():
    class Estimate(WrongSign):
        exact = False

    result = bw.solve(bw.Problem(Estimate(3, 4), *multiclass_data()), 0.1, max_passes=2)
    assert result.status is bw.Status.INEXACT_ORACLE


def test_bounds_are_held_against_the_outputs_of_other_weights():
    """The bound forgets the loss; at w = 0 the true output cannot show that."""

    class Unbounded(WrongSign):
        exact = False

        def augmented_decode_bound(self, x, y, w):
            found = self.augmented_decode(x, y, w)
            scores = x @ w.reshape(self.n_inputs, self.n_labels)
            return found, max(float(scores.max()), scores[found] + self.loss(y, found))

    with pytest.raises(bw.OracleError, match="own answer at another w"):
        bw.solve(bw.Problem(Unbounded(3, 4), *multiclass_data()), 0.1)


def test_a_compiled_oracle_without_losses_is_doubted():
    blocks = PROBLEMS["toy-jitted"]().blocks
    zero, none = np.zeros(blocks.n_features), np.zeros(len(blocks))
    with pytest.warns(OracleWarning):
        check_losses(blocks, zero, none)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OracleWarning)
        check_losses(blocks, zero + 1.0, none)
        check_losses(blocks, zero, none + 1.0)


# -- exceptions say where they come from ---------------------------------------------------------


class Failing(Labels):
    """One of its methods fails for the only example of label 2."""

    fails = ""

    def _look(self, method, is_it):
        if method == self.fails and is_it:
            raise ZeroDivisionError("of the user's own")

    def features(self, x, y):
        self._look("features", y == 2)
        return super().features(x, y)

    def loss(self, y, y_hat):
        self._look("loss", y == 2)
        return super().loss(y, y_hat)

    def augmented_decode(self, x, y, w):
        self._look("augmented_decode", y == 2)
        return super().augmented_decode(x, y, w)

    def decode(self, x, w):
        self._look("decode", x[0] == 77.0)
        return super().decode(x, w)


@pytest.mark.parametrize("method", ["features", "loss", "augmented_decode"])
def test_an_exception_in_training_names_method_and_example(method):
    X, Y = multiclass_data()
    Y = np.arange(len(Y)) % 2
    Y[7] = 2
    task = Failing(3, 4)
    task.fails = method
    with pytest.raises(ZeroDivisionError) as caught:
        bw.solve(bw.Problem(task, X, Y), 0.1)
    assert caught.value.__notes__ == [f"It was raised by Failing.{method}() for example 7."]


def test_an_exception_in_prediction_and_checks_names_method_and_example():
    X, Y = multiclass_data()
    task = Failing(3, 4)
    task.fails = "decode"
    svm = bw.StructuredSVM(task, lam=0.1, tol=0.1).fit(X, Y)
    X[5] = 77.0
    for call in (lambda: svm.predict(X), lambda: bw.check_task(task, X, Y)):
        with pytest.raises(ZeroDivisionError) as caught:
            call()
        assert caught.value.__notes__ == ["It was raised by Failing.decode() for example 5."]
