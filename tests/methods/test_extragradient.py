"""Dual extragradient: its steps by hand, its bounds, and agreement with the others."""

import numpy as np
import pytest
import scipy.optimize

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.base.simplex_qp import maximize_on_simplex
from blockwolfe.methods.extragradient import saddle as constants
from same_runs import assert_same, content
from test_crafted_files import crafted
from zoo import PROBLEMS, bounded, hinge_terms, multiclass_data

LAM = 0.1
BOTH = ["extragradient", "extragradient+entropy"]
SOME = ["multiclass-costs", "chain-masked", "chain-weighted", "chain-second-order", "tree"]
SOME += ["matching"]


FIRST = 0.05  # size of a first step
NONE = ("matching", "extragradient+entropy")  # (it has no marginals)


def kinds(names):
    """All that have the oracle."""
    return [(name, method) for name in names for method in BOTH if (name, method) != NONE]


# -- by hand ---------------------------------------------------------------------------------------


class ByHand:
    """One label of each example: a simplex, by enumeration; steps as they are written in books."""

    def __init__(self, problem, geometry, radius, eta):
        self.weight, n = problem.blocks.weight, len(problem)
        terms = [hinge_terms(problem, i)[1:] for i in range(n)]  # (the truth once)
        self.psi = [np.array([psi for psi, _ in given]) for given in terms]
        self.loss = [np.array([loss for _, loss in given]) for given in terms]
        self.is_euclidean, self.radius, self.eta = geometry == "euclidean", radius, eta
        self.lam = 0.0 if radius else LAM
        self.sigma = 1.0 / radius**2 if radius else LAM
        d = problem.n_features
        self.W, self.Y, self.E, self.k = np.zeros(d), np.zeros(d), 0.0, 0
        self.mean = [np.zeros(len(loss)) for loss in self.loss]
        self.credit, self.n_shorter = 0.0, 0

    def within(self, w):
        length = np.linalg.norm(w)
        return w * self.radius / length if self.radius and length > self.radius else w

    def nearest(self, scores):
        if self.is_euclidean:
            n = len(scores)
            return maximize_on_simplex(np.eye(n), scores, np.full(n, 1.0 / n))
        p = np.exp(scores - scores.max())
        return p / p.sum()

    def value(self, scores, z):
        if self.is_euclidean:  # (of scores to which the true output is added)
            return scores @ z - z @ z / 2 - 1 / 2
        return scores.max() + np.log(np.exp(scores - scores.max()).sum())

    def v(self, means):
        parts = zip(self.weight, means, self.psi, strict=True)
        return sum(weight * z @ psi for weight, z, psi in parts)

    def ell(self, means):
        return sum(
            weight * z @ loss for weight, z, loss in zip(self.weight, means, self.loss, strict=True)
        )

    def step(self):
        bend, eta = self.sigma + self.E * self.lam, self.eta
        w = self.within(self.Y / bend)
        z, u, phi = [], [], self.Y @ w - bend / 2 * w @ w
        for i, (psi, loss) in enumerate(zip(self.psi, self.loss, strict=True)):
            truth = np.abs(psi).sum(axis=1) == 0.0
            scores = self.E * loss - psi @ self.W + (truth if self.is_euclidean else 0.0)
            z.append(self.nearest(scores))
            phi += self.weight[i] * self.value(scores, z[-1])
            push = eta * (loss - psi @ w)
            u.append(self.nearest((z[-1] if self.is_euclidean else scores) + push))
        u_w = self.within((bend * w + eta * self.v(z)) / (bend + eta * self.lam))
        if self.k == 0:
            self.spent = phi
        credit = self.spent - phi
        self.W = self.W + eta * u_w
        self.Y = self.Y + eta * self.v(u)
        self.spent += eta * (self.ell(u) - self.lam / 2 * u_w @ u_w)
        self.E += eta
        share = eta / self.E
        self.mean = [mean + share * (new - mean) for mean, new in zip(self.mean, u, strict=True)]
        if self.k > 0:
            fell = credit < self.credit - 1e-12
            longer = min(constants.LONGER, 1 + constants.GROWTH / (self.k + 1))
            self.eta *= constants.SHORTER if fell else longer
            self.n_shorter += fell
        self.credit, self.k = credit, self.k + 1


