"""Exponentiated gradient: its steps by hand, its dual, and agreement with the others."""

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.methods.exponentiated.visits import LONGER, SHORTER
from blockwolfe.methods.registry import as_method
from same_runs import assert_same, content
from structured import outputs_of
from test_crafted_files import crafted
from zoo import PROBLEMS, bounded, hinge_terms

LAM = 0.1
SOME = [
    "multiclass-costs",
    "chain-dense",
    "chain-masked",
    "chain-weighted",
    "chain-second-order",
    "tree",
]


def shared_parts(problem, i):
    """How many parts each output has in common with the true one."""
    corners, truth = outputs_of(problem, i)[0], problem.blocks.truth
    of_block = slice(truth.start[i], truth.start[i + 1])
    return corners[:, truth.part[of_block]] @ truth.value[of_block]


class ByHand:
    """The dual weights of every output, by enumeration."""

    def __init__(self, problem, method):
        self.weight = problem.blocks.weight
        self.terms = [hinge_terms(problem, i)[1:] for i in range(len(problem))]  # (the truth once)
        self.psi = [np.array([psi for psi, _ in terms]) for terms in self.terms]
        self.loss = [np.array([loss for _, loss in terms]) for terms in self.terms]
        self.alpha = [None] * len(self.terms)  # all on the truth
        shared = [shared_parts(problem, i) for i in range(len(problem))]
        self.log = [method.head_start * parts for parts in shared]
        self.eta = np.full(len(self.terms), method.eta)

    def point(self, i):
        if self.alpha[i] is None:
            return np.zeros(self.psi[i].shape[1]), 0.0
        return self.weight[i] * self.alpha[i] @ self.psi[i], self.weight[i] * self.alpha[
            i
        ] @ self.loss[i]

    def total(self):
        V, ell = zip(*map(self.point, range(len(self.terms))), strict=True)
        return np.sum(V, axis=0), np.sum(ell)

    def dual(self):
        v, ell = self.total()
        return ell - v @ v / (2.0 * LAM)

    def slope(self, i, old, w):
        """Of the dual, from the old weights of block i to the present ones."""
        heights = self.loss[i] - self.psi[i] @ w
        return self.weight[i] * (self.alpha[i] @ heights - (0.0 if old is None else old @ heights))

    def visit(self, i):
        w = self.total()[0] / LAM
        log = self.log[i] + self.eta[i] * (self.loss[i] - self.psi[i] @ w)
        alpha = np.exp(log - log.max())
        before, old = self.dual(), self.alpha[i]
        self.alpha[i] = alpha / alpha.sum()
        gains, slope = self.dual() >= before, self.slope(i, old, w)
        if slope > 1e-12:
            self.eta[i] *= LONGER if gains else SHORTER
        if (gains and slope > 1e-12) or old is None:
            self.log[i] = log
        else:
            self.alpha[i] = old


@pytest.mark.parametrize("head_start", [0.0, 1.5])
@pytest.mark.parametrize("name", SOME)
def test_steps_by_hand(name, head_start):
    problem = PROBLEMS[name]()
    method = bw.OnlineEG(sampling=bw.Cyclic(), eta=1.0, head_start=head_start)
    hand, engine = ByHand(problem, method), engine_of(problem, method, LAM)
    for _ in range(6):
        engine.advance(len(problem), lambda: True)
        for i in range(len(problem)):
            hand.visit(i)
        np.testing.assert_allclose(engine.w, hand.total()[0] / LAM, rtol=0, atol=1e-8)
        assert engine.dual() == pytest.approx(hand.dual(), abs=1e-9)
    counts = problem.blocks.weight > 0.0  # (what a block of weight zero does is rounding)
    np.testing.assert_allclose(engine.gibbs.eta[counts], hand.eta[counts])


@pytest.mark.parametrize("is_bounded", [False, True])
@pytest.mark.parametrize("name", SOME)
def test_it_agrees_with_the_others(name, is_bounded):
    problem = PROBLEMS[name]()
    if is_bounded:
        problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=bounded(problem))
    best = bw.solve(problem, LAM, tol=1e-6, max_passes=10_000, random_state=0).certificate
    result = bw.solve(problem, LAM, "online_eg", tol=0.02, max_passes=3000, random_state=0)
    assert result.status is bw.Status.CERTIFIED
    found = result.certificate
    assert found.dual <= best.primal + 1e-12
    assert best.dual - 1e-12 <= found.primal
    again = bw.certify(problem, result.state, LAM, w=result.w)
    assert again.gap == pytest.approx(found.gap, abs=1e-10)
    assert again.exact


@pytest.mark.parametrize("is_bounded", [False, True])
def test_the_dual_never_falls_after_the_first_pass(is_bounded):
    problem = PROBLEMS["chain-dense"]()
    if is_bounded:
        problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=bounded(problem))
    engine = engine_of(problem, as_method("online_eg"), LAM)
    engine.advance(len(problem), lambda: True)
    duals = []
    for _ in range(40):
        engine.advance(len(problem), lambda: True)
        duals.append(engine.dual())
    assert np.diff(duals).min() >= -1e-12
    assert duals[-1] > duals[0]


