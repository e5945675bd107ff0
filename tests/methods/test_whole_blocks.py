"""Exact steps over whole blocks: the closed form, the dual, and agreement with the others."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import blockwolfe as bw
from at_work import engine_of, mean_of
from blockwolfe.methods.whole_blocks import engine as whole_engine
from same_runs import assert_same, content
from zoo import PROBLEMS, bounded, hinge_terms, multiclass_data

LAM = 0.1
ACCELERATED = bw.WholeBlocks(catalyst=bw.Catalyst(every=2, strength=10.0))


def _problem(task_loss="zero_one", *, bias=True, is_sparse=False, weight=None, n_labels=4, n=15):
    X, Y = multiclass_data(n=n, n_labels=n_labels, n_features=5, seed=2)
    X = sp.csr_array(X) if is_sparse else X
    return bw.Problem(bw.tasks.Multiclass(task_loss=task_loss, bias=bias), X, Y, weight)


COSTS = [[0, 1, 2, 5], [3, 0, 1, 1], [1, 1, 0, 1], [0.5, 4, 1, 0]]
KINDS = {
    "dense": _problem,
    "sparse": lambda: _problem(is_sparse=True),
    "no bias": lambda: _problem(bias=False),
    "costs": lambda: _problem(COSTS),
    "class weights": lambda: _problem(bw.tasks.ZeroOne(class_weight={0: 3.0, 2: 0.0})),
    "sample weights": lambda: _problem(weight=[1, 2, 0, 3, 1, 1, 5, 1, 1, 1, 0, 2, 1, 1, 1]),
    "single precision": lambda: bw.Problem(
        bw.tasks.Multiclass(), multiclass_data()[0].astype(np.float32), multiclass_data()[1]
    ),
}


class ByHand:
    """(2) from the weights of all labels, by the features of every output."""

    def __init__(self, problem, lam):
        terms = [hinge_terms(problem, i)[1:] for i in range(len(problem))]  # (the truth once)
        weight, self.lam = problem.blocks.weight, lam
        self.psi = np.array([[np.asarray(psi) for psi, _ in own] for own in terms])
        self.psi *= weight[:, None, None]
        self.loss = weight[:, None] * np.array([[loss for _, loss in own] for own in terms])

    def dual(self, alpha):
        v = np.einsum("ik,ikd->d", alpha, self.psi)
        return (alpha * self.loss).sum() - v @ v / (2.0 * self.lam)


def weights_of(engine, n_labels):
    found = np.zeros((engine.n_blocks, n_labels))
    for i in range(engine.n_blocks):
        for label, value in mean_of(engine.point, i).items():
            found[i, label] = value
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_visit_finds_the_maximum_over_its_block(kind):
    """Against scipy, which maximises the dual over one simplex at a time."""
    problem = KINDS[kind]()
    n_labels = len(problem.task.classes_)
    engine = engine_of(problem, bw.WholeBlocks(sampling=bw.Cyclic(), longest_wait=0), LAM)
    alpha, hand = weights_of(engine, n_labels), ByHand(problem, LAM)
    for visit in range(2 * len(problem)):
        engine.advance(1, lambda: True)
        found, i = weights_of(engine, n_labels), visit % len(problem)
        others = np.delete(np.arange(len(problem)), i)
        np.testing.assert_array_equal(found[others], alpha[others])

        def minus_dual(own, i=i, at=found):
            return -hand.dual(np.array([*at[:i], own, *at[i + 1 :]]))

        simplex = {"type": "eq", "fun": lambda own: own.sum() - 1.0}
        best = scipy.optimize.minimize(
            minus_dual,
            np.full(n_labels, 1.0 / n_labels),
            bounds=[(0, 1)] * n_labels,
            constraints=simplex,
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert -minus_dual(found[i]) >= -best.fun - 1e-9
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
        assert engine.dual() == pytest.approx(-minus_dual(found[i]), abs=1e-12)
        alpha = found


@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_the_others(kind):
    problem = KINDS[kind]()
    best = bw.solve(problem, LAM, "bcfw+gap+pairwise", tol=1e-8, random_state=0).certificate
    named = ("whole_blocks", "whole_blocks+conjugate", "whole_blocks+catalyst", "auto")
    for method in (*named, bw.WholeBlocks(max_labels=1), ACCELERATED):
        result = bw.solve(problem, LAM, method, tol=1e-8, max_passes=5000, random_state=0)
        found = result.certificate
        assert result.status is bw.Status.CERTIFIED
        assert found.exact
        assert abs(found.primal - best.primal) <= max(found.gap, best.gap)
        again = bw.certify(problem, result.state, LAM, w=result.w)
        assert again.gap == pytest.approx(found.gap, abs=1e-12)
        # (3): at the weights of the dual point (an average may be better) block gaps add up
        own = bw.certify(problem, replace(result.state, pull=None), LAM)
        assert own.block_gaps.sum() == pytest.approx(own.gap, abs=1e-12)


@pytest.mark.parametrize("max_labels", [1, 2, 32])
@pytest.mark.parametrize("kind", KINDS)
def test_the_dual_never_falls_and_w_is_that_of_the_weights(kind, max_labels):
    problem = KINDS[kind]()
    n_labels = len(problem.task.classes_)
    engine = engine_of(problem, bw.WholeBlocks(max_labels=max_labels), 0.01)
    duals, hand = [], ByHand(problem, 0.01)
    for _ in range(30):
        engine.advance(len(problem), lambda: True)
        duals.append(engine.dual())
        assert duals[-1] == pytest.approx(hand.dual(weights_of(engine, n_labels)), abs=1e-11)
    assert np.diff(duals).min() >= -1e-13
    assert duals[-1] > duals[0] > 0.0


def test_gaps_that_visits_see_are_those_of_the_blocks():
    problem = _problem()
    engine = engine_of(problem, bw.WholeBlocks(sampling=bw.Cyclic(), longest_wait=0), LAM)
    for i in range(len(problem)):
        before = engine.certify().block_gaps[i]
        engine.advance(1, lambda: True)
        assert engine.ledger.gap[i] == pytest.approx(before, abs=1e-13)
        assert engine.certify().block_gaps[i] == pytest.approx(0.0, abs=1e-13)


def test_blocks_that_do_not_move_wait():
    """Longer each time; a certificate wakes those that have a gap."""
    X, Y = np.array([[10.0, 0.0], [0.0, 10.0], [1.0, 0.9]]), [0, 1, 0]
    problem = bw.Problem(bw.tasks.Multiclass(bias=False), X, Y)
    engine = engine_of(problem, bw.WholeBlocks(sampling=bw.Cyclic(), longest_wait=4), 1.0)
    for _ in range(60):
        engine.advance(len(problem), lambda: True)
    assert engine.counts.oracle_calls < 60 * len(problem) * 0.8
    assert engine.waiting.period.max() == 4
    engine.waiting.left[:] = 4
    engine.ledger.gap[:] = 1.0
    engine.certify()
    has_gap = engine.ledger.gap > 0.0
    assert (engine.waiting.left[has_gap] == 0).all()


def test_features_of_length_zero():
    """The dual is linear in such a block: all weight goes to the label of largest loss."""
    X, Y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), [0, 1, 2]
    task = bw.tasks.Multiclass(bias=False, task_loss=[[0, 1, 3], [1, 0, 1], [1, 1, 0]])
    problem = bw.Problem(task, X, Y)
    result = bw.solve(problem, LAM, "whole_blocks", tol=1e-9, random_state=0)
    best = bw.solve(problem, LAM, "bcfw+pairwise", tol=1e-9, random_state=0)
    assert result.status is bw.Status.CERTIFIED
    assert result.certificate.primal == pytest.approx(best.certificate.primal, abs=1e-8)


@pytest.mark.parametrize(("scale", "lam"), [(1.0, 1e17), (1e-9, LAM), (1.0, 1e307)])
def test_curvature_below_rounding(scale, lam):
    """The dual is linear as far as numbers tell: all weight goes to the outputs of highest loss."""
    X, Y = multiclass_data()
    problem = bw.Problem(bw.tasks.Multiclass(bias=False), scale * X, Y)
    result = bw.solve(problem, lam, "whole_blocks", tol=1e-9, max_passes=3, random_state=0)
    assert result.is_certified
    assert result.certificate.dual == pytest.approx(1.0)


def test_acceleration_takes_fewer_visits_to_a_small_gap():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    problem = bw.Problem(bw.tasks.Multiclass(), X[:400] / 16.0, y[:400])
    n_visits = [
        bw.solve(problem, 1 / 400, method, tol=1e-4, max_passes=3000, random_state=0).counts.visits
        for method in ("whole_blocks+catalyst", "whole_blocks")
    ]
    assert n_visits[0] < 0.6 * n_visits[1]


def test_the_strength_is_that_of_steps_from_label_to_label():
    problem = _problem(bias=False)
    engine = engine_of(problem, bw.WholeBlocks(catalyst=bw.Catalyst()), 0.01)
    for _ in range(3):
        engine.advance(len(problem), lambda: True)
    square = np.square(problem.X).sum(axis=1).mean()
    assert engine._centre.strength == pytest.approx(np.sqrt(2.0 * square / len(problem) / 0.01))


def test_many_labels_stay_few():
    """No visit gives weight to more labels than it may, though all tie at w = 0."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 6)), rng.integers(3000, size=40)
    problem = bw.Problem(bw.tasks.Multiclass(3000), X, list(map(int, Y)))
    engine = engine_of(problem, bw.WholeBlocks(max_labels=5), LAM)
    engine.advance(len(problem), lambda: True)
    assert engine.point.arrays.stock.n_rows.max() <= 6
    result = bw.solve(problem, LAM, bw.WholeBlocks(max_labels=5), tol=1e-4, random_state=0)
    best = bw.solve(problem, LAM, "bcfw+gap+pairwise", tol=1e-4, random_state=0)
    assert abs(result.certificate.primal - best.certificate.primal) <= 1e-4


