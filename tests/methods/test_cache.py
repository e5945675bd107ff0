"""The cache of corners: when it stands in for the oracle, what it may hold, and how it ends."""

import re
from dataclasses import replace

import numpy as np
import pytest

import at_work
import blockwolfe as bw
from at_work import corners_of, mean_of, parts_of
from blockwolfe.dual.growth import live_rows, roomier_stock, stock_bytes
from blockwolfe.dual.stock import least_useful
from blockwolfe.methods.bcfw import engine as block_engine
from blockwolfe.methods.bcfw.planes import Planes
from blockwolfe.problem.state import rebuild_v
from blockwolfe.running.engine import CapTooSmallError
from plain_tasks import Labels
from zoo import PROBLEMS, bounded, multiclass_data

LAM = 0.02
ROUNDING = 1e-12
STEPS = [bw.FW(), bw.Pairwise(), bw.Away(), bw.BestOf(), bw.BlendedPairwise(), bw.Corrective()]


@pytest.fixture(scope="module")
def problems():
    """Each problem once: its functions are compiled a single time."""
    made = {name: PROBLEMS[name]() for name in ("chain-dense", "multiclass-dense", "toy-jitted")}
    python = bw.Problem(Labels(6, 5), *multiclass_data(n=12, n_labels=6, n_features=5))
    return made | {"labels-python": python}


@pytest.fixture
def problem(problems):
    return problems["chain-dense"]


def engine_of(problem, method, lam=LAM):
    """A method at work, one visit to a chunk, so that every visit can be watched."""
    engine = at_work.engine_of(problem, method, lam)
    engine._chunk, engine._adapt_chunk = 1, lambda seconds, n_visits: None
    return engine


def passes(engine, n_passes, watch):
    """Some passes; `watch()` is called before every visit and once at the end of each pass."""

    def before_each_visit():
        watch()
        return True

    for _ in range(n_passes):
        engine.advance(engine.n_blocks, before_each_visit)
        watch()


def name_of(point, row, corner):
    return (float(point.arrays.stock.loss[row]), tuple(sorted(corner.items())))


def stored_gap(engine, i):
    """<w, V_i> - ell_i + H_i(y_c; w) / n for the best stored corner y_c."""
    blocks, point = engine.blocks, engine.point
    mean, corners = mean_of(point, i), corners_of(point, i)
    part = np.array(sorted({p for _, corner in corners for p in corner}), dtype=np.int32)
    theta = np.zeros(blocks.n_parts)
    blocks.features.peek(blocks.data, i, engine.w, part, len(part), theta)
    heights = [
        point.arrays.stock.loss[row] + sum(value * theta[part] for part, value in corner.items())
        for row, corner in corners
    ]
    mean_score = sum(value * theta[part] for part, value in mean.items())
    return blocks.weight[i] * (max(heights) - mean_score) - point.arrays.ell[i]


# -- the hit rule ----------------------------------------------------------------------------


