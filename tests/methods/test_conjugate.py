"""Rounds of conjugate gradients in a run: options, counts, checkpoints, threads, `auto`."""

import signal
import time
from dataclasses import replace

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.base import compiled
from blockwolfe.errors import InputError, OptionError
from blockwolfe.methods import auto
from blockwolfe.methods.bcfw import conjugate as rounds_of_run
from blockwolfe.methods.bcfw import engine as engine_module
from blockwolfe.running.clock import Clock
from plain_tasks import Labels
from zoo import chain_data, multiclass_data

LAM = 0.02
OFTEN = bw.Conjugate(every=1, n_iterations=10)
METHOD = bw.BCFW(sampling=bw.GapSampling(), step=bw.Pairwise(), cache=bw.Cache(), conjugate=OFTEN)


@pytest.fixture(scope="module")
def problem():
    return bw.Problem(bw.tasks.Chain(), *chain_data(n=10))


@pytest.mark.parametrize("name", ["every", "n_iterations"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "2", None, True, np.nan])
def test_bad_settings_are_refused(name, value):
    with pytest.raises(OptionError, match=name):
        bw.Conjugate(**{name: value})


@pytest.mark.parametrize("value", [-1.0, "2", None, np.nan])
def test_bad_patience_is_refused(value):
    with pytest.raises(OptionError, match="patience"):
        bw.Conjugate(patience=value)


def test_options_that_do_not_go_together_are_refused():
    with pytest.raises((OptionError, InputError), match=r"conjugate.*Conjugate\(\)"):
        bw.BCFW(conjugate=3)
    with pytest.raises(OptionError, match="averaging=True"):
        bw.BCFW(conjugate=OFTEN, averaging=True)
    X, Y = chain_data(n=4)
    kernel = bw.Problem(bw.tasks.Chain(kernel="rbf"), X, Y)
    with pytest.raises(OptionError, match="kernel"):
        bw.solve(kernel, LAM, METHOD)


def test_sweeps_are_counted_and_limit_passes(problem):
    plain = bw.solve(problem, LAM, "bcfw+gap+pairwise+cache", 1e-6, max_passes=8, random_state=0)
    found = bw.solve(problem, LAM, METHOD, 1e-9, max_passes=8, random_state=0)
    assert plain.counts.sweeps == 0
    assert found.counts.sweeps > 0
    counts, n = found.counts, len(problem)
    assert found.status is bw.Status.MAX_PASSES
    passes = found.trace[-1].passes - 0.8 * counts.cache_hits / n + counts.sweeps / 5.0
    assert 8.0 <= passes < 8.0 + 1.0 + OFTEN.n_iterations / 5.0
    assert counts.visits == counts.oracle_calls + counts.cache_hits


def test_the_dual_never_falls_in_a_run(problem):
    found = bw.solve(problem, LAM, METHOD, 1e-7, random_state=0)
    assert found.is_certified
    duals = np.array([row.dual for row in found.trace])
    assert (np.diff(duals) >= -1e-14).all()
    best = bw.solve(problem, LAM, "bcfw+pairwise", 1e-8, random_state=1).certificate
    assert found.certificate.dual <= best.primal
    assert found.certificate.primal >= best.dual


def test_rounds_are_made_when_due_and_left_whole(problem):
    """A round that may not go on is made first when the run does, before any visit."""
    engine = engine_of(problem, METHOD, LAM)
    n, visits = len(problem), engine.ledger.counts
    n_made = 0
    while not engine._has_due_round:
        n_made += n
        # (no moment is left after the visits)
        engine.advance(n, lambda n_made=n_made: int(visits.visits) < n_made)
    assert (int(visits.visits), engine.counts.sweeps) == (n_made, 0)
    engine.advance(n, lambda: True)
    assert int(visits.visits) == n_made
    assert engine.counts.sweeps > 0


