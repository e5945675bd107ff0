"""The weights that a run returns are the best it knows, and the certificate says what they are."""

import signal
from dataclasses import replace

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.dual.point import DualPoint
from blockwolfe.methods.dual_engine import DualEngine
from blockwolfe.problem.pairing import primal_at
from blockwolfe.results.certificate import PrimalValue
from blockwolfe.results.pairing import beside, paired
from blockwolfe.running.pairing import HORIZON, Pairing
from plain_tasks import Labels
from same_runs import assert_same, content
from test_crafted_files import crafted
from zoo import PROBLEMS, multiclass_data

LAM = 0.1
METHODS = ["bcfw", "bcfw+gap+pairwise+cache", "fw", "auto", "bcfw+uniform+predefined"]


def solved(problem, method, **options):
    given = {"tol": 0.0, "max_passes": 9, "random_state": 0} | options
    return bw.solve(problem, LAM, method, **given)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_pair_is_never_looser_than_the_point_alone(name, method):
    problem = PROBLEMS[name]()
    best, last = (solved(problem, method, point=point) for point in ("best", "last"))
    assert best.certificate.gap <= last.certificate.gap
    assert best.certificate.dual == last.certificate.dual  # the same dual point
    assert best.certificate.primal == pytest.approx(problem.primal(best.w, LAM), rel=1e-12)
    assert best.trace[-1].gap == best.certificate.gap
    np.testing.assert_array_equal(best.state.v, last.state.v)
    again = bw.certify(problem, best.state, LAM, w=best.w)
    assert again.gap == pytest.approx(best.certificate.gap, abs=1e-12)
    own = bw.certify(problem, replace(best.state, pull=None), LAM)
    assert own.block_gaps.sum() == pytest.approx(own.gap, abs=1e-12)
    if best.state.pull is None:
        np.testing.assert_allclose(best.certificate.block_gaps, own.block_gaps, atol=1e-12)
    else:  # (of an accelerated run the state has the w that was best)
        assert bw.certify(problem, best.state, LAM).gap == pytest.approx(again.gap, abs=1e-12)


def test_some_pair_is_tighter():
    problem = bw.Problem(bw.tasks.Multiclass(), *multiclass_data(n=60))
    options = {"lam": 0.003, "method": "bcfw+uniform", "tol": 0.0, "max_passes": 10}
    best, last = (
        bw.solve(problem, point=point, random_state=0, **options).certificate.gap
        for point in ("best", "last")
    )
    assert best < 0.9 * last


def test_the_optimum_stays_between():
    problem = PROBLEMS["chain-dense"]()
    optimum = bw.solve(problem, LAM, "auto", 1e-9, random_state=0).certificate
    for passes in range(1, 20):
        found = solved(problem, "auto", max_passes=passes).certificate
        assert found.dual <= optimum.primal + 1e-12
        assert found.primal >= optimum.dual - 1e-12


def test_averages_stay_within_bounds():
    problem = PROBLEMS["chain-dense"]()
    problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=(-0.05, 0.2))
    for passes in (1, 4, 9):
        w = solved(problem, "bcfw", max_passes=passes).w
        assert ((w >= -0.05) & (w <= 0.2)).all()


def test_the_average_by_hand():
    """Weights 1, 2, 3, ... while passes are few; then the last ones dominate."""
    pairing, points = Pairing(2), np.random.default_rng(0).normal(size=(30, 2))
    for k, w in enumerate(points, 1):
        pairing.note(w, k)
        if 2.0 / (k + 1.0) >= 1.0 / HORIZON:
            expected = np.average(points[:k], axis=0, weights=np.arange(1, k + 1))
            np.testing.assert_allclose(pairing.average, expected)
    before = points[:-1]
    again = Pairing(2)
    for k, w in enumerate(before, 1):
        again.note(w, k)
    expected = again.average + (points[-1] - again.average) / HORIZON
    np.testing.assert_allclose(pairing.average, expected)


def test_long_vectors_are_noted_now_and_then():
    pairing = Pairing(10_000)
    for visits in range(1, 101):
        pairing.note(np.ones(10_000), visits)
    assert pairing.n_noted == 1 + 99 // 40  # 250 weights a visit