@pytest.mark.parametrize(("F", "nu"), [(0.25, 0.01), (1.0, 0.0), (0.0, 1.0), (0.1, 0.5)])
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-dense", "labels-python"])
def test_a_visit_is_a_hit_exactly_where_the_rule_says(problems, name, F, nu):
    """ghat >= max(F g_i, nu/n g), recomputed from outside before every visit."""
    method = bw.BCFW(sampling=bw.Cyclic(), step=bw.Pairwise(), cache=bw.Cache(F=F, nu=nu))
    n = len(problems[name])
    engine = engine_of(problems[name], method, lam=1 / n)
    ledger, expected, seen = engine.ledger, [], []

    def watch():
        if len(expected) > len(seen):  # a visit has just been made
            seen.append(engine.counts.cache_hits - sum(seen))
            i, stock = (len(seen) - 1) % n, engine.point.arrays.stock
            rows = slice(stock.start[i], stock.start[i] + stock.n_rows[i])
            assert stock.used_at[rows].max() == len(seen) - 1  # the corner moved to is noted
            if seen[-1]:
                assert ledger.gap[i] == last_gap[0]  # a hit leaves the estimate as it was
        if engine._done < len(engine._draws.block):
            i = engine._draws.block[engine._done]
            gap = stored_gap(engine, i)
            threshold = max(F * ledger.gap[i], nu / n * ledger.total_gap)
            is_close = abs(gap - threshold) <= ROUNDING
            expected.append(None if is_close else gap >= threshold > 0.0)
            last_gap[0] = ledger.gap[i]

    last_gap = [np.inf]
    engine.certify()
    for _ in range(4):
        passes(engine, 4, watch)
        engine.certify()
    compared = [(e, s) for e, s in zip(expected, seen, strict=True) if e is not None]
    assert len(seen) == 16 * n
    assert all(is_hit == bool(seen_hit) for is_hit, seen_hit in compared)
    assert {bool(s) for _, s in compared} == {True, False}  # both cases have come up


def test_stricter_rules_hit_less_and_all_agree_within_certificates(problem):
    caches = [bw.Cache(F=0.01, nu=0.0), bw.Cache(), bw.Cache(F=1.0, nu=1.0)]
    results = [
        bw.solve(problem, LAM, bw.BCFW(step=bw.Pairwise(), cache=c), 1e-4, random_state=0)
        for c in (*caches, None)
    ]
    rates = [r.counts.cache_hits / r.counts.visits for r in results]
    assert rates[0] > rates[1] > rates[2] > rates[3] == 0.0
    calls = [r.counts.oracle_calls for r in results]
    assert max(calls[:3]) < calls[3]  # calls were saved ...
    for result in results:  # ... and the answer is the same
        assert result.is_certified
        assert result.counts.visits == result.counts.cache_hits + result.counts.oracle_calls
        gap = max(result.certificate.gap, results[3].certificate.gap)
        assert abs(result.certificate.primal - results[3].certificate.primal) <= gap


def test_oracle_calls_are_counted_as_made():
    """Calls of a Python oracle, counted by itself: those of visits, certificates and the probe."""

    class Counting(Labels):
        calls = 0

        def augmented_decode(self, x, y, w):
            Counting.calls += 1
            return super().augmented_decode(x, y, w)

    problem = bw.Problem(Counting(3, 4), *multiclass_data())
    result = bw.solve(problem, LAM, "bcfw+gap+cache", 1e-2, random_state=0)
    probes = 9 + 10  # three examples at three w, ten for the unit of tolerances
    made = result.counts.oracle_calls + result.counts.certificate_calls
    assert result.counts.cache_hits > 0
    assert Counting.calls == made + probes


@pytest.mark.parametrize("n_visits", [1, 3, 10_000])
def test_the_size_of_chunks_changes_nothing(problems, n_visits, monkeypatch):
    """Chunks are as long as the clock says; the same seed must give the same run all the same."""
    method = bw.BCFW(sampling=bw.GapSampling(), step=bw.Pairwise(), cache=bw.Cache(F=0.01, nu=1.0))
    results = []
    for size in (2, n_visits):
        monkeypatch.setattr(
            block_engine.BlockEngine,
            "_adapt_chunk",
            lambda engine, seconds, n, size=size: setattr(engine, "_chunk", size),
        )
        problem = problems["labels-python"]
        results.append(bw.solve(problem, LAM, method, 0.0, max_passes=9, random_state=0))
    np.testing.assert_array_equal(results[0].w, results[1].w)
    assert results[0].counts == results[1].counts


# -- what a block may hold -------------------------------------------------------------------


