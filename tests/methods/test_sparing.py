"""Where every oracle call counts: rounds between calls, and certificates whose corners are kept."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.base.pace import LeftError
from blockwolfe.base.schema import Misfit
from blockwolfe.dual import conjugate
from blockwolfe.dual.ahead import LONGEST, look_ahead
from blockwolfe.dual.conjugate import climb, put
from blockwolfe.methods import auto
from blockwolfe.methods.bcfw.sparing import MOST_AHEAD, SHARE, SparingEngine
from blockwolfe.problem.state import rebuild_v
from blockwolfe.running.budget import Budget
from plain_tasks import Labels
from zoo import PROBLEMS, bounded, chain_data, enumerated_optimum, multiclass_data, plain

LAM = 0.05


@pytest.fixture
def is_slow(monkeypatch):
    """All oracles are taken for slow ones."""
    monkeypatch.setattr(auto, "EXPENSIVE_STEPS", 0.0)
    monkeypatch.setattr(auto, "LONG_STEPS", 0.0)
    monkeypatch.setattr(auto, "LONG_LOOKS", 0.0)


@pytest.fixture(scope="module")
def problem():
    return bw.Problem(bw.tasks.Chain(), *chain_data(n=10))


@pytest.fixture
def engine(problem, is_slow):
    return engine_of(problem, "auto", LAM)


def always():
    return True


def passes(engine, n_passes):
    for _ in range(n_passes):
        engine.advance(engine.n_blocks, always)


def stored_hinges(engine, w=None):
    """H_i(w) over stored corners alone, by the heights of parts in the scores of w."""
    w = engine.w if w is None else w
    blocks, stock, found = engine.blocks, engine.point.arrays.stock, []
    theta, truth = np.zeros(blocks.n_parts), blocks.truth
    lists, at, size = engine.point.lists(np.arange(len(blocks)), with_idle=True)
    for i in range(len(blocks)):
        blocks.features.score(blocks.data, i, w, 1.0, theta)
        rows = range(stock.start[i], stock.start[i] + stock.n_rows[i])
        heights = [stock.loss[r] + theta[lists[at[r] : at[r] + size[r]]].sum() for r in rows]
        true = slice(truth.start[i], truth.start[i + 1])
        found.append(max(heights) - truth.value[true] @ theta[truth.part[true]])
    return np.array(found)


def test_a_certificate_stores_what_it_finds_and_moves_nothing(engine):
    passes(engine, 2)
    first = engine.certify()
    before, n_rows = engine.w.copy(), engine.point.arrays.stock.n_rows.copy()
    np.testing.assert_allclose(stored_hinges(engine), engine.hinge, rtol=1e-12)
    again = engine.certify()
    assert again.gap == first.gap
    assert again.dual == first.dual
    np.testing.assert_array_equal(engine.w, before)
    np.testing.assert_array_equal(engine.point.arrays.stock.n_rows, n_rows)  # each stored once
    store = engine.point.store()
    np.testing.assert_allclose(rebuild_v(engine.blocks, store), LAM * before, atol=1e-14)


def test_corners_of_a_certificate_are_used_before_the_next_call(engine):
    passes(engine, 1)
    certificate, calls = engine.certify(), engine.counts.oracle_calls
    engine.advance(engine.n_blocks, lambda: engine._has_stored)  # (a round, and no more)
    assert engine.counts.oracle_calls == calls
    assert engine.dual() > certificate.dual


def test_each_call_is_at_the_joint_optimum_of_all_corners_so_far(engine):
    passes(engine, 3)
    gap = (stored_hinges(engine) * engine.blocks.weight).sum() + 0.5 * LAM * engine.w @ engine.w
    estimate = engine.gap_estimate
    assert np.isfinite(estimate)
    assert gap - engine.dual() <= 0.1 * estimate * (1 + 1e-9)


@pytest.mark.parametrize("aim", [0.0, 0.1])
def test_between_a_call_and_its_round_nothing_is_estimated(engine, aim):
    engine.aim = aim
    passes(engine, 1)
    assert np.isfinite(engine.gap_estimate)
    engine.advance(engine.n_blocks, lambda: engine._n_new == 0)
    assert engine._n_new == 1
    assert engine.gap_estimate == np.inf


@pytest.mark.parametrize("is_bounded", [False, True])
def test_it_finds_the_optimum(is_bounded, is_slow):
    found = bw.Problem(bw.tasks.Chain(), *chain_data(n=5, longest=3))
    bounds = bounded(found) if is_bounded else None
    found = bw.Problem(found.task, found.X, found.Y, bounds=bounds)
    best, _ = enumerated_optimum(found, LAM, bounds)
    result = bw.solve(found, LAM, "auto", 1e-6, random_state=0)
    assert result.is_certified
    assert result.note.endswith("the oracle is slow")
    assert result.certificate.dual <= best + 1e-9
    assert result.certificate.primal >= best - 1e-9
    assert (np.diff(result.trace["dual"]) >= -1e-14).all()
    checked = bw.certify(found, result.state, LAM)
    assert checked.gap == pytest.approx(result.certificate.gap, abs=1e-12)


class Counted(Labels):
    """And how often the oracle was called."""

    n_calls = 0

    def augmented_decode(self, x, y, w):
        self.n_calls += 1
        return super().augmented_decode(x, y, w)


def gap_below(engine, gap):
    """The gap of a certificate; of one that was left, nothing."""
    try:
        return engine.certify_below(gap).gap
    except LeftError:
        return None


def calls_and_counts(problem, method, most):
    before = problem.task.n_calls
    counts = bw.solve(problem, LAM, method, 0.0, max_oracle_calls=most, random_state=0).counts
    return problem.task.n_calls - before, counts.oracle_calls + counts.certificate_calls


@pytest.mark.parametrize("most", [8, 9, 16, 17, 30, 61])
def test_a_budget_of_calls_is_kept(most):
    found = bw.Problem(Counted(3, 4), *multiclass_data(n=8))
    calls_and_counts(found, "bcfw", 8)  # (the unit of tolerances takes calls, once)
    made, counted = calls_and_counts(found, "bcfw", 8)
    n_aside = made - counted  # by which every run looks at the task
    made, counted = calls_and_counts(found, "auto", most)
    assert counted <= most
    assert made == counted + n_aside


@pytest.mark.parametrize("aim", [0.0, 0.02])
def test_a_run_that_was_cut_anywhere_goes_on_to_the_bit(problem, easy, is_slow, aim, monkeypatch):
    monkeypatch.setattr(conjugate, "PAUSE", 0.0)
    problem = easy if aim else problem
    whole, cut = (engine_of(problem, "auto", LAM) for _ in range(2))
    whole.aim = cut.aim = aim
    longest = 1.0
    for k in range(5):
        passes(whole, 1)
        longest = max(longest, whole._ahead.length)
        moments = iter([True] * 3 * k)
        cut.advance(cut.n_blocks, lambda moments=moments: next(moments, False))
        again = engine_of(problem, "auto", LAM, seed=5)
        again.aim = aim
        again.restore(cut.to_save())
        np.testing.assert_array_equal(again._asked_at, cut._asked_at)
        cut = again
        while cut._is_open:
            cut.advance(cut.n_blocks, always)
        if k % 2:
            assert whole.certify().gap == cut.certify().gap
        else:
            assert gap_below(whole, 0.01) == gap_below(cut, 0.01)
    assert isinstance(whole, SparingEngine)
    assert (longest > 1.0) == (aim > 0.0)
    assert whole.counts == cut.counts
    np.testing.assert_array_equal(whole.w, cut.w)
    np.testing.assert_array_equal(whole.asked_w, cut.asked_w)


def test_fewer_calls_than_with_full_passes():
    data = bw.datasets.digit_strings(n_strings=12)
    found = plain(bw.Problem(bw.tasks.Chain(10), data.X, data.Y))
    runs = [
        bw.solve(found, 0.1, method, 0.05, random_state=0) for method in ("auto", "cutting_plane+n")
    ]
    calls = [run.counts.oracle_calls + run.counts.certificate_calls for run in runs]
    assert all(run.is_certified for run in runs)
    assert calls[0] <= 0.7 * calls[1]
    assert runs[0].counts.certificate_calls <= 3 * len(found)


def test_batches_of_workers_hold_what_one_after_another_holds(problem, is_slow):
    result = bw.solve(problem, LAM, "auto", 1e-5, n_jobs=2, random_state=0)
    alone = bw.solve(problem, LAM, "auto", 1e-5, random_state=0)
    assert result.is_certified
    gap = max(result.certificate.gap, alone.certificate.gap)
    assert abs(result.certificate.primal - alone.certificate.primal) <= gap


def test_certificates_inside_a_pass_are_of_the_same_budget(is_slow):
    found, n_made = PROBLEMS["matching"](), []
    for most in range(25, 60):
        counts = bw.solve(found, 0.03, "auto", 4e-5, max_oracle_calls=most, random_state=0).counts
        n_made.append((counts.oracle_calls + counts.certificate_calls, most))
    assert all(made <= most for made, most in n_made)


def test_rounds_come_closer_while_stored_corners_lack_most(problem, is_slow):
    engine = engine_of(problem, "auto", LAM)
    engine.aim = 1e-12
    passes(engine, 3)
    engine._excess[:] = 0.0
    before, engine._has_stored = engine._ahead.gap, True
    assert before > 1e-9
    assert engine.gaps.sum() > before
    engine.advance(engine.n_blocks, lambda: engine._has_stored)  # (a round, and no more)
    assert engine._ahead.gap <= SHARE * before * (1 + 1e-9)


def test_blocks_of_equal_estimates_take_turns(problem, is_slow):
    engine = engine_of(problem, "auto", LAM)
    passes(engine, 2)
    engine.aim = 0.1
    engine._excess[:], engine._excess[4] = 0.0, 1.0
    engine._asked_at[:] = np.random.default_rng(0).permutation(len(problem))
    engine._asked_at[4] = 100
    oldest = np.argsort(engine._asked_at)
    np.testing.assert_array_equal(engine._drawn(np.full(3, -1), np.zeros(3)), [4, *oldest[:2]])


# -- certificates that are left --------------------------------------------------------------------


def copied(engine, problem):
    """The same engine once more."""
    copy = engine_of(problem, "auto", engine.lam)
    copy.aim = engine.aim
    copy.restore(deepcopy(engine.to_save()))
    return copy


@pytest.mark.parametrize("aim", [0.0, 0.02])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 0.999])
def test_a_certificate_is_left_where_the_gap_is_above(problem, easy, is_slow, aim, share):
    problem = easy if aim else problem
    engine = engine_of(problem, "auto", 0.01 if aim else LAM)
    engine.aim = aim
    passes(engine, 1)
    whole, dual, known = copied(engine, problem), engine.dual(), engine._ahead
    n_rows, calls = engine.point.arrays.stock.n_rows.copy(), engine.counts.certificate_calls
    certificate, w = whole.certify(), engine.asked_w.copy()
    excess = np.maximum(certificate.block_gaps - known.gaps, 0.0)
    order = np.argsort(-excess, kind="stable")
    engine._asked_at[order] = np.arange(len(problem))
    with pytest.raises(LeftError) as left:
        engine.certify_below(share * certificate.gap)
    asked, found = left.value.order, left.value.found
    n_needed = 1 + np.flatnonzero(known.gap + excess[order].cumsum() > share * certificate.gap)[0]
    np.testing.assert_array_equal(asked, order[:n_needed])
    assert engine.counts.certificate_calls == calls + len(asked)
    np.testing.assert_allclose(found.hinge, whole.hinge[asked], rtol=1e-12, atol=1e-12)
    hinges = stored_hinges(engine, w)  # (what was found is stored, and nothing else)
    np.testing.assert_allclose(hinges[asked], found.hinge, rtol=1e-12, atol=1e-12)
    others = np.setdiff1d(np.arange(len(problem)), asked)
    np.testing.assert_array_equal(engine.point.arrays.stock.n_rows[others], n_rows[others])
    assert engine.dual() == pytest.approx(dual, rel=1e-12)
    if aim:
        assert engine.gap_estimate == np.inf  # (until the round that follows)
    passes(engine, 1)
    assert engine.dual() > dual


@pytest.mark.parametrize("aim", [0.0, 0.02])
def test_a_certificate_that_was_not_left_is_the_same_to_the_bit(problem, easy, is_slow, aim):
    problem = easy if aim else problem
    engine = engine_of(problem, "auto", 0.01 if aim else LAM)
    engine.aim = aim
    passes(engine, 1)
    engine._asked_at[:] = np.random.default_rng(1).permutation(len(problem))
    whole = copied(engine, problem)
    certificate = whole.certify()
    found = engine.certify_below(certificate.gap * (1.0 + 1e-9))
    np.testing.assert_array_equal(found.block_gaps, certificate.block_gaps)
    assert replace(found, block_gaps=None) == replace(certificate, block_gaps=None)
    for name, value in whole.to_save().items():
        np.testing.assert_array_equal(engine.to_save()[name], value, err_msg=name)


def test_blocks_that_were_asked_longest_ago_come_first(problem, is_slow):
    engine = engine_of(problem, "auto", LAM)
    passes(engine, 2)
    order = np.random.default_rng(0).permutation(len(problem))
    engine._asked_at[order] = np.arange(len(problem))
    with pytest.raises(LeftError) as left:
        engine.certify_below(1e-6)
    np.testing.assert_array_equal(left.value.order, order[: len(left.value.order)])
    assert (engine._asked_at[left.value.order] > engine._asked_at[order[-1]]).all()


class Tired(Labels):
    """Once it is tired, its oracle gives the true output."""

    is_tired = False

    def augmented_decode(self, x, y, w):
        return y if self.is_tired else super().augmented_decode(x, y, w)


def test_an_answer_below_a_stored_corner_is_no_maximum(problem, is_slow):
    for rise, is_caught in [(0.0, False), (1e-12, False), (1e-3, True)]:
        engine = engine_of(problem, "auto", LAM)
        engine.aim = 1e-9
        passes(engine, 2)
        engine._ahead = engine._ahead._replace(gaps=engine._ahead.gaps + rise)
        certificate = engine.certify()
        assert engine.is_caught == is_caught
        assert certificate.valid == (not is_caught)
        engine._ahead = engine._ahead._replace(gaps=engine._ahead.gaps + 1.0)
        engine.certify()  # (of corners that no round has seen yet nothing is known)
        assert engine.is_caught == is_caught


@pytest.mark.parametrize("has_stored", [False, True])
def test_a_certificate_that_was_left_tells_of_an_oracle_that_gives_less(has_stored):
    problem = bw.Problem(Tired(3, 4), *multiclass_data(n=8))
    engine = engine_of(problem, "auto", 1.0)
    passes(engine, 2)
    problem.task.is_tired = True
    engine._asked_at[np.argmax(engine.point.arrays.ell)] = -1  # (asked first)
    engine._has_stored = has_stored  # (then heights of stored corners are not known)
    with pytest.raises(LeftError):
        engine.certify_below(-1.0)  # (left after the first answer)
    assert engine.is_caught


class Once(Tired):
    """Of all its answers one is the worst there is."""

    n_calls, at = 0, 0

    def augmented_decode(self, x, y, w):
        self.n_calls += 1
        if self.n_calls != self.at:
            return super().augmented_decode(x, y, w)
        return int(np.argmin(x @ w.reshape(self.n_inputs, self.n_labels)))


def test_one_bad_answer_to_a_visit_leaves_a_result_without_certificate():
    X, Y = multiclass_data(n=12, n_labels=4, n_features=8)
    problem = bw.Problem(Once(4, 8), X, Y)
    bw.solve(problem, LAM, "bcfw", max_passes=0)  # (looks at the task)
    problem.task.n_calls, problem.task.at = 0, 18
    result = bw.solve(problem, LAM, "auto", 1e-4, random_state=0, max_oracle_calls=200)
    assert result.status is bw.Status.INEXACT_ORACLE
    assert not result.certificate.valid


@pytest.mark.parametrize("n_times", [1, 2])
def test_no_certificate_is_left_where_there_is_time_for_one_alone(is_slow, monkeypatch, n_times):
    below, certify_below = [], SparingEngine.certify_below

    def watched(self, gap):
        below.append(gap)
        return certify_below(self, gap)

    monkeypatch.setattr(SparingEngine, "certify_below", watched)
    monkeypatch.setattr(Budget, "has_time_to_certify", lambda _, n=1: n <= n_times)
    problem = bw.Problem(bw.tasks.Chain(), *chain_data(n=6))
    assert bw.solve(problem, 0.02, "auto", 0.05, random_state=0).is_certified
    assert bool(below) == (n_times > 1)


def test_runs_leave_certificates_and_end_certified(is_slow, monkeypatch):
    left, certify_below = [], SparingEngine.certify_below

    def watched(self, gap):
        try:
            return certify_below(self, gap)
        except LeftError as error:
            left.append(error)
            raise

    monkeypatch.setattr(SparingEngine, "certify_below", watched)
    for seed in range(4):
        problem = bw.Problem(bw.tasks.Chain(), *chain_data(n=12, seed=seed))
        result = bw.solve(problem, 0.02, "auto", 0.01, random_state=0)
        assert result.is_certified
        assert result.certificate.gap <= 0.01 * problem.unit
        left_alone = bw.solve(problem, 0.02, "bcfw+gap+pairwise", 1e-6, random_state=0)
        assert result.certificate.dual <= left_alone.certificate.primal
        assert result.certificate.primal >= left_alone.certificate.dual
    assert left


# -- a longer w ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def easy():
    """Sequences of which some w has every label right."""
    return bw.Problem(bw.tasks.Chain(), *chain_data(n=10, n_features=20))


@pytest.fixture
def ahead(easy, is_slow):
    """An engine that would ask at a longer w, and find something."""
    engine = engine_of(easy, "auto", 0.01)
    engine.aim = 0.02
    passes(engine, 1)
    assert 1.01 < engine._ahead.length < LONGEST - 0.01
    return engine


def test_a_certificate_at_a_longer_w_is_that_of_its_weights(ahead):
    certificate, w = ahead.certify(), ahead.certified_w
    np.testing.assert_array_equal(w, ahead._ahead.length * ahead.w)
    hinges = stored_hinges(ahead, w)  # (all that a certificate finds is stored)
    primal = 0.5 * ahead.lam * w @ w + ahead.blocks.weight @ hinges
    assert certificate.valid
    assert certificate.primal == pytest.approx(primal, rel=1e-12)
    assert certificate.dual == pytest.approx(ahead.dual(), rel=1e-12)
    total = certificate.block_gaps.sum()
    assert ahead.ledger.total_gap == pytest.approx(total, rel=1e-12)
    apart = w - ahead.w
    assert certificate.gap == pytest.approx(total + 0.5 * ahead.lam * apart @ apart, rel=1e-9)


def check_what_is_known(engine):
    """Nothing was asked since the round: (1)-(3), over stored corners alone."""
    w, known, ell = engine.asked_w, engine._ahead, engine.point.arrays.ell
    hinges = engine.blocks.weight * stored_hinges(engine, w)
    gap = 0.5 * engine.lam * w @ w + hinges.sum() - engine.dual()
    assert known.gap == pytest.approx(gap, rel=1e-9)
    slopes = ell - known.length * (ell - engine.slopes())
    np.testing.assert_allclose(known.gaps, hinges - slopes, atol=1e-12)


def test_what_stored_corners_tell_of_a_longer_w(ahead):
    check_what_is_known(ahead)
    assert ahead._ahead.gap <= MOST_AHEAD * ahead.aim


@pytest.mark.parametrize("is_easy", [True, False])
def test_excess_and_its_drift_are_those_of_the_answers(problem, ahead, is_easy):
    """What an answer is above stored corners, as far as the two are linear in the length."""
    if not is_easy:  # (where the highest stored corners have losses)
        ahead = engine_of(problem, "auto", 0.5)
        passes(ahead, 2)
        found = climb(ahead.point, ahead.ledger.notes.longest, 0, 0.0, always)
        square = ahead.lam * ahead.w @ ahead.w
        ahead._go_ahead(look_ahead(found, ahead.blocks.weight, square, -5.0, 0.02))
        assert ahead._ahead.length > 1.01
        assert ahead._ahead.loss.any()
    before, rows = ahead._ahead, ahead.point.arrays.stock.n_rows.copy()
    found = ahead.certify()
    excess = ahead._excess.copy()
    np.testing.assert_allclose(excess, np.maximum(found.block_gaps - before.gaps, 0.0), atol=1e-14)
    is_new = ahead.point.arrays.stock.n_rows > rows
    np.testing.assert_array_equal(excess > 1e-12, is_new)
    assert is_new.any()
    at = [before.length, before.length + 1e-4]
    above = [_above(ahead, rows, length) for length in at]
    np.testing.assert_allclose(above[0], excess, atol=1e-12)
    np.testing.assert_allclose((above[1] - above[0]) / 1e-4, ahead._drift, atol=1e-7)


def _above(engine, rows, length):
    """How far the corner that was stored last, if it is new, is above those of before."""
    blocks, point, w = engine.blocks, engine.point, length * engine.w
    now = stored_hinges(engine, w)
    after, stock = point.arrays.stock.n_rows, point.arrays.stock
    point.arrays = point.arrays._replace(stock=stock._replace(n_rows=rows))
    before = stored_hinges(engine, w)
    point.arrays = point.arrays._replace(stock=stock._replace(n_rows=after))
    return blocks.weight * (now - before)


@pytest.mark.parametrize("lam", [0.001, 0.01, 0.1])
def test_corners_of_a_start_are_known(ahead, easy, lam):
    """Those of another lambda, too, whose gaps are large."""
    state = replace(ahead.state(), pull=None) if lam < 0.01 else ahead.state()
    engine = engine_of(easy, "auto", lam, state=state)
    engine.aim_at(0.1)
    check_what_is_known(engine)
    excess = np.maximum(engine.certify().block_gaps - engine._ahead.gaps, 0.0)
    np.testing.assert_allclose(engine._excess, excess, atol=1e-14)


def test_a_result_is_certified_again_by_one_pass():
    data = bw.datasets.digit_strings(n_strings=6)
    found = plain(bw.Problem(bw.tasks.Chain(10), data.X, data.Y))
    for lam in (0.1, 0.01, 0.001):
        first = bw.solve(found, lam, "auto", 0.05, random_state=0)
        again = bw.solve(found, lam, "auto", 0.05, random_state=0, start=first.state)
        assert again.is_certified
        assert again.certificate.gap == pytest.approx(first.certificate.gap, rel=1e-9)
        assert (again.counts.oracle_calls, again.counts.certificate_calls) == (0, len(found))
        np.testing.assert_allclose(again.w, first.w, rtol=1e-9, atol=1e-12)


def test_no_file_makes_w_longer_under_bounds(problem, is_slow):
    found = bw.Problem(problem.task, problem.X, problem.Y, bounds=bounded(problem))
    engine = engine_of(found, "auto", LAM)
    passes(engine, 2)
    saved = engine.to_save()
    engine.restore(saved)
    with pytest.raises(Misfit, match="ahead.length is 1.5"):
        engine.restore(saved | {"ahead.length": 1.5})


def test_lengths_are_no_longer_than_pays(ahead):
    """Gap and excess together are least at the length, or the gap is all that it may be."""
    ahead.aim = 0.0
    passes(ahead, 1)
    assert ahead._ahead.length == 1.0
    assert ahead.asked_w is ahead.w
    found = climb(ahead.point, ahead.ledger.notes.longest, 1000, 1e-8, always)
    put(ahead.point, found)
    square = ahead.lam * ahead.w @ ahead.w
    tried = np.linspace(1.0, LONGEST, 1001)
    gaps = np.array([_gap_at(ahead, length) for length in tried])
    for drift, most in [(-0.02, np.inf), (-0.02, 1e-3), (-1.0, np.inf), (0.02, np.inf)]:
        chosen = look_ahead(found, ahead.blocks.weight, square, drift, most)
        allowed = (gaps + drift * tried)[gaps <= most]
        assert chosen.gap + drift * chosen.length <= allowed.min() + 1e-5
        assert chosen.gap <= most
        assert chosen.gap == pytest.approx(_gap_at(ahead, chosen.length), rel=1e-9)


def _gap_at(engine, length):
    w = length * engine.w
    hinges = engine.blocks.weight @ stored_hinges(engine, w)
    return 0.5 * engine.lam * w @ w + hinges - engine.dual()


@pytest.mark.parametrize("point", ["best", "last"])
def test_results_are_certified_at_the_weights_they_return(point):
    data = bw.datasets.digit_strings(n_strings=6)
    found = plain(bw.Problem(bw.tasks.Chain(10), data.X, data.Y))
    result = bw.solve(found, 0.01, "auto", 0.05, random_state=0, point=point)
    assert result.is_certified
    checked = bw.certify(found, result.state, 0.01)
    assert checked.gap == pytest.approx(result.certificate.gap, rel=1e-9)
    own = result.state.v / 0.01
    assert np.allclose(result.w, own, rtol=1e-9) == (point == "last")
    again = bw.solve(found, 0.01, "auto", 0.01, random_state=0, start=result.state)
    assert again.is_certified
    assert again.certificate.dual >= result.certificate.dual - 1e-12


def test_no_acceleration_is_taken_up_from_a_longer_w(ahead, easy):
    """It would be one of strength 1, around a centre that there is not."""
    state = ahead.state()
    assert state.pull is not None
    engine = engine_of(easy, "bcfw+pairwise+cache+catalyst", ahead.lam, state=state)
    assert engine.point.rest is None
    np.testing.assert_allclose(engine.w, ahead.w, atol=1e-12)


def test_under_bounds_no_w_is_made_longer(easy, is_slow):
    wide = np.full(easy.n_features, 1e3)
    found = bw.Problem(easy.task, easy.X, easy.Y, bounds=(-wide, wide))
    engine = engine_of(found, "auto", 0.01)
    engine.aim = 0.02
    passes(engine, 1)
    assert engine._drift.sum() < 0.0
    assert engine._ahead.length == 1.0