@pytest.mark.parametrize("method", ["bcfw", "bcfw+gap+pairwise", "fw", "whole_blocks"])
def test_it_begins_at_any_dual_point(method):
    problem = _problem(COSTS)
    first = bw.solve(problem, LAM, method, tol=1e-2, random_state=0)
    engine = engine_of(problem, bw.WholeBlocks(), LAM, state=first.last_state)
    certificate = engine.certify()
    assert certificate.dual == pytest.approx(first.certificate.dual, abs=1e-12)
    engine.advance(len(problem), lambda: True)
    assert engine.dual() >= certificate.dual - 1e-13
    onward = bw.solve(problem, LAM, "bcfw+pairwise", 1e-3, start=engine.last_state())
    assert onward.status is bw.Status.CERTIFIED


@pytest.mark.parametrize("method", ["whole_blocks", "whole_blocks+conjugate", ACCELERATED, "auto"])
def test_a_run_that_was_interrupted_ends_as_it_would_have(method, tmp_path):
    problem = _problem(COSTS)
    given = {"tol": 1e-9, "max_passes": 300, "random_state": 3}
    whole = bw.solve(problem, 0.003, method, **given)
    keeping = bw.Checkpoint(tmp_path / "run.bw", every=0.0)
    seen = []

    def crash(event):
        seen.append(event)
        if len(seen) == 7:
            raise RuntimeError("crash")

    with pytest.raises(RuntimeError):
        bw.solve(problem, 0.003, method, checkpoint=keeping, callbacks=crash, **given)
    rest = bw.solve(problem, 0.003, method, checkpoint=keeping, **given)
    assert_same(content(whole), content(rest))