def assert_sound(point):
    """Weights of every block are on the simplex and make up its ell; no corner is stored twice.

    What certificates are made of, and v, is what the corners add up to.
    """
    arrays, stock, store = point.arrays, point.arrays.stock, point.store()
    v = rebuild_v(point.blocks, store)
    np.testing.assert_allclose(point.v, v, rtol=0, atol=1e-9 * (1 + abs(v).max()))
    for i in range(len(point.blocks)):
        corners = corners_of(point, i)
        weights = [stock.weight[row] for row, _ in corners]
        losses = [stock.loss[row] for row, _ in corners]
        assert min(weights) >= 0.0
        assert abs(sum(weights) - 1.0) <= ROUNDING
        assert len({name_of(point, row, corner) for row, corner in corners}) == len(corners)
        assert abs(point.blocks.weight[i] * np.dot(weights, losses) - arrays.ell[i]) <= ROUNDING
        span, mean = slice(store.start[i], store.start[i] + store.length[i]), mean_of(point, i)
        wanted = [mean.get(part, 0.0) for part in store.part[span].tolist()]
        np.testing.assert_allclose(store.mean[span], wanted, rtol=0, atol=ROUNDING)
        assert {part for part, value in mean.items() if value} <= set(store.part[span].tolist())


@pytest.mark.parametrize("step", STEPS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize(("name", "cap"), [("chain-dense", 5), ("labels-python", 3)])
def test_caps_hold_at_every_moment_and_active_corners_stay(problems, name, cap, step):
    method = bw.BCFW(sampling=bw.GapSampling(), step=step, cache=bw.Cache(max_corners=cap))
    engine = engine_of(problems[name], method, lam=0.1)
    point, sizes, active = engine.point, [], [{}]

    def watch():
        stock = point.arrays.stock
        sizes.append(stock.n_rows.max())
        assert sizes[-1] <= cap
        assert_sound(point)
        now = {
            (i, name_of(point, row, corner)): stock.weight[row]
            for i in range(len(point.blocks))
            for row, corner in corners_of(point, i)
        }
        gone = set(active[0]) - set(now)
        assert all(active[0][key] == 0.0 for key in gone)  # only idle corners are evicted
        active[0] = now

    try:
        passes(engine, 12, watch)
    except CapTooSmallError:
        stock = point.arrays.stock
        assert (stock.weight[live_rows(stock)] > 0.0).sum() >= cap
    assert max(sizes) == cap  # (the cap was felt)


def test_the_lowest_idle_corner_is_evicted(problem):
    """By the heights of the visit itself."""
    method = bw.BCFW(step=bw.Pairwise(), cache=bw.Cache(F=1.0))
    engine = engine_of(problem, method, lam=0.1)
    passes(engine, 8, lambda: None)
    stock = engine.point.arrays.stock
    n_idle = 0
    for i in range(len(problem)):
        rows = np.arange(stock.start[i], stock.start[i] + stock.n_rows[i])
        idle = rows[stock.weight[rows] == 0.0]
        n_idle += len(idle)
        found = least_useful(stock, i)
        assert found == (idle[np.argmin(stock.height[idle])] if len(idle) else -1)
    assert n_idle > 0


def test_a_result_has_its_active_corners(problem):
    result = bw.solve(problem, LAM, "bcfw+gap+pairwise+cache", 1e-3, random_state=0)
    active, state = result.state.active, result.state
    assert (active.weight > 0.0).all()
    for i in range(len(problem)):
        rows = slice(active.start[i], active.start[i + 1])
        assert abs(active.weight[rows].sum() - 1.0) <= ROUNDING
        mean = np.zeros(problem.blocks.n_parts)
        for row in range(rows.start, rows.stop):
            code = active.code[active.begin[row] : active.begin[row + 1]]
            np.add.at(mean, parts_of(problem.blocks, i, code), active.weight[row])
        own = slice(state.start[i], state.start[i + 1])
        np.testing.assert_allclose(mean[state.part[own]], state.mean[own], rtol=0, atol=ROUNDING)
        mean[state.part[own]] = 0.0
        assert not mean.any()


@pytest.mark.parametrize("is_bounded", [False, True], ids=["free", "bounded"])
def test_cache_full_says_what_it_needs(problem, is_bounded):
    """Follow the remedy, corner by corner, and the run ends certified."""
    if is_bounded:
        problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=bounded(problem))
    cap, caps, result = 2, [], None
    while result is None or result.status is bw.Status.CACHE_FULL:
        method = bw.BCFW(step=bw.BlendedPairwise(), cache=bw.Cache(max_corners=cap))
        result = bw.solve(problem, LAM, method, 1e-3, random_state=0)
        assert_certificate_is_of(problem, result)
        if result.status is bw.Status.CACHE_FULL:
            said = re.search(
                rf"max_corners={cap} .*example (\d+) needs at least (\d+)", result.remedy
            )
            i, needed = int(said[1]), int(said[2])
            counts = np.diff(result.state.active.start)
            assert needed > cap
            assert counts[i] == cap  # it is full of active corners indeed
            caps.append(cap)
            cap = needed
    assert caps
    assert caps[0] == 2
    assert result.is_certified
    free = bw.solve(problem, LAM, tol=1e-3, random_state=0)
    assert abs(free.certificate.primal - result.certificate.primal) <= 1e-3