def test_rounds_wait_for_as_much_work_and_longer_where_they_gain_less(problem):
    engine = engine_of(problem, METHOD, LAM)
    rounds, n = engine._rounds, len(problem)
    assert rounds._wait == 1.0
    waits, n_sweeps = [], 0
    for _ in range(60):
        engine.advance(n, lambda: True)
        if rounds.n_sweeps > n_sweeps:
            waits.append(rounds._wait)
            n_sweeps = rounds.n_sweeps
    assert waits[0] == 1.0  # nothing to compare with yet
    ratios = np.divide(waits[1:], waits[:-1])
    assert set(ratios) <= {0.5, 1.0, 2.0}
    assert (ratios != 1.0).any()
    costly, cost = rounds._cost._replace(n_weights=10**9), rounds._cost
    rounds._wait = 1.0
    assert costly.of_sweeps(1, 1.0) > 1e3 * cost.of_sweeps(1, 1.0)
    rounds._cost = costly
    assert not rounds.is_due(OFTEN, engine.point, engine.ledger)


@pytest.mark.parametrize("every", [1, 3, 6])
def test_the_first_round_comes_after_so_many_passes(problem, every):
    rule = bw.Conjugate(every, n_iterations=1)  # (of less work than a pass)
    engine = engine_of(problem, replace(METHOD, conjugate=rule), LAM)
    n_passes = 0
    while engine.counts.sweeps == 0:
        engine.advance(len(problem), lambda: True)
        n_passes += 1
    assert n_passes == every


@pytest.mark.parametrize("is_slow", [False, True])
def test_rounds_begin_when_passes_are_slow(problem, is_slow):
    """Passes here take the work of three rounds to halve the gap, or of one."""
    rule = bw.Conjugate(1, n_iterations=10, patience=2.0)
    engine = engine_of(problem, replace(METHOD, conjugate=rule), LAM)
    rounds, ledger, n = engine._rounds, engine.ledger, len(problem)
    engine._make_pass(n, lambda: True)
    ledger.total_gap = 1.0
    assert not engine._has_due_round  # (one certificate says nothing of how fast passes are)
    before, n_stored = (ledger.visits, ledger.oracle_calls), engine.point.n_stored
    a_round = lambda: rounds._cost.of_sweeps(rule.n_iterations, n_stored())  # noqa: E731
    n_rounds = 0.0
    while n_rounds < 3.0:
        engine._make_pass(n, lambda: True)
        assert not engine._has_due_round  # (nor does none)
        made = ledger.visits - before[0], ledger.oracle_calls - before[1]
        n_rounds = rounds._cost.of_passes(*made, n_stored()) / a_round()
    ledger.total_gap = 0.5 if is_slow else 0.5**n_rounds
    again = engine_of(problem, replace(METHOD, conjugate=rule), LAM)
    again.restore(engine.to_save())
    assert engine._has_due_round is again._has_due_round is is_slow
    ledger.total_gap = 0.0  # (once begun they go on)
    assert engine._has_due_round is is_slow


def test_a_round_is_made_and_known_to_be_made_or_neither(problem, monkeypatch):
    """Ctrl-C just after the point has moved comes after all is written down."""
    engine, put = engine_of(problem, METHOD, LAM), rounds_of_run.put

    def interrupted(*args):
        put(*args)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(rounds_of_run, "put", interrupted)
    while not engine._has_due_round:
        engine._make_pass(len(problem), lambda: True)
    with pytest.raises(KeyboardInterrupt):
        engine.advance(len(problem), lambda: True)
    assert engine.counts.sweeps > 0
    assert not engine._has_due_round


@pytest.mark.parametrize("method", [METHOD, "auto"])
@pytest.mark.parametrize("bounds", [None, (-0.3, 0.4)])
def test_what_rounds_run_is_compiled_when_the_first_is_due(method, bounds, monkeypatch):
    """Not before, for a run that makes none; and apart from the run, whose clock leaves it out."""
    problem = bw.Problem(bw.tasks.Chain(), *chain_data(n=10), bounds=bounds)
    known = {}
    monkeypatch.setattr(compiled, "_entry_points", known)
    monkeypatch.setattr(auto, "ROUNDS", bw.Conjugate())  # (soon)
    engine = engine_of(problem, method, LAM)
    prepare, before, ready = engine_module.prepare_rounds, set(known), []

    def watched(point):
        assert set(known) == before
        prepare(point)
        time.sleep(0.2)  # (as if that took long)
        ready.append(set(known))

    monkeypatch.setattr(engine_module, "prepare_rounds", watched)
    began, clock = time.perf_counter(), Clock()
    while engine.counts.sweeps == 0:
        engine.advance(len(problem), lambda: True)
    assert len(ready) == 1
    assert ready[0] > before
    assert set(known) == ready[0]
    assert clock() <= time.perf_counter() - began - 0.2