@pytest.mark.parametrize(
    ("radius", "eta", "n_steps"), [(None, FIRST, 12), (0.4, FIRST, 12), (None, 4 * FIRST, 24)]
)
@pytest.mark.parametrize("geometry", ["euclidean", "entropy"])
def test_steps_by_hand(geometry, radius, eta, n_steps):
    """With a first step that is too long, eta grows until the credit falls, and is shorter then."""
    problem = PROBLEMS["multiclass-costs"]()
    method = bw.Extragradient(geometry=geometry, radius=radius, eta=eta)
    hand, engine = ByHand(problem, geometry, radius, eta), engine_of(problem, method, LAM)
    for _ in range(n_steps):
        engine.advance(len(problem), lambda: True)
        hand.step()
        np.testing.assert_allclose(engine.w, hand.W / hand.E, rtol=0, atol=1e-10)
        np.testing.assert_allclose(engine.state().v, hand.v(hand.mean), rtol=0, atol=1e-10)
        assert engine.saddle.credit == pytest.approx(hand.credit, abs=1e-10)
        assert engine.saddle.eta == pytest.approx(hand.eta, rel=1e-12)
        v = hand.v(hand.mean)
        assert engine.dual() == pytest.approx(hand.ell(hand.mean) - v @ v / (2 * LAM), abs=1e-9)
    assert engine.saddle.eta != eta
    assert engine.saddle.n_begun == 1
    assert (hand.n_shorter > 0) == (eta > FIRST)


@pytest.mark.parametrize("method", BOTH)
def test_the_gap_of_averages_is_within_its_bound(method):
    """(sigma/2 |w|^2 + sum_i weight_i d(z_i) + Phi(0) - credit) / E, by enumeration."""
    problem = PROBLEMS["multiclass-dense"]()
    engine = engine_of(problem, method, LAM)
    weight, is_euclidean = problem.blocks.weight, method == "extragradient"
    first = 0.0 if is_euclidean else np.log(3)  # Phi(0) = max -d, of three labels
    most = 1.0 if is_euclidean else 0.0  # d of a corner
    for k in range(60):
        before = engine.saddle.E, engine.w, engine.state()
        engine.advance(len(problem), lambda: True)
        if k == 0:
            continue
        E, w, state = before
        best = state.v / LAM
        bound = (LAM / 2 * best @ best + weight.sum() * most + first - engine.saddle.credit) / E
        dual = state.ell.sum() - state.v @ state.v / (2 * LAM)
        assert problem.primal(w, LAM) - dual <= bound + 1e-12
    assert engine.saddle.n_begun == 1


# -- agreement with others -------------------------------------------------------------------------


@pytest.mark.parametrize("is_bounded", [False, True])
@pytest.mark.parametrize(("name", "method"), kinds(SOME))
def test_it_agrees_with_the_others(name, method, is_bounded):
    problem = PROBLEMS[name]()
    if is_bounded:
        problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=bounded(problem))
    best = bw.solve(problem, LAM, tol=1e-6, max_passes=10_000, random_state=0).certificate
    result = bw.solve(problem, LAM, method, tol=0.01, max_passes=2000)
    assert result.status is bw.Status.CERTIFIED
    found = result.certificate
    assert found.dual <= best.primal + 1e-12
    assert best.dual - 1e-12 <= found.primal
    again = bw.certify(problem, result.state, LAM, w=result.w)
    assert again.gap == pytest.approx(found.gap, abs=1e-10)
    assert again.exact