def test_a_path_of_it():
    problem = PROBLEMS["multiclass-dense"]()
    path = bw.solve_path(problem, 0.1, 0.05, "whole_blocks", random_state=0)
    assert path.status is bw.Status.CERTIFIED
    for lam in (0.06, 0.5, 3.0):
        best = bw.solve(problem, lam, "bcfw+pairwise", tol=1e-6, random_state=0).certificate
        assert problem.primal(path.coef(lam), lam) <= best.primal + path.eps


def test_as_linear_svc():
    from sklearn.svm import LinearSVC

    problem = _problem(bias=False)
    C = 2.0
    svc = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, C=C, tol=1e-10, max_iter=10**6
    ).fit(problem.X, problem.Y)
    lam = 1.0 / (C * len(problem))
    result = bw.solve(problem, lam, "whole_blocks", tol=1e-10, random_state=0)
    w = result.w.reshape(5, 4).T
    np.testing.assert_allclose(w - w.mean(axis=0), svc.coef_ - svc.coef_.mean(axis=0), atol=1e-4)
    assert result.certificate.primal <= problem.primal(svc.coef_.T.ravel(), lam) + 1e-10


def test_auto_takes_it_where_it_can():
    problem = _problem()
    assert isinstance(bw.solve(problem, LAM, random_state=0).method, bw.WholeBlocks)
    averaged = bw.solve(problem, LAM, "auto+averaging", random_state=0)
    assert isinstance(averaged.method, bw.BCFW)
    boxed = bw.Problem(problem.task, problem.X, problem.Y, bounds=bounded(problem))
    assert isinstance(bw.solve(boxed, LAM, random_state=0).method, bw.BCFW)
    kernel = bw.Problem(bw.tasks.Multiclass(kernel="rbf", gamma=1.0), problem.X, problem.Y)
    assert isinstance(bw.solve(kernel, LAM, random_state=0).method, bw.BCFW)


