"""Cutting planes: the master problem, one slack and n, the bundle method."""

import copy
import itertools

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.base.schema import Misfit
from blockwolfe.base.simplex_qp import maximize_on_simplex
from blockwolfe.dual.planes import PlaneSet
from blockwolfe.dual.walking import state_of_corners
from blockwolfe.methods.cutting_plane.n_slack import NSlackEngine
from blockwolfe.methods.cutting_plane.one_slack import OneSlackEngine
from blockwolfe.methods.registry import as_method
from blockwolfe.problem.sweep import sweep
from same_runs import assert_same, content
from test_crafted_files import crafted
from zoo import PROBLEMS, bounded, chain_data, enumerated_optimum

LAM = 0.1
ONE, N, BUNDLE = "cutting_plane", "cutting_plane+n", "bundle"
KINDS = ["multiclass-dense", "chain-dense", "chain-weighted", "tree", "matching"]
KINDS += ["multiclass-python"]


# -- the master problem ----------------------------------------------------------------------------


def by_clarabel(Q, c):
    """max <c, a> - <a, Q a> / 2 over the simplex."""
    n = len(c)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    A = sp.csc_matrix(np.vstack([np.ones((1, n)), -np.eye(n)]))
    b = np.concatenate([[1.0], np.zeros(n)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]
    solver = clarabel.DefaultSolver(sp.csc_matrix(np.triu(Q)), -c, A, b, cones, settings)
    return np.array(solver.solve().x)


def random_master(seed):
    """Planes of any number and length: often dependent, sometimes equal, sometimes zero."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 40)), int(rng.integers(1, 30))
    V = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2)
    c = rng.normal(size=n) * 10.0 ** rng.uniform(-2, 2)
    if seed % 3 == 0:
        V[n // 2 :], c[n // 2 :] = V[: n - n // 2], c[: n - n // 2]
    if seed % 5 == 0:
        V[0] = 0.0
    return V @ V.T, c, rng.dirichlet(np.full(n, 0.1))


@pytest.mark.parametrize("seed", range(60))
def test_master_against_clarabel(seed):
    Q, c, start = random_master(seed)
    found, other = maximize_on_simplex(Q, c, start), by_clarabel(Q, c)

    def value(a):
        return c @ a - a @ Q @ a / 2

    scale = np.abs(c).max() + np.abs(Q @ found).max()
    assert (found >= 0.0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-14)
    assert value(found) >= value(other) - 1e-9 * scale
    assert value(found) >= value(start) - 1e-13 * scale
    slope = c - Q @ found
    assert slope.max() - found @ slope <= 1e-9 * scale  # a certificate of its own


def test_master_of_one_plane_and_of_equal_planes():
    np.testing.assert_array_equal(maximize_on_simplex(np.eye(1), np.ones(1), np.ones(1)), [1.0])
    flat = maximize_on_simplex(np.zeros((3, 3)), np.array([1.0, 3.0, 2.0]), np.eye(3)[0])
    np.testing.assert_array_equal(flat, [0.0, 1.0, 0.0])
    ones = maximize_on_simplex(np.ones((3, 3)), np.ones(3), np.eye(3)[0])
    assert ones.sum() == pytest.approx(1.0)


def test_master_survives_what_is_no_number():
    assert len(maximize_on_simplex(np.full((2, 2), np.nan), np.ones(2), np.eye(2)[0])) == 2


# -- one slack is fully corrective batch Frank-Wolfe -----------------------------------------------


def fully_corrective(problem, lam, iterates):
    """Naive: one oracle call for every block, then the best mixture, by another solver.

    Oracles are asked at the given iterates, which differ from its own by rounding: where outputs
    are equally good, rounding would choose between them, and with them the way from there on.
    """
    blocks, store = problem.blocks, problem.initial_state().store()
    planes = [(np.zeros(problem.n_features), 0.0)]
    for w in iterates:
        found = sweep(blocks, store, w, *blocks.own(), keep=True).answers
        state = state_of_corners(blocks, found)
        planes.append((state.v, state.ell.sum()))
        V, c = np.array([v for v, _ in planes]), np.array([ell for _, ell in planes])
        alpha = by_clarabel(V @ V.T / lam, c)
        v = alpha @ V
        yield v / lam, c @ alpha - v @ v / (2 * lam)


@pytest.mark.parametrize("name", [*KINDS, "multiclass-costs", "chain-sparse"])
def test_one_slack_is_fully_corrective_frank_wolfe(name):
    """The same iterates, one by one."""
    problem, seen = PROBLEMS[name](), []

    def note(event):
        seen.append((event.w.copy(), event.row.dual))

    bare = bw.CuttingPlane(cached_planes=0)
    bw.solve(problem, LAM, bare, 0.0, max_passes=10, callbacks=[note])
    naive = fully_corrective(problem, LAM, [w for w, _ in seen[:-1]])
    assert len(seen) > 8
    for (w, dual), (naive_w, naive_dual) in zip(seen[1:], naive, strict=True):
        np.testing.assert_allclose(w, naive_w, atol=1e-6)
        assert dual == pytest.approx(naive_dual, abs=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_the_model_is_the_dual_point(name):
    """Gram matrix and losses of the planes, against v and ell of the point that they mix to."""
    engine = engine_of(PROBLEMS[name](), bw.CuttingPlane(prune_after=2), LAM)
    for _ in range(15):
        engine.advance(10**9, lambda: True)
        planes, point = engine.planes, engine.point
        assert planes.alpha @ planes.ell == pytest.approx(point.arrays.ell.sum(), abs=1e-12)
        length = planes.alpha @ planes.gram @ planes.alpha
        point.rebuild()
        assert length == pytest.approx(point.v @ point.v, rel=1e-9, abs=1e-12)
        slope = planes.ell - planes.gram @ planes.alpha / LAM
        assert slope.max() - planes.alpha @ slope <= 1e-10


@pytest.mark.parametrize("name", ["chain-dense", "matching", "multiclass-sparse"])
def test_inner_products_by_scores_are_those_of_vectors(name):
    """Long vectors are not kept; their inner products follow from scores."""
    engine = engine_of(PROBLEMS[name](), bw.CuttingPlane(), LAM)
    engine.planes._has_vectors = False
    engine.planes._renew(engine.point)
    for _ in range(8):
        engine.advance(10**9, lambda: True)
    planes, point = engine.planes, engine.point
    V = np.array([planes._vector(point, row) for row in planes.rows])
    np.testing.assert_allclose(planes.gram, V @ V.T, atol=1e-12)
    assert not planes.vectors


# -- the optimum -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [ONE, N, BUNDLE])
@pytest.mark.parametrize("name", [*KINDS, "multiclass-sparse", "chain-second-order", "toy-jitted"])
def test_optimum_agrees_with_block_coordinate_frank_wolfe(name, method):
    problem = PROBLEMS[name]()
    other = bw.solve(problem, LAM, "bcfw+pairwise", tol=1e-5, random_state=0)
    result = bw.solve(problem, LAM, method, tol=1e-5, max_passes=2000, random_state=0)
    assert result.is_certified
    assert result.certificate.dual <= other.certificate.primal + 1e-12
    assert other.certificate.dual <= result.certificate.primal + 1e-12
    assert (np.diff(result.trace["dual"]) >= -1e-14).all()
    assert type(result.method).__name__ in ("CuttingPlane", "BundleMethod")


@pytest.mark.parametrize(
    "method", [bw.CuttingPlane(prune_after=1, cached_planes=0), bw.CuttingPlane("n", 1)]
)
def test_pruning_keeps_little_and_still_converges(method):
    problem = PROBLEMS["chain-dense"]()
    result = bw.solve(problem, LAM, method, tol=1e-4, max_passes=2000, random_state=0)
    assert result.is_certified
    both = (method, bw.CuttingPlane(method.slack, None, cached_planes=0))
    engines = [engine_of(problem, m, LAM) for m in both]
    for engine, _ in itertools.product(engines, range(25)):
        engine.advance(10**9, lambda: True)
        engine.certify()
    few, all_of_them = (engine.point.n_stored() for engine in engines)
    assert few < all_of_them
    if method.slack == "one":
        assert [len(engine.planes) for engine in engines][1] == 26
        assert engines[0].planes.idle[1:].max() <= 1  # (the true outputs stay)


def test_the_bundle_method_is_never_looser():
    problem = PROBLEMS["chain-dense"]()
    last, best = (bw.solve(problem, LAM, m, 0.0, max_passes=30) for m in (ONE, BUNDLE))
    np.testing.assert_allclose(best.trace["dual"], last.trace["dual"], rtol=1e-12)
    assert (best.trace["gap"] <= last.trace["gap"] + 1e-14).all()
    assert (np.diff(best.trace["primal"]) <= 1e-14).all()
    assert (np.diff(last.trace["primal"]) > 0.0).any()


def test_iterations_are_few():
    """Each of them moves to the optimum over all planes, and full passes are all that is called."""
    problem = PROBLEMS["chain-dense"]()
    plain, one = (bw.solve(problem, LAM, m, 1e-3, max_passes=5000) for m in ("fw", ONE))
    assert one.trace[-1].passes < plain.trace[-1].passes / 5
    assert one.counts.oracle_calls == (one.trace[-1].passes + 1) * len(problem)


@pytest.mark.parametrize("name", ["chain-dense", "matching", "multiclass-sparse"])
def test_the_plane_of_stored_corners(name):
    """The best of every block, by lists of parts, and the slope that the step rules would see."""
    problem = PROBLEMS[name]()
    engine = engine_of(problem, bw.CuttingPlane(cached_planes=0), LAM)
    for _ in range(6):
        engine.advance(10**9, lambda: True)
    blocks, point = problem.blocks, engine.point
    row, slope = engine.planes.of_stored(point)
    stock, v = point.arrays.stock, engine.planes._vector(point, row)
    ell = blocks.weight @ stock.loss[stock.start + row]
    expected = (ell - v @ engine.w) - (point.arrays.ell.sum() - point.v @ engine.w)
    assert slope == pytest.approx(expected, abs=1e-12)
    assert slope <= engine.certify().gap + 1e-12
    for i in range(len(problem)):
        for k in range(stock.n_rows[i]):
            other = row.copy()
            other[i] = k
            ell = blocks.weight @ stock.loss[stock.start + other]
            assert ell - engine.planes._vector(point, other) @ engine.w <= expected + (
                point.arrays.ell.sum() - point.v @ engine.w + 1e-12
            )


@pytest.mark.parametrize("method", [bw.CuttingPlane, bw.BundleMethod])
def test_planes_of_stored_corners_save_oracle_calls(method):
    problem = PROBLEMS["chain-dense"]()
    given = {"tol": 1e-4, "max_passes": 2000, "random_state": 0}
    bare, cached = (bw.solve(problem, LAM, method(cached_planes=n), **given) for n in (0, 20))
    assert cached.is_certified
    assert cached.counts.oracle_calls < 0.7 * bare.counts.oracle_calls
    assert (np.diff(cached.trace["dual"]) >= -1e-14).all()
    assert cached.counts.steps > cached.trace[-1].passes


def test_planes_of_stored_corners_may_be_split():
    """Left after any of them, and gone on from a checkpoint, the run is the undisturbed one."""
    problem, taken = PROBLEMS["chain-dense"](), []
    engine = engine_of(problem, bw.CuttingPlane(), LAM)

    def keep():
        taken.append(copy.deepcopy(engine.to_save()))
        return True

    for _ in range(6):
        engine.advance(10**9, keep)
        engine.certify()
    assert sum(saved["n_left"] > 0 for saved in taken) > 6
    for saved in taken[:: max(1, len(taken) // 12)]:
        again, n_looks = engine_of(problem, bw.CuttingPlane(), LAM), 0
        again.restore(saved)

        def now_and_then():
            nonlocal n_looks
            n_looks += 1
            return n_looks % 3 > 0

        while again.n_steps < 6 or again._has_stepped:
            again.advance(10**9, now_and_then)
        again.certify()
        np.testing.assert_array_equal(again.w, engine.w)
        assert again.counts.steps == engine.counts.steps


def test_a_certificate_between_planes_of_stored_corners_is_not_given_twice():
    """A pass may be left after its step, and certified: the planes that follow move the point."""
    problem = PROBLEMS["chain-dense"]()
    engine, n_moved = engine_of(problem, bw.CuttingPlane(), LAM), 0
    for _ in range(6):
        left = iter([True])
        engine.advance(10**9, lambda left=left: next(left, False))
        before = engine.certify()
        engine.advance(10**9, lambda: True)
        found, true = engine.certify(), bw.certify(problem, engine.state(), LAM)
        np.testing.assert_allclose([found.primal, found.dual], [true.primal, true.dual], rtol=1e-12)
        n_moved += found.dual != before.dual
    assert n_moved > 0


# -- bounds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [ONE, BUNDLE])
def test_one_slack_refuses_bounds_before_any_work(method):
    problem = PROBLEMS["multiclass-dense"]()
    problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=(0.0, None))
    with pytest.raises(bw.OptionError, match=r"bounds.* no longer a quadratic.*slack='n'"):
        bw.solve(problem, LAM, method)


@pytest.mark.parametrize("name", ["multiclass-dense", "chain-dense"])
def test_n_slacks_under_bounds(name):
    problem = PROBLEMS[name]()
    if name == "chain-dense":
        problem = bw.Problem(problem.task, *chain_data(n=5, longest=3))
    box = bounded(problem)
    problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=box)
    result = bw.solve(problem, LAM, N, tol=1e-4, max_passes=2000, random_state=0)
    optimum, _ = enumerated_optimum(problem, LAM, box)
    assert result.is_certified
    assert result.certificate.dual - 1e-7 <= optimum <= result.certificate.primal + 1e-7


# -- options ---------------------------------------------------------------------------------------


def test_options():
    assert as_method("cutting_plane+n") == bw.CuttingPlane(slack="n")
    with pytest.raises(bw.OptionError, match="slack"):
        bw.CuttingPlane(slack="two")
    for method in (bw.CuttingPlane, bw.BundleMethod):
        with pytest.raises(bw.OptionError, match="prune_after"):
            method(prune_after=0)
        with pytest.raises(bw.OptionError, match="cached_planes"):
            method(cached_planes=-1)
    assert "one slack" in bw.CuttingPlane().words
    assert "n slacks" in bw.CuttingPlane("n").words


# -- beginning, stopping, going on -----------------------------------------------------------------


@pytest.mark.parametrize("method", [ONE, N, BUNDLE])
@pytest.mark.parametrize("before", ["bcfw+pairwise", "fw", N])
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
def test_a_start_is_one_plane_more(name, before, method):
    problem = PROBLEMS[name]()
    state = bw.solve(problem, LAM, before, 0.0, max_passes=3, random_state=0).last_state
    begun = bw.certify(problem, state, LAM)
    result = bw.solve(problem, LAM, method, 1e-5, start=state, max_passes=2000, random_state=0)
    assert result.is_certified
    assert result.trace["dual"][0] == pytest.approx(begun.dual, rel=1e-12)
    assert (np.diff(result.trace["dual"]) >= -1e-14).all()


@pytest.mark.parametrize("method", [ONE, N, BUNDLE, bw.CuttingPlane(prune_after=1)])
@pytest.mark.parametrize("name", ["chain-dense", "matching", "multiclass-python"])
def test_a_run_that_goes_on_is_the_undisturbed_one(tmp_path, name, method):
    problem, path = PROBLEMS[name](), tmp_path / "run.npz"
    given = {"tol": 0.0, "random_state": 0, "point": "last"}  # (no look at an average at each end)
    whole = bw.solve(problem, LAM, method, max_passes=14, **given)
    for passes in (3, 4, 9, 14):
        result = bw.solve(problem, LAM, method, max_passes=passes, checkpoint=path, **given)
    assert_same(content(result), content(whole))


def test_passes_over_stored_corners_may_be_split(monkeypatch):
    """Checkpoints within iterations; each goes on to the end of the undisturbed run."""
    problem, taken, n_iterations = PROBLEMS["chain-dense"](), [], 3
    monkeypatch.setattr(NSlackEngine, "_adapt_chunk", lambda *_: None)  # (a visit at a time)
    engine = engine_of(problem, bw.CuttingPlane("n"), LAM)

    def run(engine, begin, may_go_on=lambda: True):
        for _ in range(begin, n_iterations):
            engine.advance(10**9, may_go_on)
            engine.certify()

    def keep():
        taken.append((engine.counts.oracle_calls // len(problem), copy.deepcopy(engine.to_save())))
        return True

    engine.certify()
    run(engine, 0, keep)
    assert {saved["phase"] for _, saved in taken} == {0, 1}
    for n_passes, saved in taken[:: len(taken) // 10]:
        again = engine_of(problem, bw.CuttingPlane("n"), LAM)
        again.restore(saved)
        run(again, n_passes - 1)
        np.testing.assert_array_equal(again.w, engine.w)
        assert again.counts == engine.counts


@pytest.mark.parametrize("method", ["fw", ONE, N])
def test_a_full_pass_after_a_move_is_counted(method):
    """Also where the one before it was counted by a run that was killed."""
    problem = PROBLEMS["chain-dense"]()
    engine, again = (engine_of(problem, as_method(method), LAM) for _ in range(2))
    engine.certify()
    again.restore(engine.to_save())
    before = again.counts.oracle_calls
    again.shrink(0.5, np.zeros(len(problem)))
    again.certify()
    assert again.counts.oracle_calls == before + len(problem)


CRAFTED = {
    "planes.rows": [
        lambda a: a[::-1],
        lambda a: a + 100,
        lambda a: a - 100,
        lambda a: a[:0],
        lambda a: a[:, :-1],
    ],
    "planes.alpha": [
        lambda a: np.roll(a, 1),
        lambda a: 2 * a,
        lambda a: -a,
        lambda a: a[:-1],
        lambda a: a * np.nan,
    ],
    "planes.idle": [lambda a: a - 10, lambda a: a[:-1]],
    "point.ell": [lambda a: a + 1e-3],
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, changes in CRAFTED.items() for change in changes]
)
def test_planes_of_a_stranger_are_refused(name, change):
    problem = PROBLEMS["chain-dense"]()
    engine = engine_of(problem, bw.CuttingPlane(), LAM)
    for _ in range(4):
        engine.advance(10**9, lambda: True)
    saved = engine.to_save()
    fresh = engine_of(problem, bw.CuttingPlane(), LAM)
    fresh.restore(dict(saved))
    np.testing.assert_array_equal(fresh.planes.gram, engine.planes.gram)
    with pytest.raises(Misfit, match="planes|ell"):
        fresh.restore(saved | {name: change(saved[name])})


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("planes.rows", lambda a: a[::-1], "does not begin with the true outputs"),
        ("planes.alpha", lambda a: np.roll(a, 1), "does not mix to the weights"),
    ],
)
def test_planes_that_are_not_those_of_the_point_are_refused(name, change, message):
    problem = PROBLEMS["multiclass-dense"]()
    engine, fresh = (engine_of(problem, bw.CuttingPlane(), LAM) for _ in range(2))
    for _ in range(4):
        engine.advance(10**9, lambda: True)
    saved = engine.to_save()
    with pytest.raises(Misfit, match=message):
        fresh.restore(saved | {name: change(saved[name])})


def test_where_rounding_spoils_the_mixture_a_frank_wolfe_step_is_taken(monkeypatch):
    monkeypatch.setattr(PlaneSet, "best_weights", lambda self, lam: np.eye(len(self))[0])
    problem = PROBLEMS["chain-dense"]()
    given = {"max_passes": 8, "point": "last"}
    bare = bw.CuttingPlane(cached_planes=0)
    plain, spoiled = (bw.solve(problem, LAM, m, 0.0, **given) for m in ("fw", bare))
    np.testing.assert_allclose(spoiled.trace["dual"], plain.trace["dual"], rtol=1e-9)


def test_a_step_that_gains_nothing_leaves_all_as_it_was():
    engine = engine_of(PROBLEMS["chain-dense"](), bw.CuttingPlane(), LAM)
    assert isinstance(engine, OneSlackEngine)
    for _ in range(5):
        engine.advance(10**9, lambda: True)
    alpha, w, dual = engine.planes.alpha.copy(), engine.w.copy(), engine.dual()
    assert not engine._tried(np.eye(len(engine.planes))[0])
    np.testing.assert_array_equal(engine.planes.alpha, alpha)
    np.testing.assert_array_equal(engine.w, w)
    assert engine.dual() == dual
    engine.point.rebuild()
    np.testing.assert_allclose(engine.w, w, atol=1e-14)


# -- everywhere ------------------------------------------------------------------------------------


def test_compare_and_held_out_loss():
    problem = PROBLEMS["chain-dense"]()
    held_out = (problem.X, problem.Y)
    found = bw.compare(problem, LAM, [ONE, N, BUNDLE], targets=[1e-3], held_out=held_out)
    assert found.labels == [ONE, N, BUNDLE]
    for run in found.runs:
        assert np.isfinite(run.trace["held_out_loss"][-1])


def test_model_files(tmp_path):
    problem, path = PROBLEMS["multiclass-dense"](), tmp_path / "model.npz"
    for method in (bw.CuttingPlane("n", 7), bw.BundleMethod(None)):
        bw.StructuredSVM(bw.tasks.Multiclass(), method=method).fit(problem.X, problem.Y).save(path)
        assert bw.load(path).method == method


@pytest.mark.parametrize("method", [ONE, N, BUNDLE])
def test_paths(method):
    problem = PROBLEMS["multiclass-dense"]()
    path = bw.solve_path(problem, lam_min=0.05, eps=0.1, method=method, random_state=0)
    other = bw.solve_path(problem, lam_min=0.05, eps=0.1, method="bcfw+pairwise", random_state=0)
    for lam in (5.0, 0.5, 0.06):
        assert problem.primal(path.coef(lam), lam) <= problem.primal(other.coef(lam), lam) + 0.1


def test_a_file_whose_planes_name_corners_that_go_is_harmless(tmp_path):
    """Corners that say they were never used stay as long as a plane names them."""
    problem, path = PROBLEMS["chain-dense"](), tmp_path / "run.npz"
    given = {"tol": 0.0, "checkpoint": path, "max_passes": 8}
    bw.solve(problem, 0.1, "cutting_plane", **given)

    def change(header, arrays):
        (name,) = [name for name in arrays if name.endswith("stock.used_at")]
        arrays[name][:] = -1
        (name,) = [name for name in arrays if name.endswith("planes.idle")]
        arrays[name][-1] = 10**6

    crafted(path, change)
    result = bw.solve(problem, 0.1, "cutting_plane", **given | {"max_passes": 20})
    again = bw.certify(problem, result.state, 0.1)
    assert again.gap == pytest.approx(result.certificate.gap, abs=1e-10)