def test_only_bounds_are_paired():
    own = bw.certify(PROBLEMS["chain-dense"](), PROBLEMS["chain-dense"]().initial_state(), LAM)
    less = own.primal - 0.5 * own.gap
    assert paired(own, PrimalValue(less, True, 0.0, 0.0)).gap == pytest.approx(0.5 * own.gap)
    assert paired(own, PrimalValue(less, False, 0.0, np.nan)) is own  # an estimate
    assert paired(own.as_estimate(), PrimalValue(less, True, 0.0, 0.0)).primal == own.primal
    bounded = paired(own, PrimalValue(less, False, 0.0, 0.01))
    assert (bounded.valid, bounded.exact, bounded.slack) == (True, False, 0.01)
    assert beside(own, PrimalValue(less, True, 0.0, 0.0)).valid
    assert not beside(own, PrimalValue(less, False, 0.0, np.nan)).valid
    assert not beside(own.as_estimate(), PrimalValue(less, True, 0.0, 0.0)).valid


def test_a_primal_below_the_dual_is_the_proof_of_a_wrong_oracle():
    own = bw.certify(PROBLEMS["chain-dense"](), PROBLEMS["chain-dense"]().initial_state(), LAM)
    assert not paired(own, PrimalValue(own.dual - 0.1, True, 0.0, 0.0)).valid


@pytest.mark.parametrize("method", ["bcfw", "bcfw+gap+pairwise+cache", "auto"])
def test_a_run_goes_on_with_its_average(method, tmp_path):
    problem, path = PROBLEMS["chain-dense"](), tmp_path / "run.npz"
    whole = solved(problem, method, max_passes=15)

    def crash(event):
        if event.row.passes == 7:
            raise RuntimeError

    checkpoint = bw.Checkpoint(path, every=0.0)
    with pytest.raises(RuntimeError):
        solved(problem, method, max_passes=15, checkpoint=checkpoint, callbacks=crash)
    resumed = solved(problem, method, max_passes=15, checkpoint=checkpoint)
    assert_same(content(resumed), content(whole))


def test_a_best_point_that_is_not_worth_what_the_file_says_is_refused(tmp_path):
    problem, path = PROBLEMS["chain-dense"](), tmp_path / "run.npz"
    solved(problem, "bcfw", checkpoint=bw.Checkpoint(path))

    def better(header, arrays):
        driver = header["driver"]
        driver["pairing"]["best"]["primal"] -= 0.01
        driver["certificate"]["primal"] -= 0.01
        driver["certificate"]["gap"] -= 0.01

    crafted(path, better)
    with pytest.raises(bw.errors.ModelFileError, match="is not that of the point"):
        solved(problem, "bcfw", max_passes=20, checkpoint=bw.Checkpoint(path))


def test_a_best_point_is_looked_at_where_the_certificate_is_of_an_earlier_moment(tmp_path):
    problem, path = PROBLEMS["chain-dense"](), tmp_path / "run.npz"

    def crash(event):
        if event.row.passes == 7:
            raise RuntimeError

    method, checkpoint = bw.BCFW(certify_every=5), bw.Checkpoint(path, every=0.0)
    with pytest.raises(RuntimeError):
        solved(problem, method, checkpoint=checkpoint, callbacks=crash)

    def better(header, arrays):
        assert not header["driver"]["memory"]["is_current"]
        header["driver"]["pairing"]["best"]["primal"] -= 0.01

    crafted(path, better)
    with pytest.raises(bw.errors.ModelFileError, match="is not that of the point"):
        solved(problem, method, checkpoint=checkpoint)


def test_a_pair_has_the_resolution_of_outputs_that_were_passed_over():
    """As in the certificate of a state: one formula, whatever w."""
    problem = PROBLEMS["chain-dense"]()
    state = solved(problem, "bcfw", point="last").state
    w, own = state.v / LAM, bw.certify(problem, state, LAM)
    value = primal_at(
        problem.blocks, problem.initial_state().store(), w, LAM, *problem.blocks.own()
    )
    assert value.primal == pytest.approx(own.primal, rel=1e-14)
    assert 0.5 * own.resolution < value.resolution <= own.resolution