@pytest.mark.parametrize("method", BOTH)
def test_certificates_add_up(method):
    problem = PROBLEMS["chain-masked"]()
    engine = engine_of(problem, method, LAM)
    for _ in range(15):
        engine.advance(len(problem), lambda: True)
        certificate = engine.certify()
        assert certificate.dual <= certificate.primal
        gap = certificate.primal - certificate.dual
        assert certificate.block_gaps.sum() == pytest.approx(gap, abs=1e-10)
        assert engine.dual() == pytest.approx(certificate.dual, abs=1e-12)


@pytest.mark.parametrize(("name", "method"), kinds(["multiclass-costs", "tree", "matching"]))
def test_without_means_the_iterates_are_the_same(name, method):
    problem = PROBLEMS[name]()
    whole, lean = (engine_of(problem, m, LAM) for m in (method, f"{method}+lean"))
    for _ in range(20):
        for engine in (whole, lean):
            engine.advance(len(problem), lambda: True)
        np.testing.assert_array_equal(lean.w, whole.w)
        saddle = lean.steps.saddle
        np.testing.assert_allclose(saddle.Y / saddle.E, whole.state().v, rtol=0, atol=1e-12)
    result = bw.solve(problem, LAM, f"{method}+lean", max_passes=20)
    assert result.state is None
    assert result.certificate.is_primal_only
    assert result.certificate.primal == pytest.approx(problem.primal(lean.w, LAM), abs=1e-12)


def test_a_weight_of_two_is_an_example_twice():
    X, Y = multiclass_data(n=5)
    twice = bw.Problem(bw.tasks.Multiclass(), np.vstack([X, X[:2]]), np.concatenate([Y, Y[:2]]))
    weighted = bw.Problem(bw.tasks.Multiclass(), X, Y, sample_weight=[2, 2, 1, 1, 1])
    one, two = (engine_of(given, bw.Extragradient(eta=0.2), LAM) for given in (twice, weighted))
    for _ in range(15):
        for engine in (one, two):
            engine.advance(10, lambda: True)
    np.testing.assert_allclose(one.w, two.w, rtol=0, atol=1e-12)


# -- a ball in the place of lambda -----------------------------------------------------------------


def ball_optimum(problem, radius):
    """The least mean hinge of all |w| <= radius, as a program over (w, slacks)."""
    n, d = len(problem), problem.n_features
    terms = [(i, psi, loss) for i in range(n) for psi, loss in hinge_terms(problem, i)]
    A, b = np.zeros((len(terms), d + n)), np.array([loss for _, _, loss in terms])
    for row, (i, psi, _) in enumerate(terms):
        A[row, :d], A[row, d + i] = psi, 1.0
    slope = np.concatenate([np.zeros(d), problem.blocks.weight])
    found = scipy.optimize.minimize(
        lambda x: slope @ x,
        np.concatenate([np.zeros(d), np.full(n, b.max())]),
        jac=lambda x: slope,
        constraints=[
            {"type": "ineq", "fun": lambda x: A @ x - b, "jac": lambda x: A},
            {
                "type": "ineq",
                "fun": lambda x: radius**2 - x[:d] @ x[:d],
                "jac": lambda x: np.concatenate([-2 * x[:d], np.zeros(n)]),
            },
        ],
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-12},
    )
    assert found.success, found.message
    return found.fun


@pytest.mark.parametrize("radius", [0.2, 0.8])
@pytest.mark.parametrize(("name", "method"), kinds(["multiclass-dense", "matching"]))
def test_the_restricted_gap_bounds_the_error(name, method, radius):
    problem = PROBLEMS[name]()
    best = ball_optimum(problem, radius)
    geometry = "entropy" if "entropy" in method else "euclidean"
    given = bw.Extragradient(geometry=geometry, radius=radius, certify_every=3)
    seen = []

    def look(event):
        if event.row.restricted_gap == event.row.restricted_gap:
            hinge = problem.primal(event.w, 1.0) - event.w @ event.w / 2
            seen.append((hinge - best, event.row.restricted_gap, np.linalg.norm(event.w)))

    result = bw.solve(problem, LAM, given, tol=0.0, max_passes=150, callbacks=look)
    error, gap, length = np.array(seen).T
    assert len(seen) > 20
    assert (length <= radius * (1 + 1e-12)).all()
    assert (error >= -1e-9).all()
    assert (error <= gap + 1e-12).all()
    assert gap[-1] < min(0.03, gap[0] / 10)
    assert result.certificate.primal == pytest.approx(problem.primal(result.w, LAM), abs=1e-12)
    state = result.state
    dual = state.ell.sum() - state.v @ state.v / (2 * LAM)
    assert result.certificate.dual == pytest.approx(dual, abs=1e-12)
    assert result.certificate.gap >= 0.0