def assert_certificate_is_of(problem, result):
    """The certificate is that of the returned point, up to its own resolution."""
    again = bw.certify(problem, result.state, LAM, w=result.w)
    rounding = 10 * again.resolution
    assert again.exact
    assert abs(again.primal - result.certificate.primal) <= rounding
    assert abs(again.dual - result.certificate.dual) <= rounding


def test_a_run_that_was_full_can_go_on(problem):
    full = bw.solve(problem, LAM, bw.BCFW(cache=bw.Cache(max_corners=2)), 1e-3, random_state=0)
    assert full.status is bw.Status.CACHE_FULL
    assert full.certificate.gap > 1e-3
    rest = bw.solve(problem, LAM, "bcfw+pairwise+cache", 1e-3, start=full.last_state)
    assert rest.is_certified
    assert rest.trace["dual"][0] >= full.certificate.dual - ROUNDING


def test_a_run_that_was_full_ends_again_without_a_further_pass(problem, tmp_path):
    method = bw.BCFW(cache=bw.Cache(max_corners=2))
    options = {"checkpoint": tmp_path / "run.npz", "random_state": 0}
    first, again = (bw.solve(problem, LAM, method, 1e-3, **options) for _ in range(2))
    assert first.status is again.status is bw.Status.CACHE_FULL
    assert again.counts == first.counts
    assert again.certificate.gap == first.certificate.gap


# -- memory ----------------------------------------------------------------------------------


def allocated(stock):
    """Bytes of all arrays, used or not."""
    return sum(array.nbytes for array in stock) - stock.end.nbytes


def least_bytes(problem):
    with pytest.raises(bw.OptionError, match="max_bytes=1 is too small") as refusal:
        bw.solve(problem, LAM, bw.BCFW(cache=bw.Cache(max_bytes=1)))
    return int(re.search(r"need (\d+) bytes", str(refusal.value))[1])


@pytest.mark.parametrize("factor", [2, 3, 5, 9, 20])
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-dense", "toy-jitted"])
def test_max_bytes_holds_at_every_moment(problems, name, factor):
    cap = factor * least_bytes(problems[name])
    method = bw.BCFW(step=bw.Pairwise(), cache=bw.Cache(max_bytes=cap, F=0.9))
    engine = engine_of(problems[name], method)
    seen, needed = [], None
    try:
        passes(engine, 20, lambda: seen.append(allocated(engine.point.arrays.stock)))
    except CapTooSmallError as full:
        needed = int(re.search(r"at least (\d+) bytes", str(full))[1])
    assert max(seen) <= cap
    assert needed is None or cap < needed < 20 * cap
    assert needed is None or factor < 20  # that is room enough for every active set
    assert_sound(engine.point)