def test_weights_outside_their_bounds_are_not_certified():
    """Their objective may be below the optimum of the bounded problem."""
    X, y = multiclass_data(n=12)
    free, boxed = (bw.Problem(bw.tasks.Multiclass(), X, y, bounds=b) for b in (None, (0.0, 0.05)))
    w = bw.solve(free, 0.01, random_state=0).w
    with pytest.raises(
        bw.InputError, match=r"w\[\d+\] is .*; expected a number between its bounds"
    ):
        bw.certify(boxed, boxed.initial_state(), 0.01, w=w)
    best = bw.solve(boxed, 0.01, tol=1e-3, random_state=0)
    inside = bw.certify(boxed, boxed.initial_state(), 0.01, w=np.clip(w, 0.0, 0.05))
    assert inside.primal >= best.certificate.dual


def test_the_certificate_of_given_weights_is_theirs_also_where_they_are_worse():
    problem = PROBLEMS["chain-dense"]()
    result = solved(problem, "bcfw")
    for w in (np.zeros(problem.n_features), result.w, 1.1 * result.w):
        found = bw.certify(problem, result.state, LAM, w=w)
        assert found.primal == pytest.approx(problem.primal(w, LAM), rel=1e-12)
        assert found.dual == pytest.approx(result.certificate.dual, rel=1e-12)


def test_an_oracle_is_compared_with_what_the_dual_point_knows_at_other_weights_too():
    """It misses the best output, which the state has, at the weights that are given."""
    X, y = multiclass_data(n=30)

    class Sometimes(Labels):
        is_wrong = False

        def augmented_decode(self, x, y, w):
            return y if self.is_wrong else super().augmented_decode(x, y, w)

    task = Sometimes(3, 4)
    problem = bw.Problem(task, X, y)
    state = solved(problem, "bcfw", max_passes=3).state
    problem.task.is_wrong = True
    w = np.full(problem.n_features, 1e-3)
    assert not primal_at(problem.blocks, state.store(), w, LAM, *problem.blocks.own()).valid


@pytest.mark.parametrize("method", ["fw", "bcfw"])
@pytest.mark.parametrize(("name", "when"), [("add", 1), ("add", 2), ("looked", 2)])
def test_ctrl_c_while_a_pair_is_made_leaves_what_belongs_together(
    name, when, method, monkeypatch, tmp_path
):
    """A signal that arrives then is heard when weights and certificate are both in place."""
    problem, original, n_calls = PROBLEMS["chain-dense"](), getattr(Pairing, name), [0]

    def interrupted(self, *args):
        n_calls[0] += 1
        found = original(self, *args)
        if n_calls[0] == when:
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(Pairing, name, interrupted)
    path = tmp_path / "run.npz"
    given = {"tol": 0.0, "random_state": 0, "checkpoint": path, "targets": [0.3, 0.2, 0.1, 0.05]}
    result = bw.solve(problem, LAM, method, max_passes=60, **given)
    assert n_calls[0] >= when
    assert result.status is bw.Status.INTERRUPTED
    assert result.certificate.primal == pytest.approx(problem.primal(result.w, LAM), rel=1e-12)
    monkeypatch.setattr(Pairing, name, original)
    again = bw.solve(problem, LAM, method, max_passes=60, **given)
    whole = bw.solve(problem, LAM, method, max_passes=60, **given | {"checkpoint": None})
    assert again.status is bw.Status.MAX_PASSES
    assert again.counts == whole.counts  # (no full pass is made twice)
    np.testing.assert_array_equal(again.w, whole.w)


@pytest.mark.parametrize("tol", [0.1, 0.01])
@pytest.mark.parametrize("method", ["bcfw", "auto"])
def test_ctrl_c_at_any_look_changes_nothing_in_the_run_that_goes_on(
    method, tol, monkeypatch, tmp_path
):
    problem, original = (
        bw.Problem(bw.tasks.Multiclass(), *multiclass_data(n=60)),
        DualEngine.primal_at,
    )
    n_looks, wanted = [0], [0]

    def interrupted(self, w):
        n_looks[0] += 1
        if n_looks[0] == wanted[0]:
            raise KeyboardInterrupt
        return original(self, w)

    def run(**options):
        n_looks[0] = 0
        return bw.solve(problem, 0.01, method, tol, random_state=0, **options)

    monkeypatch.setattr(DualEngine, "primal_at", interrupted)
    whole = run()
    assert n_looks[0] >= 1
    for at in range(1, n_looks[0] + 1):
        path = tmp_path / f"{at}.npz"
        wanted[0] = at
        assert run(checkpoint=path).status is bw.Status.INTERRUPTED
        wanted[0] = 0
        assert_same(content(run(checkpoint=path)), content(whole))