def test_what_it_cannot_do_is_refused():
    problem = _problem()
    boxed = bw.Problem(problem.task, problem.X, problem.Y, bounds=bounded(problem))
    with pytest.raises(bw.OptionError, match="bounds"):
        bw.solve(boxed, LAM, "whole_blocks")
    with pytest.raises(bw.OptionError, match="tasks that have it: Multiclass"):
        bw.solve(PROBLEMS["chain-dense"](), LAM, "whole_blocks")
    kernel = bw.Problem(bw.tasks.Multiclass(kernel="rbf", gamma=1.0), problem.X, problem.Y)
    with pytest.raises(bw.OptionError, match="with a kernel"):
        bw.solve(kernel, LAM, "whole_blocks")
    with pytest.raises(bw.OptionError, match="whole_blocks"):
        bw.solve(problem, LAM, "whole_blocks+averaging")
    for options in ({"max_labels": 0}, {"max_labels": 1.5}, {"longest_wait": -1}):
        with pytest.raises(bw.OptionError, match=next(iter(options))):
            bw.WholeBlocks(**options)
    with pytest.raises((bw.OptionError, bw.errors.InputError), match="catalyst"):
        bw.WholeBlocks(catalyst=3)
    with pytest.raises(bw.OptionError, match="conjugate"):
        bw.WholeBlocks(conjugate=3)
    with pytest.raises(bw.OptionError, match="sampling"):
        bw.WholeBlocks(sampling=bw.MaxGap())


def test_a_budget_of_calls_is_kept():
    problem = _problem()
    result = bw.solve(problem, 1e-4, "whole_blocks", tol=1e-12, max_oracle_calls=100)
    assert result.status is bw.Status.MAX_ORACLE_CALLS
    assert result.counts.oracle_calls + result.counts.certificate_calls <= 100


@pytest.mark.parametrize("sampling", [bw.Permutation(), bw.Uniform()])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_visits_that_are_scored_together_are_those_that_are_scored_alone(
    sampling, dtype, monkeypatch
):
    """To the bit, with blocks that wait and blocks drawn twice; certificates, too."""
    X, Y = multiclass_data(n=60, n_labels=7, n_features=5, seed=3)
    method, found = bw.WholeBlocks(sampling=sampling), []
    for many in (2, 10**9):
        monkeypatch.setattr(whole_engine, "MANY_LABELS", many)
        problem = bw.Problem(bw.tasks.Multiclass(), X.astype(dtype), Y)
        assert problem.blocks.together > 1
        options = {"tol": 1e-9, "max_passes": 12, "random_state": 0}
        found.append(bw.solve(problem, LAM, method, **options))
    assert found[0].counts.visits < 12 * len(problem)  # (some have waited)
    assert_same(*(content(result) for result in found))
    alone = replace(problem.blocks, together=1)
    monkeypatch.setitem(problem.__dict__, "blocks", alone)
    certificate = bw.certify(problem, found[0].state, LAM)
    np.testing.assert_array_equal(certificate.block_gaps, found[0].certificate.block_gaps)
