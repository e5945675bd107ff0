"""Training that ends when held-out data gains nothing any more."""

import warnings

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.problem.evaluate import HeldOut
from zoo import PROBLEMS, multiclass_data

LAM = 1e-4  # so small that training goes on long after the held-out loss is least


def noisy(n=60, n_features=20, seed=0):
    """Labels that features tell little of."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, (X[:, 0] + 2.0 * rng.normal(size=n) > 0.0).astype(int)


@pytest.fixture(scope="module")
def problem():
    return bw.Problem(bw.tasks.Multiclass(), *noisy())


@pytest.fixture(scope="module")
def held_out():
    return noisy(200, seed=1)


@pytest.mark.parametrize(
    "method", ["auto", "bcfw", "bcfw+gap+pairwise+cache", "fw", "cutting_plane", "cutting_plane+n"]
)
def test_it_ends_and_returns_the_best_average(problem, held_out, method):
    options = {"method": method, "tol": 1e-7, "random_state": 0, "max_passes": 500}
    result = bw.solve(problem, LAM, held_out=held_out, n_iter_no_change=4, **options)
    assert result.status is bw.Status.EARLY_STOPPED
    looks = result.trace["held_out_loss"][1:]
    best = HeldOut(problem.task, held_out)(result.w)
    assert best == np.nanmin(looks) == looks[-1]  # (the last row is of what is returned)
    assert "held-out" in result.message


def test_passes_without_a_gain_are_counted(problem, held_out):
    options = {"method": "bcfw", "tol": 1e-7, "random_state": 0, "held_out": held_out}
    for most in (1, 6):
        result = bw.solve(problem, LAM, n_iter_no_change=most, max_passes=500, **options)
        looks = result.trace["held_out_loss"][1:-1]
        assert len(looks) - 1 - int(np.argmin(looks)) == most - 1  # (and the last row one more)


def test_the_certificate_is_of_the_weights_and_of_the_dual_point(problem, held_out):
    options = {"tol": 1e-7, "random_state": 0, "max_passes": 500}
    result = bw.solve(problem, LAM, "bcfw", held_out=held_out, n_iter_no_change=3, **options)
    certificate = result.certificate
    assert certificate.valid
    assert certificate.primal == pytest.approx(problem.primal(result.w, LAM), rel=1e-12)
    dual = bw.certify(problem, result.state, LAM)
    assert certificate.dual == pytest.approx(dual.dual, rel=1e-9)
    assert certificate.gap == certificate.primal - certificate.dual
    assert result.trace[-1].gap == certificate.gap
    assert certificate.primal > dual.primal  # (not the best primal, which is that of the optimum)


def test_a_gap_that_reaches_tol_before_ends_the_run_as_without(problem, held_out):
    options = {"tol": 0.05, "random_state": 0}
    plain = bw.solve(problem, 1.0, **options)
    watched = bw.solve(problem, 1.0, held_out=held_out, n_iter_no_change=100, **options)
    assert watched.is_certified
    np.testing.assert_array_equal(watched.w, plain.w)


def test_a_budget_that_ends_first_leaves_the_best(problem, held_out):
    result = bw.solve(
        problem, LAM, tol=1e-9, held_out=held_out, n_iter_no_change=100, max_passes=30,
        random_state=0,
    )  # fmt: skip
    assert result.status is bw.Status.MAX_PASSES
    loss = HeldOut(problem.task, held_out)(result.w)
    assert loss == np.nanmin(result.trace["held_out_loss"])
    assert result.certificate.primal == pytest.approx(problem.primal(result.w, LAM), rel=1e-12)


@pytest.mark.parametrize("most_calls", [60, 119, 120, 130, 200, 600])
def test_oracle_calls_are_kept_back_for_it(problem, held_out, most_calls):
    result = bw.solve(
        problem, LAM, "bcfw", 1e-9, held_out=held_out, n_iter_no_change=100,
        max_oracle_calls=most_calls, random_state=0,
    )  # fmt: skip
    counts = result.counts
    assert counts.oracle_calls + counts.certificate_calls <= most_calls
    assert result.certificate.primal == pytest.approx(problem.primal(result.w, LAM), rel=1e-12)


def test_ctrl_c_returns_the_best_so_far(problem, held_out):
    def interrupt(event):
        if event.row.passes == 12:
            raise KeyboardInterrupt

    result = bw.solve(
        problem, LAM, tol=1e-9, held_out=held_out, n_iter_no_change=100, callbacks=interrupt,
        random_state=0,
    )  # fmt: skip
    assert result.status is bw.Status.INTERRUPTED
    assert HeldOut(problem.task, held_out)(result.w) == np.nanmin(result.trace["held_out_loss"])


def test_weights_of_held_out_examples_count(problem, held_out):
    X, y = held_out
    weight = np.arange(len(y)) % 2
    w = np.random.default_rng(0).normal(size=problem.n_features)
    some = HeldOut(problem.task, (X[1::2], y[1::2]))(w)
    assert HeldOut(problem.task, (X, y, weight))(w) == pytest.approx(some, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_iter_no_change": 0}, "n_iter_no_change=0 must be an integer >= 1"),
        ({"held_out": None}, "n_iter_no_change needs held_out"),
        ({"checkpoint": "run.npz"}, "checkpoint: a file does not keep"),
        ({"point": "last"}, "point='last' has no meaning"),
        ({"method": "ssg"}, "'ssg' has no dual point"),
        ({"method": "bcfw+averaging"}, "'bcfw' returns an average of its own"),
    ],
)
def test_bad_options(problem, held_out, options, message):
    given = {"held_out": held_out, "n_iter_no_change": 5, "max_passes": 3, **options}
    with pytest.raises(bw.OptionError, match=message):
        bw.solve(problem, LAM, **given)


# -- the estimator ---------------------------------------------------------------------------


def test_the_estimator_holds_examples_out():
    X, y = noisy()
    svm = bw.StructuredSVM(lam=LAM, tol=1e-9, early_stopping=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # (an end that was asked for)
        svm.set_params(validation_fraction=0.25).fit(X, y)
    assert svm.result_.status is bw.Status.EARLY_STOPPED
    assert svm.result_.counts.n_blocks == 45
    again = bw.StructuredSVM(**svm.get_params()).fit(X, y)
    np.testing.assert_array_equal(svm.coef_, again.coef_)
    other = bw.StructuredSVM(**svm.get_params() | {"random_state": 1}).fit(X, y)
    assert (svm.coef_ != other.coef_).any()


def test_held_out_data_that_is_given_is_looked_at(held_out):
    X, y = noisy()
    svm = bw.StructuredSVM(lam=LAM, tol=1e-9, early_stopping=True, random_state=0)
    svm.fit(X, y, held_out=held_out)
    assert svm.result_.counts.n_blocks == 60
    assert HeldOut(svm.task_, held_out)(svm.coef_) == svm.trace_[-1].held_out_loss


def test_every_label_is_trained_on():
    X, y = multiclass_data(n=30)
    y = np.r_[["rare"], np.where(y[1:] == y[0], "a", "b")]
    for seed in range(5):
        svm = bw.StructuredSVM(
            early_stopping=True, validation_fraction=0.5, random_state=seed, max_passes=50
        )
        assert "rare" in svm.fit(X, y).classes_


def test_sample_weights_are_split_with_the_examples():
    X, y = noisy()
    weight = np.r_[np.ones(40), np.zeros(20)]
    svm = bw.StructuredSVM(lam=LAM, early_stopping=True, validation_fraction=0.3, random_state=0)
    svm.fit(X, y, sample_weight=weight)
    with pytest.raises(bw.InputError, match="zero on the whole held-out part"):
        svm.fit(X, y, sample_weight=np.r_[np.ones(1), np.zeros(59)])


def test_other_tasks_stop_early():
    data = PROBLEMS["chain-dense"]()
    svm = bw.StructuredSVM(bw.tasks.Chain(), early_stopping=True, tol=1e-9, random_state=0)
    svm.set_params(validation_fraction=0.3, n_iter_no_change=2).fit(list(data.X), list(data.Y))
    assert svm.result_.status in (bw.Status.EARLY_STOPPED, bw.Status.CERTIFIED)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"early_stopping": 1}, "early_stopping=1 must be True or False"),
        ({"validation_fraction": 0}, "validation_fraction=0 must be a number between 0 and 1"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0 must be"),
        ({"validation_fraction": "a"}, "validation_fraction='a' must be"),
        ({"validation_fraction": 0.001}, "of n=12 examples holds out 0; both parts need examples"),
        ({"n_iter_no_change": 0}, "n_iter_no_change=0 must be an integer >= 1"),
        ({"checkpoint": "run.npz"}, "checkpoint: a file does not keep"),
    ],
)
def test_bad_options_of_the_estimator(options, message):
    X, y = multiclass_data(n=12)
    with pytest.raises(bw.OptionError, match=message):
        bw.StructuredSVM(**{"early_stopping": True, **options}).fit(X, y)


@pytest.mark.parametrize("y", [[None, "a"] * 10, [[0, 1], [0]] * 10, ["a", 3] * 10])
def test_labels_that_are_none_are_told_as_without_it(y):
    X = np.arange(20.0)[:, None]
    for early in (False, True):
        with pytest.raises(bw.InputError):
            bw.StructuredSVM(early_stopping=early).fit(X, y)


def test_columns_of_held_out_data_are_compared():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.arange(40.0).reshape(20, 2), columns=["a", "b"])
    y = ["x", "z"] * 10
    svm = bw.StructuredSVM(random_state=0)
    svm.fit(X, y, held_out=(X, y))
    with pytest.raises(ValueError, match="in the same order"):
        svm.fit(X, y, held_out=(X[["b", "a"]], y))
