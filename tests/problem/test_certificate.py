"""The certificate: primal by enumeration, weak duality, identity (3), and what breaks it."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import blockwolfe as bw
from plain_tasks import Labels
from zoo import METHODS, PROBLEMS, PlainTask, chain_data, enumerated_primal, multiclass_data

SMALL = [name for name in PROBLEMS if name != "chain-long"]


@pytest.mark.parametrize("name", SMALL)
def test_primal_equals_enumeration(name):
    problem = PROBLEMS[name]()
    for seed in range(3):
        w = np.random.default_rng(seed).normal(size=problem.n_features)
        assert problem.primal(w, 0.3) == pytest.approx(
            enumerated_primal(problem, w, 0.3), rel=1e-10
        )


@pytest.mark.parametrize("name", PROBLEMS)
def test_initial_state_has_dual_zero(name):
    problem = PROBLEMS[name]()
    certificate = bw.certify(problem, problem.initial_state(), 0.5)
    assert certificate.dual == pytest.approx(0.0, abs=1e-28)
    assert certificate.primal == pytest.approx(problem.primal(np.zeros(problem.n_features), 0.5))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_identity_and_weak_duality_at_random_points(name, method):
    problem = PROBLEMS[name]()
    result = bw.solve(problem, 0.1, method, tol=0.0, max_passes=3, random_state=0)
    state = replace(result.state, pull=None)  # (at its own w)
    for lam in (0.1, 1.7):  # a state is a feasible dual point at every lambda
        certificate = bw.certify(problem, state, lam)
        assert certificate.exact
        assert certificate.gap >= -1e-12
        assert certificate.block_gaps.min() >= -1e-12
        assert certificate.block_gaps.sum() == pytest.approx(certificate.gap, abs=1e-10)
        w = result.state.v / lam
        assert certificate.primal == pytest.approx(problem.primal(w, lam), rel=1e-12)


def test_dual_value_is_below_every_primal_value():
    problem = PROBLEMS["chain-dense"]()
    dual = bw.solve(problem, 0.1, tol=1e-4).certificate.dual
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 1.0):
        assert dual <= problem.primal(scale * rng.normal(size=problem.n_features), 0.1)


class Minimiser(PlainTask):
    """Wrong on purpose: returns the worst output."""

    def augmented_decode(self, x, y, w):
        value = lambda h: self.loss(y, h) + np.dot(w, self.features(x, h))  # noqa: E731
        return min(self.outputs(x), key=value)


def test_oracle_worse_than_truth_is_refused_before_any_work():
    X, Y = multiclass_data()
    task = bw.Problem(bw.tasks.Multiclass(), X, Y).task
    with pytest.raises(bw.OracleError, match=r"example \d+ returned an output .* below .* true"):
        bw.solve(bw.Problem(Minimiser(task), X, Y), 0.1)


class Forgetful(PlainTask):
    """Wrong on purpose, but never worse than the truth: forgets losses where nobody probes."""

    def augmented_decode(self, x, y, w):
        is_probed = any(np.array_equal(x, other) for other in multiclass_data()[0][:3])
        return super().augmented_decode(x, y, w) if is_probed else self.decode(x, w)


def test_an_oracle_that_is_caught_certifies_nothing():
    X, Y = multiclass_data()
    task = bw.Problem(bw.tasks.Multiclass(), X, Y).task
    result = bw.solve(bw.Problem(Forgetful(task), X, Y), 0.1, tol=0.1, random_state=0)
    assert result.status is bw.Status.INEXACT_ORACLE
    assert not result.certificate.exact


class DeclaredInexact(PlainTask):
    exact = False


def test_task_that_declares_itself_inexact_gets_estimates():
    problem = PROBLEMS["multiclass-dense"]()
    inexact = bw.Problem(DeclaredInexact(problem.task), problem.X, problem.Y)
    result = bw.solve(inexact, 0.1, tol=1e-3, random_state=0)
    assert result.status is bw.Status.INEXACT_ORACLE
    assert not result.certificate.exact
    assert "estimate" in repr(result.certificate)


def test_problems_are_copied():
    problem = PROBLEMS["chain-dense"]()
    copy = pickle.loads(pickle.dumps(problem))
    w = np.linspace(-1.0, 1.0, problem.n_features)
    assert copy.primal(w, 0.1) == problem.primal(w, 0.1)


@pytest.mark.parametrize(("w", "words"), [("abc", "is not an array"), (np.nan, "is not finite")])
def test_weights_that_are_none(w, words):
    problem = PROBLEMS["chain-dense"]()
    given = w if isinstance(w, str) else np.full(problem.n_features, w)
    with pytest.raises(bw.InputError, match=words):
        problem.primal(given, 0.1)


def test_a_state_of_another_loss_is_refused_on_sorted_data():
    class Scaled(Labels):
        def loss(self, y, y_hat):
            return 2.0 * float(y != y_hat)

    X, Y = multiclass_data(n=120)
    order = np.argsort(Y, kind="stable")
    one, two = (bw.Problem(kind(3, 4), X[order], list(Y[order])) for kind in (Labels, Scaled))
    with pytest.raises(bw.InputError, match="does not belong to this problem"):
        bw.certify(two, one.initial_state(), 0.1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"first": False, "last": False}, {}),  # fewer weights: w would be read beyond its end
        ({"first": False}, {"last": False}),  # as many, which mean something else
    ],
)
def test_states_are_of_one_layout_of_weights(one, other, tmp_path):
    X, Y = chain_data()
    problem, like = (bw.Problem(bw.tasks.Chain(3, **options), X, Y) for options in (one, other))
    state = bw.solve(problem, 0.1, checkpoint=tmp_path / "run.npz").last_state
    with pytest.raises(bw.InputError, match="does not belong to this problem"):
        bw.certify(like, state, 0.1)
    with pytest.raises(bw.InputError, match="does not belong to this problem"):
        bw.solve(like, 0.1, start=state)
    with pytest.raises(bw.InputError, match="another problem"):
        bw.solve(like, 0.1, checkpoint=tmp_path / "run.npz")


def test_states_know_columns_without_entries():
    X, Y = np.eye(3), [0, 1, 1]
    state = bw.solve(bw.Problem(bw.tasks.Multiclass(), X, Y), 0.1).state
    wide = bw.Problem(bw.tasks.Multiclass(), np.hstack([X, np.zeros((3, 5))]), Y)
    with pytest.raises(bw.InputError, match="does not belong to this problem"):
        bw.certify(wide, state, 0.1)