# -- steps of any size -----------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [1e-4, 1e4, 1e308])
@pytest.mark.parametrize("method", ["euclidean", "entropy"])
def test_any_first_step_will_do(method, eta):
    problem = PROBLEMS["multiclass-dense"]()
    given = bw.Extragradient(geometry=method, eta=eta)
    result = bw.solve(problem, LAM, given, tol=0.02, max_passes=1000)
    assert result.status is bw.Status.CERTIFIED
    assert np.isfinite(result.w).all()


# -- running ---------------------------------------------------------------------------------------


def test_what_it_cannot_do_is_refused():
    problem = PROBLEMS["chain-dense"]()
    with pytest.raises(bw.OptionError, match="'extragradient' cannot begin at a dual point"):
        bw.solve(problem, LAM, "extragradient", start=problem.initial_state())
    with pytest.raises(bw.OptionError, match="needs the oracle 'marginals', which Matching"):
        bw.solve(PROBLEMS["matching"](), LAM, "extragradient+entropy")
    with pytest.raises(
        bw.OptionError, match="needs the oracle 'project', .*tasks that have it: Ch"
    ):
        bw.solve(PROBLEMS["chain-python"](), LAM, "extragradient")
    boxed = bw.Problem(problem.task, problem.X, problem.Y, bounds=(0.0, None))
    with pytest.raises(bw.OptionError, match=r"radius=1.* not to both"):
        bw.solve(boxed, LAM, bw.Extragradient(radius=1.0), max_passes=1)
    with pytest.raises(bw.OptionError, match="no gap can tell it to stop"):
        bw.solve(problem, LAM, "extragradient+lean")
    with pytest.raises(bw.OptionError, match="leave radius out"):
        bw.solve_path(PROBLEMS["multiclass-dense"](), 0.3, 0.05, bw.Extragradient(radius=1.0))
    for wrong in ({"eta": 0.0}, {"radius": -1.0}, {"geometry": "round"}, {"keep_means": 1}):
        with pytest.raises(bw.OptionError, match=next(iter(wrong))):
            bw.Extragradient(**wrong)


def test_memory_is_asked_for_first(monkeypatch):
    monkeypatch.setattr("blockwolfe.base.memory.available_bytes", lambda: 2_500)
    monkeypatch.setattr("blockwolfe.base.memory.SMALL", 0)
    with pytest.raises(bw.errors.OutOfMemoryError, match="extragradient"):
        bw.solve(PROBLEMS["chain-dense"](), LAM, "extragradient", max_passes=1)


def test_no_pass_is_begun_that_the_calls_do_not_suffice_for():
    problem = PROBLEMS["multiclass-dense"]()
    for limit in (12, 40, 61, 200):
        given = {"tol": 0.0, "max_oracle_calls": limit}
        counts = bw.solve(problem, LAM, "extragradient", **given).counts
        assert counts.oracle_calls + counts.certificate_calls <= limit
        assert counts.oracle_calls == 2 * counts.visits
        assert counts.visits % len(problem) == 0


@pytest.mark.parametrize("radius", [None, 0.5])
@pytest.mark.parametrize("method", [*BOTH, "extragradient+lean"])
def test_a_run_that_is_stopped_goes_on_as_it_was(method, radius, tmp_path):
    from dataclasses import replace

    from blockwolfe.methods.registry import as_method

    problem, given = PROBLEMS["multiclass-costs"](), {"max_passes": 9, "tol": 0.0}
    method = replace(as_method(method), radius=radius)
    whole = bw.solve(problem, LAM, method, **given)
    keeping = bw.Checkpoint(tmp_path / "run.npz", every=0.0)

    def crash(event):
        if event.row.passes in (2, 5):
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        bw.solve(problem, LAM, method, checkpoint=keeping, callbacks=crash, **given)
    rest = bw.solve(problem, LAM, method, checkpoint=keeping, **given)
    assert_same(content(rest), content(whole))