def test_at_a_smaller_lambda_it_begins_anew():
    """Else outputs whose weights are as good as zero could not come back."""
    problem = PROBLEMS["chain-dense"]()
    engine = engine_of(problem, as_method("online_eg"), LAM)
    first = {name: value.copy() for name, value in engine.gibbs._asdict().items()}
    for _ in range(3):
        engine.advance(len(problem), lambda: True)
    engine.shrink(0.1, np.zeros(len(problem)))
    for name, value in engine.gibbs._asdict().items():
        np.testing.assert_array_equal(value, first[name])


def test_a_path_of_it():
    problem = PROBLEMS["multiclass-dense"]()
    path = bw.solve_path(problem, 0.3, 0.05, "online_eg", max_passes=2000, random_state=0)
    assert path.status is bw.Status.CERTIFIED
    for lam in (0.06, 0.5, 3.0):
        best = bw.solve(problem, lam, tol=1e-6, random_state=0).certificate
        assert problem.primal(path.coef(lam), lam) <= best.primal + path.eps


def test_what_it_cannot_do_is_refused():
    problem = PROBLEMS["chain-dense"]()
    with pytest.raises(bw.OptionError, match="'online_eg' cannot begin at a dual point"):
        bw.solve(problem, LAM, "online_eg", start=problem.initial_state())
    with pytest.raises(bw.OptionError, match="needs the oracle 'marginals', which Matching"):
        bw.solve(PROBLEMS["matching"](), LAM, "online_eg")
    with pytest.raises(bw.OptionError, match="eta"):
        bw.OnlineEG(eta=0.0)
    with pytest.raises(bw.OptionError, match=r"head_start=-1 must be a number between 0 and 100"):
        bw.OnlineEG(head_start=-1)
    with pytest.raises(bw.OptionError, match=r"sampling=MaxGap.* do not tell"):
        bw.OnlineEG(sampling=bw.MaxGap())


def test_memory_is_asked_for_first(monkeypatch):
    monkeypatch.setattr("blockwolfe.base.memory.available_bytes", lambda: 2_500)
    monkeypatch.setattr("blockwolfe.base.memory.SMALL", 0)
    with pytest.raises(bw.errors.OutOfMemoryError, match="online_eg"):
        bw.solve(PROBLEMS["chain-dense"](), LAM, "online_eg", max_passes=1)


@pytest.mark.parametrize("name", ["chain-dense", "tree"])
def test_a_run_that_is_stopped_goes_on_as_it_was(name, tmp_path):
    problem, given = PROBLEMS[name](), {"max_passes": 9, "random_state": 0, "tol": 0.0}
    whole = bw.solve(problem, LAM, "online_eg", **given)
    keeping = bw.Checkpoint(tmp_path / "run.npz", every=0.0)

    def crash(event):
        if event.row.passes in (2, 5):
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        bw.solve(problem, LAM, "online_eg", checkpoint=keeping, callbacks=crash, **given)
    rest = bw.solve(problem, LAM, "online_eg", checkpoint=keeping, **given)
    assert_same(content(rest), content(whole))


@pytest.mark.parametrize(("name", "value"), [("gibbs.potential", np.nan), ("gibbs.eta", -1.0)])
def test_a_file_with_impossible_numbers_is_refused(name, value, tmp_path):
    problem, path = PROBLEMS["chain-dense"](), tmp_path / "run.npz"
    given = {"max_passes": 2, "random_state": 0, "tol": 0.0, "checkpoint": path}
    bw.solve(problem, LAM, "online_eg", **given)

    def change(header, arrays):
        (found,) = [key for key in arrays if key.endswith(name)]
        arrays[found][0] = value

    crafted(path, change)
    with pytest.raises(bw.ModelFileError, match=name):
        bw.solve(problem, LAM, "online_eg", **given | {"max_passes": 4})


def test_a_grid_begins_each_lambda_anew():
    problem = PROBLEMS["multiclass-dense"]()
    results = bw.solve_grid(problem, [1.0, 0.3], method="online_eg", tol=0.05, max_passes=500)
    assert [result.is_certified for result in results] == [True, True]


@pytest.mark.parametrize("name", ["chain-dense", "tree"])
def test_scores_that_overflow_make_no_step(name):
    problem = PROBLEMS[name]()
    engine = engine_of(problem, bw.OnlineEG(eta=1e308), LAM)
    for _ in range(3):
        engine.advance(len(problem), lambda: True)
        certificate = engine.certify()
        assert certificate.gap >= -1e-9
        assert np.isfinite(engine.w).all()


@pytest.mark.parametrize("X", [[[1.0]], [[0.0, 1.0], [1.0, 0.0]]])
def test_outputs_come_back_after_their_weights_were_too_small_for_a_float(X):
    """A long step to the true output, where lambda is small, is no place to stay."""
    problem = bw.Problem(bw.tasks.Multiclass(3, bias=False), X, list(range(len(X))))
    result = bw.solve(problem, 1e-6, "online_eg", 1e-2, random_state=0, max_passes=1000)
    assert result.status is bw.Status.CERTIFIED