def test_too_few_bytes_are_refused_before_any_work():
    class Untouched(Labels):
        def augmented_decode(self, x, y, w):
            raise AssertionError("the oracle was called")

    problem = bw.Problem(Untouched(3, 4), *multiclass_data())
    needed = least_bytes(problem)
    with pytest.raises(bw.OptionError, match=f"max_bytes={needed - 1} .*need {needed} bytes"):
        bw.solve(problem, LAM, bw.BCFW(cache=bw.Cache(max_bytes=needed - 1)))
    with pytest.raises(AssertionError, match="the oracle was called"):  # enough to begin with
        bw.solve(problem, LAM, bw.BCFW(cache=bw.Cache(max_bytes=needed)))


def test_too_few_bytes_for_the_active_sets_end_the_run_with_its_certificate(problem):
    cap = 2 * least_bytes(problem)
    method = bw.BCFW(cache=bw.Cache(max_bytes=cap))
    result = bw.solve(problem, LAM, method, 1e-4, random_state=0)
    assert result.status is bw.Status.CACHE_FULL
    assert int(re.search(r"need at least (\d+) bytes", result.remedy)[1]) > cap
    assert_certificate_is_of(problem, result)


def corners_with_use(point):
    """Weight and last use of every stored corner."""
    stock = point.arrays.stock
    return {
        (i, name_of(point, row, corner)): (stock.weight[row], stock.used_at[row])
        for i in range(len(point.blocks))
        for row, corner in corners_of(point, i)
    }