def test_a_pass_that_is_left_is_gone_on_with():
    problem = PROBLEMS["chain-dense"]()
    whole, other = (engine_of(problem, "extragradient", LAM) for _ in range(2))
    for _ in range(3):
        whole.advance(10**9, lambda: True)
    while other.saddle.n_steps < 3:
        asked = iter([True, False])
        other.advance(10**9, lambda asked=asked: next(asked))
        assert other.certify().gap >= 0.0  # (half a pass has moved some blocks)
        fresh = engine_of(problem, "extragradient", LAM)
        fresh.restore(other.to_save())
        other = fresh
    np.testing.assert_array_equal(other.w, whole.w)
    np.testing.assert_allclose(other.state().v, whole.state().v, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("name", "value"), [("saddle.W", np.nan), ("saddle.eta", -1.0)])
def test_a_file_with_impossible_numbers_is_refused(name, value, tmp_path):
    problem, path = PROBLEMS["multiclass-costs"](), tmp_path / "run.npz"
    given = {"max_passes": 2, "tol": 0.0, "checkpoint": path}
    bw.solve(problem, LAM, "extragradient", **given)

    def change(header, arrays):
        found = [key for key in arrays if key.endswith(name)]
        if found:
            arrays[found[0]][0] = value
        else:
            header["engine"][name] = value

    crafted(path, change)
    with pytest.raises(bw.ModelFileError, match=name):
        bw.solve(problem, LAM, "extragradient", **given | {"max_passes": 4})


def test_a_path_and_a_grid_of_it():
    problem = PROBLEMS["multiclass-dense"]()
    path = bw.solve_path(problem, 0.3, 0.1, "extragradient", max_passes=2000)
    assert path.status is bw.Status.CERTIFIED
    for lam in (0.12, 0.5, 3.0):
        best = bw.solve(problem, lam, tol=1e-6, random_state=0).certificate
        assert problem.primal(path.coef(lam), lam) <= best.primal + path.eps
    results = bw.solve_grid(problem, [1.0, 0.3], method="extragradient", tol=0.05, max_passes=500)
    assert [result.is_certified for result in results] == [True, True]


def test_in_a_comparison_and_in_an_estimator():
    problem = PROBLEMS["multiclass-dense"]()
    found = bw.compare(problem, LAM, [*BOTH, "bcfw"], budget={"max_passes": 40})
    assert found.labels == [*BOTH, "bcfw"]
    svm = bw.StructuredSVM(bw.tasks.Multiclass(), lam=LAM, method="extragradient", tol=0.05)
    X, Y = multiclass_data()
    assert svm.fit(X, Y).score(X, Y) > 0.8


def test_a_path_keeps_the_weights_that_are_certified():
    problem = PROBLEMS["chain-dense"]()
    path = bw.solve_path(problem, 0.2, 0.1, "extragradient+entropy", random_state=0)
    assert len(path.breakpoints) > 3
    for point in path.breakpoints:
        w = path.coef(0.5 * (point.lam + point.lam_end))
        primal = problem.primal(w, point.lam)
        assert primal == pytest.approx(point.primal, abs=1e-9)


def test_block_gaps_with_a_radius_add_up_to_the_gap():
    problem = PROBLEMS["chain-dense"]()
    method = bw.Extragradient(radius=3.0, certify_every=3)
    found = bw.solve(problem, 1.0, method, max_passes=30, random_state=0).certificate
    assert found.gap > 0.1  # (the radius is not that of lam)
    assert found.block_gaps.sum() == pytest.approx(found.gap, abs=1e-12)
