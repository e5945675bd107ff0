"""Where every oracle call counts: rounds between calls, and certificates whose corners are kept."""

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.methods import auto
from blockwolfe.methods.bcfw.sparing import SparingEngine
from blockwolfe.problem.state import rebuild_v
from plain_tasks import Labels
from zoo import bounded, chain_data, enumerated_optimum, multiclass_data, plain

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


def stored_hinges(engine):
    """H_i(w) over stored corners alone, by the heights of parts in w's own scores."""
    blocks, stock, found = engine.blocks, engine.point.arrays.stock, []
    theta, truth = np.zeros(blocks.n_parts), blocks.truth
    lists, at, size = engine.point.lists(np.arange(len(blocks)), with_idle=True)
    for i in range(len(blocks)):
        blocks.features.score(blocks.data, i, engine.w, 1.0, theta)
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


def test_a_run_that_was_cut_anywhere_goes_on_to_the_bit(problem, is_slow):
    whole, cut = (engine_of(problem, "auto", LAM) for _ in range(2))
    for k in range(5):
        passes(whole, 1)
        moments = iter([True] * 3 * k)
        cut.advance(cut.n_blocks, lambda moments=moments: next(moments, False))
        again = engine_of(problem, "auto", LAM, seed=5)
        again.restore(cut.to_save())
        cut = again
        while cut._is_open:
            cut.advance(cut.n_blocks, always)
        if k % 2:
            assert whole.certify().gap == cut.certify().gap
    assert isinstance(whole, SparingEngine)
    assert whole.counts == cut.counts
    np.testing.assert_array_equal(whole.w, cut.w)


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