def test_the_longest_unused_idle_corners_are_evicted(problem):
    """Cut to a third of its size, a stock keeps all active corners and the idle ones used last."""
    method = bw.BCFW(step=bw.Pairwise(), cache=bw.Cache())
    engine = engine_of(problem, method)
    passes(engine, 15, lambda: None)
    point = engine.point
    before, stock = corners_with_use(point), point.arrays.stock
    rows = live_rows(stock)
    is_idle = stock.weight[rows] == 0.0
    active_size = int(stock.size[rows[~is_idle]].sum())
    idle_size = int(stock.size[rows[is_idle]].sum())
    needed = int(point.code_size.max())
    assert idle_size > 3 * needed
    full = stock._replace(code=stock.code[: stock.end[0]])  # no room is left
    n_rows = int((~is_idle).sum() + len(problem) + is_idle.sum() // 3)
    n_entries = active_size + needed + idle_size // 3
    cap = stock_bytes(len(problem), n_rows, n_entries, per_entry=4)
    point.arrays = point.arrays._replace(stock=roomier_stock(full, point.code_size, cap))
    after = corners_with_use(point)
    assert all(before[key] == after[key] for key in after)
    assert_sound(point)
    gone = set(before) - set(after)
    kept_idle = [used_at for weight, used_at in after.values() if weight == 0.0]
    assert gone
    assert kept_idle
    assert all(before[key][0] == 0.0 for key in gone)
    assert max(before[key][1] for key in gone) <= min(kept_idle)


# -- passes over stored corners ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["chain-dense", "labels-python"])
def test_multi_plane_passes_save_calls_and_lose_nothing(problems, name):
    lam, n = 0.1, len(problems[name])
    result = bw.solve(problems[name], lam, "bcfw+pairwise+multiplane", 1e-2, random_state=0)
    counts, trace = result.counts, result.trace
    assert result.is_certified
    assert counts.visits == counts.cache_hits + counts.oracle_calls
    assert 0 < counts.oracle_calls < counts.visits
    assert (np.diff(trace["dual"]) >= -1e-14).all()
    # a pass calls every oracle or none
    assert set(np.diff(trace["oracle_calls"]).tolist()) == {0, n}
    reference = bw.solve(problems[name], lam, "bcfw", 1e-2, random_state=0).certificate
    gap = max(result.certificate.gap, reference.gap)
    assert abs(result.certificate.primal - reference.primal) <= gap


def test_passes_over_stored_corners_go_on_while_they_gain_more_for_their_work(problem):
    planes = Planes(problem.blocks)
    assert not planes.prefers_stock()  # nothing is stored yet
    planes.note(is_stock=False, gain=10.0, work=10.0)
    assert planes.prefers_stock()  # tried at least once after each pass of oracle calls
    planes.note(is_stock=True, gain=4.0, work=2.0)  # 2 a step; 14/12 since the oracle pass
    assert planes.prefers_stock()
    planes.note(is_stock=True, gain=1.0, work=2.0)  # 1/2 a step; 15/14
    assert not planes.prefers_stock()
    planes.note(is_stock=False, gain=1.0, work=10.0)  # counted from here anew
    planes.note(is_stock=True, gain=0.4, work=2.0)  # 0.2 a step; 1.4/12
    assert planes.prefers_stock()


def test_work_of_a_pass_is_counted(problem):
    """An oracle call takes its steps; a visit some, and more the more corners are stored."""
    engine = engine_of(problem, "bcfw+pairwise+multiplane", LAM)
    planes, counts, noted = Planes(problem.blocks), engine.counts, []
    planes.note = lambda is_stock, gain, work: noted.append((is_stock, gain, work))
    n_parts = len(problem.blocks.truth.part) / len(problem)
    planes.begin(1.0, replace(counts, visits=10, oracle_calls=5))
    planes.end(False, 3.5, replace(counts, visits=14, oracle_calls=6), engine.point)
    per_visit = 2000.0 + 50.0 * n_parts  # (one corner is stored for each block)
    assert noted == [(False, 2.5, 4 * per_visit + problem.blocks.n_steps)]


# -- options -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["F", "nu"])
@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan, np.inf, "0.5", None, True])
def test_shares_outside_zero_to_one_are_refused(name, value):
    with pytest.raises(bw.OptionError, match=rf"^{name}=.* between 0 and 1"):
        bw.Cache(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_corners", 1),
        ("max_corners", 0),
        ("max_corners", 2.0),
        ("max_corners", True),
        ("max_corners", "5"),
        ("max_bytes", 0),
        ("max_bytes", 1e6),
        ("multi_plane", 1),
        ("multi_plane", None),
    ],
)
def test_other_wrong_options_are_refused_by_name(name, value):
    with pytest.raises(bw.OptionError, match=f"^{name}="):
        bw.Cache(**{name: value})


def test_a_cache_must_be_a_cache():
    with pytest.raises(bw.OptionError, match="^cache=True .*Cache"):
        bw.BCFW(cache=True)


def test_visits_are_hits_or_calls_in_every_row(problem):
    result = bw.solve(problem, LAM, "bcfw+gap+cache+averaging", 0.0, max_passes=12, random_state=0)
    trace = result.trace
    np.testing.assert_array_equal(trace["visits"], trace["cache_hits"] + trace["oracle_calls"])
    assert trace["visits"][-1] == result.counts.visits >= 12 * len(problem)


def test_batches_have_no_meaning_with_a_cache():
    with pytest.raises(bw.OptionError, match="batch_size=10 with a cache"):
        bw.BCFW(cache=bw.Cache(), batch_size=10)


def test_rows_that_were_told_are_kept_when_the_cache_is_full():
    problem = bw.Problem(Labels(6, 5), *multiclass_data(n=40, n_labels=6, n_features=5))
    method = bw.BCFW(cache=bw.Cache(max_bytes=2 * least_bytes(problem)), certify_every=1)
    told = []
    result = bw.solve(
        problem, LAM, method, 1e-6, random_state=0, callbacks=lambda e: told.append(e.row.visits)
    )
    assert result.status is bw.Status.CACHE_FULL
    visits = [row.visits for row in result.trace]
    assert visits[:-1] == told
    assert visits[-1] > told[-1]
