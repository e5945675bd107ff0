"""Paths over oracles that are inexact, bounded or interrupted: no gap is claimed that is not there."""

import numpy as np
import pytest

import blockwolfe as bw
from amount import ALL
from plain_tasks import Labels
from zoo import multiclass_data

METHOD = "bcfw+pairwise"


class Loose(Labels):
    """Any output within `delta` of the best, with the best score as bound."""

    exact = False
    delta = 0.08

    def augmented_decode_bound(self, x, y, w):
        scores = x @ w.reshape(self.n_inputs, self.n_labels) + (np.arange(self.n_labels) != y)
        close = np.flatnonzero(scores >= scores.max() - self.delta)
        return int(close[np.argmin(scores[close])]), float(scores.max())


class Above(Loose):
    """Its bound is never tight."""

    def augmented_decode_bound(self, x, y, w):
        found, upper = super().augmented_decode_bound(x, y, w)
        return found, upper + 0.01


class Inexact(Labels):
    exact = False


class Interrupted(Labels):
    """Ctrl-C at one of its calls."""

    def __init__(self, n_labels, n_inputs):
        super().__init__(n_labels, n_inputs)
        self.calls_left = np.inf

    def augmented_decode(self, x, y, w):
        self.calls_left -= 1
        if self.calls_left == 0:
            raise KeyboardInterrupt
        return super().augmented_decode(x, y, w)


def problem_of(kind, n=30):
    X, Y = multiclass_data(n=n, n_features=3)
    return bw.Problem(kind(3, 3), X, list(Y))


def test_gaps_with_the_slack_of_bounds():
    problem, honest = problem_of(Loose), problem_of(Labels)
    path = bw.solve_path(problem, 0.1, 0.3, METHOD, random_state=0, keep_states=True)
    assert path.status is bw.Status.CERTIFIED
    assert path.exact
    slack = 0.0
    for point in path.breakpoints:
        lam = max(point.lam_end, path.lam_min) * (1.0 + 1e-9)
        certificate = bw.certify(problem, path.state(problem, lam), lam)
        slack = max(slack, certificate.slack)
        assert certificate.gap <= 0.1 + 1e-9
        assert certificate.gap == pytest.approx(path.gap(lam), abs=1e-9)
        assert honest.primal(path.coef(lam), lam) <= certificate.primal + 1e-9
    assert slack > 1e-3  # (or nothing was tested)


def test_the_beginning_of_a_path_needs_the_largest_losses():
    """Above it the weights have a closed form, if the bounds at w = 0 prove that they were found."""
    honest, found = problem_of(Labels), []
    for kind in (Loose, Above):
        found.append(bw.solve_path(problem_of(kind), 0.1, 0.3, METHOD, random_state=0))
        assert found[-1].status is bw.Status.CERTIFIED
    lam = 2.0 * found[0].lam_max
    optimum = bw.solve(honest, lam, tol=1e-9, random_state=0).certificate.dual
    assert honest.primal(found[0].coef(lam), lam) <= optimum + 0.1
    with pytest.raises(bw.OptionError, match="above the beginning"):
        found[1].coef(2.0 * found[1].lam_max)


def test_an_inexact_oracle_certifies_no_breakpoint():
    path = bw.solve_path(problem_of(Inexact), 0.1, 1.0, METHOD, random_state=0)
    assert path.status is bw.Status.INEXACT_ORACLE
    assert not path.breakpoints
    for ask in (path.coef, path.gap):
        with pytest.raises(bw.OptionError, match="INEXACT_ORACLE before its first breakpoint"):
            ask(1.0)


def test_interrupted_before_the_first_breakpoint(tmp_path):
    problem = problem_of(Interrupted)
    whole = bw.solve_path(problem, 0.3, 1.0, METHOD, random_state=0)
    given = {"random_state": 0, "checkpoint": tmp_path / "path.npz"}
    problem.task.calls_left = 20
    path = bw.solve_path(problem, 0.3, 1.0, METHOD, **given)
    assert path.status is bw.Status.INTERRUPTED
    with pytest.raises(bw.OptionError, match="no weights"):
        path.gap(0.01)
    path = bw.solve_path(problem, 0.3, 1.0, METHOD, **given)
    assert [point.lam for point in path.breakpoints] == [point.lam for point in whole.breakpoints]


def test_interrupted_in_the_first_certificate():
    problem = problem_of(Interrupted)
    problem.task.calls_left = 6 + 2 * len(problem) + 10
    path = bw.solve_path(problem, 0.3, 1.0, METHOD, random_state=0)
    assert path.status is bw.Status.INTERRUPTED
    assert not path.breakpoints
    with pytest.raises(bw.OptionError, match="no weights"):
        path.gap(0.01)