CAPS = [bw.Cache(max_corners=12), bw.Cache(max_bytes=100_000)]


@pytest.mark.parametrize("cache", CAPS)
def test_with_a_cap_rounds_leave_idle_corners_idle(problem, cache, monkeypatch):
    engine, put = engine_of(problem, replace(METHOD, cache=cache), LAM), rounds_of_run.put
    n_idle = []

    def watched(point, found):
        was_idle = point.arrays.stock.weight == 0.0
        put(point, found)
        stock = point.arrays.stock
        assert not (stock.weight[was_idle] > 0.0).any()
        n_idle.append(int(stock.n_rows.sum()) - int((stock.weight > 0.0).sum()))

    monkeypatch.setattr(rounds_of_run, "put", watched)
    for _ in range(40):
        engine.advance(len(problem), lambda: True)
    assert engine.counts.sweeps > 0
    assert max(n_idle) > 0


def test_with_a_cap_on_memory_a_round_keeps_within_it_or_is_left_out(problem):
    counts = []
    for max_bytes in (9_000, 1_000_000):
        method = replace(METHOD, cache=bw.Cache(max_bytes=max_bytes))
        found = bw.solve(problem, LAM, method, 1e-3, max_passes=30, random_state=0)
        counts.append(found.counts.sweeps)
        assert found.certificate.valid
    assert counts[0] == 0
    assert counts[1] > 0


def test_a_run_that_was_cut_in_a_round_goes_on_to_the_bit(problem):
    whole, cut = (engine_of(problem, METHOD, LAM) for _ in range(2))
    n = len(problem)
    for _ in range(6):
        whole.advance(n, lambda: True)
    for k in range(6):
        moments = iter([True] * (n + k))
        cut.advance(n, lambda moments=moments: next(moments, False))
        again = engine_of(problem, METHOD, LAM, seed=5)
        again.restore(cut.to_save())
        cut = again
        while cut._is_open or cut._has_due_round:
            cut.advance(n, lambda: True)
    assert whole.counts == cut.counts
    np.testing.assert_array_equal(whole.w, cut.w)
    np.testing.assert_array_equal(
        whole.point.arrays.stock.weight[: whole.point.arrays.stock.n_rows.sum()],
        cut.point.arrays.stock.weight[: cut.point.arrays.stock.n_rows.sum()],
    )


def test_threads_change_nothing(problem):
    one, two = (bw.solve(problem, LAM, METHOD, 1e-4, random_state=0, n_jobs=k) for k in (1, 2))
    np.testing.assert_array_equal(one.w, two.w)
    assert one.counts == two.counts


def test_bad_files_are_refused(problem):
    engine = engine_of(problem, METHOD, LAM)
    whole = [1, 2, 0.5, 10, 3, True, 0.1, 5, 2]
    wrong = (-1, 0, "a", -2, -1, 1, "a", -1, 0.5)
    broken = [[*whole[:k], value, *whole[k + 1 :]] for k, value in enumerate(wrong)]
    for rounds in (None, [1], *broken):
        with pytest.raises(Exception, match="rounds"):
            engine_of(problem, METHOD, LAM).restore(engine.to_save() | {"rounds": rounds})


def test_auto_has_rounds_where_calls_are_expensive(problem):
    found = bw.solve(problem, LAM, "auto", 1e-6, random_state=0)
    assert isinstance(found.method.conjugate, bw.Conjugate)
    assert "conjugate gradients" in found.note
    python = bw.Problem(Labels(3, 4), *multiclass_data(n=8))
    often = bw.solve(python, LAM, "auto", 1e-3, random_state=0)
    assert often.method.conjugate.every < found.method.conjugate.every
    assert often.counts.sweeps > 0
    averaged = bw.solve(problem, LAM, "auto+averaging", 0.1, random_state=0)
    assert averaged.method.conjugate is None
    cheap = bw.Problem(bw.tasks.Multiclass(), *multiclass_data(n=8))
    assert bw.solve(cheap, LAM, "auto", 1e-3, random_state=0).method.conjugate is None