@pytest.mark.parametrize("method", ["fw", "fw+predefined"])
def test_ctrl_c_in_a_step_of_all_blocks_is_heard_after_it(method, monkeypatch, tmp_path):
    problem, original, n_calls = PROBLEMS["chain-dense"](), DualPoint.rebuild, [0]
    options = {"random_state": 0, "max_passes": 8, "checkpoint": tmp_path / "run.npz"}
    whole = bw.solve(problem, LAM, method, 0.0, max_passes=8, random_state=0)

    def interrupted(self, *args):
        n_calls[0] += 1
        if n_calls[0] == 4:
            signal.raise_signal(signal.SIGINT)
        return original(self, *args)

    monkeypatch.setattr(DualPoint, "rebuild", interrupted)
    assert bw.solve(problem, LAM, method, 0.0, **options).status is bw.Status.INTERRUPTED
    monkeypatch.setattr(DualPoint, "rebuild", original)
    assert_same(content(bw.solve(problem, LAM, method, 0.0, **options)), content(whole))


@pytest.mark.parametrize("method", ["bcfw", "auto", "fw"])
def test_looks_at_the_average_stay_within_the_calls(method):
    problem = PROBLEMS["chain-dense"]()
    for budget in range(len(problem), 20 * len(problem), 3):
        for tol in (0.3, 0.1, 0.03):
            result = bw.solve(problem, LAM, method, tol, max_oracle_calls=budget, random_state=0)
            assert result.counts.oracle_calls + result.counts.certificate_calls <= budget


@pytest.mark.parametrize("forged", [{"unit": 1e9}, {"resolution": 0.0}, {"slack": 7.0}])
def test_what_a_file_says_of_its_certificate_is_checked(tmp_path, forged):
    problem, path = PROBLEMS["chain-dense"](), tmp_path / "run.npz"
    given = {"random_state": 0, "checkpoint": path}
    bw.solve(problem, LAM, "bcfw", 1e-6, max_passes=3, **given)

    def change(header, arrays):
        header["driver"]["certificate"].update(forged)

    crafted(path, change)
    if "unit" in forged:
        assert not bw.solve(problem, LAM, "bcfw", 1e-6, max_passes=3, **given).is_certified
    else:
        with pytest.raises(bw.ModelFileError):
            bw.solve(problem, LAM, "bcfw", 1e-6, max_passes=3, **given)


@pytest.mark.parametrize("method", ["bcfw", "fw"])
def test_a_pair_is_taken_only_where_rounding_lets_one_tell(method, monkeypatch):
    """Else a run is STALLED, its resolution above tol, where the point alone is certified."""
    exactly = DualEngine.primal_at

    def vaguely(self, w):
        return replace(exactly(self, w), resolution=10.0)

    monkeypatch.setattr(DualEngine, "primal_at", vaguely)
    problem = PROBLEMS["chain-dense"]()
    result, last = (solved(problem, method, point=point) for point in ("best", "last"))
    assert result.certificate.resolution < 1e-6
    assert result.certificate.gap == last.certificate.gap
    np.testing.assert_array_equal(result.w, last.w)  # (those that the certificate is of)


def test_an_unknown_point_is_refused():
    with pytest.raises(bw.OptionError, match=r"point='first' .*'best', 'last'"):
        bw.solve(PROBLEMS["chain-dense"](), LAM, point="first")


def test_a_look_costs_a_pass_that_is_counted():
    problem = PROBLEMS["chain-dense"]()
    best, last = (solved(problem, "bcfw", point=point).counts for point in ("best", "last"))
    assert best.certificate_calls == last.certificate_calls + len(problem)
    assert engine_of(problem, bw.BCFW(), LAM).can_pair
    assert not engine_of(problem, bw.BCFW(averaging=True), LAM).can_pair


def test_calls_that_are_not_there_are_not_made():
    problem = PROBLEMS["chain-dense"]()
    for n_passes in (2, 3, 4):
        limit = n_passes * len(problem)
        found = bw.solve(problem, LAM, "bcfw", 0.0, max_oracle_calls=limit, random_state=0)
        assert found.counts.oracle_calls + found.counts.certificate_calls <= limit
        assert found.certificate.valid