def test_interrupted_in_the_first_certificate_and_resumed(tmp_path):
    """A path that has begun, but has no breakpoint yet: its columns are empty."""
    problem = problem_of(Interrupted)
    whole = bw.solve_path(problem, 0.3, 1.0, METHOD, random_state=0)
    given = {"random_state": 0, "checkpoint": bw.Checkpoint(tmp_path / "path.npz", every=0.0)}
    problem.task.calls_left = 6 + 2 * len(problem) + 10
    path = bw.solve_path(problem, 0.3, 1.0, METHOD, **given)
    assert path.status is bw.Status.INTERRUPTED
    assert not path.breakpoints
    path.save(tmp_path / "saved.npz")
    assert not bw.load_path(tmp_path / "saved.npz", task=problem.task).breakpoints
    path = bw.solve_path(problem, 0.3, 1.0, METHOD, **given)
    assert [point.lam for point in path.breakpoints] == [point.lam for point in whole.breakpoints]


def test_a_heuristic_path_is_resumed_exactly(tmp_path):
    problem = problem_of(Labels)
    given = {"exact": False, "random_state": 0}
    whole = bw.solve_path(problem, 0.05, 0.5, "bcfw+gap+pairwise", **given)
    for stop in (5, 9, 14) if ALL else (9,):
        keeping = bw.Checkpoint(tmp_path / f"{stop}.npz", every=0.0)
        seen = []

        def crash(point, seen=seen, stop=stop):
            seen.append(point)
            if len(seen) == stop:
                raise ArithmeticError

        with pytest.raises(ArithmeticError):
            bw.solve_path(problem, 0.05, 0.5, "bcfw+gap+pairwise", callbacks=crash,
                          checkpoint=keeping, **given)  # fmt: skip
        path = bw.solve_path(problem, 0.05, 0.5, "bcfw+gap+pairwise", checkpoint=keeping, **given)
        assert [p.lam for p in path.breakpoints] == [p.lam for p in whole.breakpoints]


def test_states_and_checkpoints_exclude_each_other(tmp_path):
    with pytest.raises(bw.OptionError, match="keep_states"):
        bw.solve_path(problem_of(Labels), 0.1, keep_states=True, checkpoint=tmp_path / "p.npz")


def test_callbacks_follow_the_rules_of_solve():
    problem = problem_of(Labels)
    path = bw.solve_path(problem, 0.3, 0.1, METHOD, callbacks=lambda point: np.bool_(True))
    assert len(path) == 1
    with pytest.raises(bw.OptionError, match="callback returned 'stop'"):
        bw.solve_path(problem, 0.3, 0.1, METHOD, callbacks=lambda point: "stop")


# -- cross-validation -------------------------------------------------------------------------


def chooser(kind, **options):
    given = {"cv": 2, "eps": 0.1, "n_lams": 6, "lam_min": 0.1, "tol": 0.1, "random_state": 0}
    return bw.StructuredSVMCV(kind(3, 3), method=METHOD, **given | options)


def test_folds_of_an_inexact_oracle_are_scored_at_every_lambda():
    problem = problem_of(Labels)
    exact = chooser(Labels).fit(problem.X, problem.Y)
    with pytest.warns(bw.NotCertifiedWarning):
        inexact = chooser(Inexact).fit(problem.X, problem.Y)
    np.testing.assert_allclose(inexact.scores_, exact.scores_, atol=0.15)
    assert len(np.unique(inexact.scores_[0])) > 1


@pytest.mark.parametrize(
    "options", [{}, {"lams": [1.0, 0.1, 0.01], "n_lams": None, "lam_min": None}]
)
def test_ctrl_c_in_a_fold_ends_the_fit(options):
    problem = problem_of(Labels)
    svm = chooser(Interrupted, eps=0.01, **options)
    svm.task.calls_left = 200
    with pytest.raises(KeyboardInterrupt):
        svm.fit(problem.X, problem.Y)


def test_a_fold_that_ends_early_is_told(monkeypatch):
    from blockwolfe.path import folds

    problem, solve = problem_of(Labels), folds.solve_path
    monkeypatch.setattr(
        folds, "solve_path", lambda *args, **kw: solve(*args, **kw | {"max_passes": 6})
    )
    with pytest.warns(bw.NotCertifiedWarning, match="path of a fold ended at lam"):
        chooser(Labels, lam_max=100.0).fit(problem.X, problem.Y)


def test_folds_without_weight_and_problems_without_a_beginning():
    X, Y = multiclass_data(n=20)
    weight = np.r_[np.zeros(10), np.ones(10)]
    folds = [(np.arange(10, 20), np.arange(10)), (np.arange(15), np.arange(15, 20))]
    with pytest.raises(bw.InputError, match="zero on the whole held-out part of fold 0"):
        bw.StructuredSVMCV(cv=folds).fit(X, Y, sample_weight=weight)
    with pytest.raises(bw.OptionError, match="w = 0 serves every lambda"):
        bw.StructuredSVMCV(cv=2, eps=0.1).fit(np.zeros((20, 2)), np.arange(20) % 2)
    with pytest.raises(bw.OptionError, match="n_lams=1 must be an integer >= 2"):
        bw.StructuredSVMCV(cv=2, n_lams=1).fit(X, Y)
