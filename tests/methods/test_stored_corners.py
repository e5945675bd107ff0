"""Corners as they are stored: codes of outputs, what they add up to, and which of them are dropped."""

import numpy as np
import pytest

import blockwolfe as bw
from at_work import corners_of, engine_of, mean_of, parts_of
from blockwolfe.base.ragged import entries
from blockwolfe.dual.growth import live_rows
from blockwolfe.dual.point import PATIENCE, DualPoint
from blockwolfe.dual.stock import Stock, drop_idle, insert_corner
from blockwolfe.problem.state import rebuild_v
from blockwolfe.problem.workers import Workers
from zoo import PROBLEMS, chain_data

LAM = 0.02
CACHED = bw.BCFW(step=bw.Pairwise(), cache=bw.Cache())
SOME = ["chain-dense", "multiclass-sparse", "tree", "matching", "toy-jitted", "chain-python"]


def after_passes(problem, method, n_passes=4 * PATIENCE):
    """A method after some passes, with no certificate between them."""
    engine = engine_of(problem, method, LAM)
    for _ in range(n_passes):
        engine.advance(len(problem), lambda: True)
    return engine


def named_corners(point):
    """Every stored corner as (block, loss, parts with values), with its weight and last use."""
    stock, found = point.arrays.stock, {}
    for i in range(len(point.blocks)):
        for row, corner in corners_of(point, i):
            name = (i, float(stock.loss[row]), *sorted(corner.items()))
            found[name] = (stock.weight[row], stock.used_at[row])
    return found


def assert_means(point, store):
    """A store holds the means of the stored corners, true parts in front."""
    truth = point.blocks.truth
    for i in range(len(point.blocks)):
        own = slice(store.start[i], store.start[i] + store.length[i])
        part, wanted = store.part[own], mean_of(point, i)
        assert len(set(part.tolist())) == len(part)
        np.testing.assert_allclose(
            store.mean[own], [wanted.pop(p, 0.0) for p in part.tolist()], rtol=0, atol=1e-12
        )
        assert not any(wanted.values())
        true = truth.part[truth.start[i] : truth.start[i + 1]]
        np.testing.assert_array_equal(part[: len(true)], true)


# -- what corners add up to -------------------------------------------------------------------


@pytest.mark.parametrize("step", [bw.Pairwise(), bw.Away(), bw.BestOf(), bw.Corrective()])
@pytest.mark.parametrize("name", SOME)
def test_corners_make_up_means_ell_and_v(name, step):
    engine = after_passes(PROBLEMS[name](), bw.BCFW(step=step, cache=bw.Cache()), n_passes=7)
    point, stock = engine.point, engine.point.arrays.stock
    store = point.store()
    assert_means(point, store)
    for i in range(len(point.blocks)):
        rows = slice(stock.start[i], stock.start[i] + stock.n_rows[i])
        loss = point.blocks.weight[i] * np.dot(stock.weight[rows], stock.loss[rows])
        assert point.arrays.ell[i] == pytest.approx(loss, abs=1e-12)
    v = rebuild_v(point.blocks, store)
    np.testing.assert_allclose(point.v, v, rtol=0, atol=1e-10 * (1 + abs(v).max()))


def test_means_of_some_blocks_are_those_of_all():
    """What a batch asks for: no time goes to the other blocks."""
    point = after_passes(PROBLEMS["chain-dense"](), CACHED, n_passes=7).point
    every, order = point.store(), np.array([1, 4, 6])
    some = point.store(order=order)
    assert some.length.sum() == every.length[order].sum()
    for i in order:
        one = slice(every.start[i], every.start[i] + every.length[i])
        other = slice(some.start[i], some.start[i] + some.length[i])
        np.testing.assert_array_equal(some.part[other], every.part[one])
        np.testing.assert_array_equal(some.mean[other], every.mean[one])


@pytest.mark.parametrize("is_uncoded", [False, True])
@pytest.mark.parametrize("averaging", [False, True])
def test_means_are_the_same_whoever_adds_them_up(is_uncoded, averaging):
    """Many blocks, more threads than cores: sharing scratch would mix their means up."""
    data = bw.datasets.synthetic_chains(800, n_labels=5, n_features=10, random_state=0)
    problem = bw.Problem(bw.tasks.Chain(5), data.X, data.Y)
    method, before = bw.BCFW(step=bw.Pairwise(), averaging=averaging), None
    if is_uncoded:  # (mixtures of outputs, which have no code)
        before = bw.solve(problem, LAM, "bcfw", 0.0, max_passes=2, random_state=0).last_state
    engine = engine_of(problem, method, LAM, state=before)
    for _ in range(3):
        engine.advance(len(problem), lambda: True)
    point, n, order = engine.point, engine.counts.visits * averaging, np.arange(1, 800, 3)
    assert point.is_coded != is_uncoded
    alone, some = point.store(n), point.store(n, order)
    with Workers(problem.blocks, 8) as workers:
        for _ in range(10):
            assert_same_means(point.store(n, workers=workers), alone)
            assert_same_means(point.store(n, order, workers), some)


def assert_same_means(one, other):
    """To the bit, and in the same places."""
    taken = entries(one.start, one.length)
    for name in ("start", "length", "ell"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("part", "mean"):
        np.testing.assert_array_equal(getattr(one, name)[taken], getattr(other, name)[taken])


@pytest.mark.parametrize("name", ["chain-dense", "chain-masked", "multiclass-costs", "tree"])
def test_codes_unpack_to_the_parts_they_came_from(name):
    problem = PROBLEMS[name]()
    blocks, codes, true = problem.blocks, problem.blocks.true_codes, problem.blocks.true_corners
    for i in range(len(problem)):
        code = codes.code[codes.start[i] : codes.start[i + 1]]
        parts = sorted(parts_of(blocks, i, code).tolist())
        assert parts == sorted(true.part[true.start[i] : true.start[i + 1]].tolist())


# -- states taken up ---------------------------------------------------------------------------


def mixed_problem():
    """Means of many outputs, which have several times the parts of any one of them."""
    return bw.Problem(bw.tasks.Chain(6), *chain_data(n=6, n_labels=6, n_features=3, longest=6))


@pytest.mark.parametrize("averaging", [False, True])
@pytest.mark.parametrize("make", [mixed_problem, *(PROBLEMS[name] for name in SOME)])
def test_a_state_of_means_is_taken_up_as_a_corner_per_block(make, averaging):
    problem = make()
    before = bw.solve(problem, LAM, "bcfw", 0.0, max_passes=60, random_state=0)
    state = before.last_state
    assert state.active is None
    point = DualPoint(problem.blocks, state, LAM, averaging, keeps_corners=True)
    assert (point.arrays.stock.n_rows == 1).all()
    assert_means(point, point.store())
    np.testing.assert_allclose(point.state().v, state.v, rtol=0, atol=1e-12)
    method = bw.BCFW(step=bw.Pairwise(), averaging=averaging, certify_every=1)
    after = bw.solve(problem, LAM, method, 1e-4, start=state, max_passes=200, random_state=0)
    assert after.trace["dual"][0] == pytest.approx(before.certificate.dual, abs=1e-12)
    assert after.certificate.primal >= before.certificate.dual
    assert after.certificate.gap < before.certificate.gap
    again = bw.certify(problem, after.state, LAM, w=after.w)
    assert again.gap == pytest.approx(after.certificate.gap, abs=1e-10)


def test_a_mixture_has_more_parts_than_any_output():
    """(else the test above would say little)"""
    problem = mixed_problem()
    state = bw.solve(problem, LAM, "bcfw", 0.0, max_passes=60, random_state=0).last_state
    n_true = np.diff(problem.blocks.truth.start)
    assert (np.diff(state.start) > n_true + problem.blocks.part_size).any()


# -- averaging ---------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [bw.Pairwise(), bw.BestOf(), bw.Corrective()])
@pytest.mark.parametrize("name", SOME)
def test_the_lag_of_corners_gives_the_average_of_all_visits(name, step):
    """2/(k(k+1)) sum j x_j, from v and ell after every single visit."""
    problem = PROBLEMS[name]()
    engine = engine_of(problem, bw.BCFW(step=step, cache=bw.Cache(), averaging=True), LAM)
    engine._chunk, engine._adapt_chunk = 1, lambda seconds, n_visits: None
    v, ell = np.zeros(problem.n_features), np.zeros(len(problem))

    def watch():
        k = engine.counts.visits
        if k:
            share = 2.0 / (k + 1.0)  # (of the newest in the average)
            v[:] += share * (engine.point.v - v)
            ell[:] += share * (engine.point.arrays.ell - ell)
        return True

    for _ in range(5):
        engine.advance(len(problem), watch)
    watch()
    average = engine.point.store(engine.counts.visits)
    found = rebuild_v(problem.blocks, average)
    np.testing.assert_allclose(found, v, rtol=0, atol=1e-10 * (1 + abs(v).max()))
    np.testing.assert_allclose(average.ell, ell, rtol=0, atol=1e-12)


def test_many_steps_of_a_visit_do_not_outgrow_the_room_for_the_lag():
    """Idle corners whose parts the block has not met yet, each the best one after the last step."""
    problem = mixed_problem()
    method = bw.BCFW(bw.Cyclic(), bw.Corrective(share=0.0), cache=bw.Cache(), averaging=True)
    engine = engine_of(problem, method, 1e-4)
    point, rng, i = engine.point, np.random.default_rng(0), 5
    for k in range(8):
        point.make_room()
        code = rng.integers(6, size=point.code_size[i]).astype(np.int32)
        insert_corner(point.arrays.stock, i, code, np.zeros(0), len(code), 9.0 + k)
    means = point.arrays.means
    before = int(means.length[i])
    assert means.capacity[i] - before < 3 * point.blocks.part_size[i]
    engine.advance(i + 1, lambda: True)
    means = point.arrays.means
    assert means.length[i] > before  # (they were met)
    assert engine.counts.steps > i + 1
    assert (means.length <= means.capacity).all()


# -- what is of no use -------------------------------------------------------------------------


@pytest.mark.parametrize("averaging", [False, True])
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-sparse", "tree", "chain-python"])
def test_the_point_stays_and_what_is_of_no_use_goes(name, averaging):
    method = bw.BCFW(step=bw.Pairwise(), cache=bw.Cache(), averaging=averaging)
    engine = after_passes(PROBLEMS[name](), method)
    point, last_visit = engine.point, engine.ledger.notes.last_visit
    n_averaged = (0, engine.counts.visits if averaging else 0)
    points = [(rebuild_v(point.blocks, point.store(n)), point.store(n).ell) for n in n_averaged]
    before = named_corners(point)
    point.tidy(last_visit)
    after = named_corners(point)
    for (v, ell), n in zip(points, n_averaged, strict=True):
        np.testing.assert_allclose(rebuild_v(point.blocks, point.store(n)), v, atol=1e-12)
        np.testing.assert_allclose(point.store(n).ell, ell, atol=1e-12)
    oldest = last_visit - PATIENCE * len(point.blocks)
    wanted = {c for c, (weight, used) in before.items() if weight > 0.0 or used >= oldest[c[0]]}
    assert set(after) == wanted
    assert len(wanted) < len(before)  # (else nothing was tested)


def test_what_is_in_use_stays():
    engine = after_passes(PROBLEMS["chain-dense"](), CACHED, n_passes=PATIENCE // 2)
    n_rows = len(live_rows(engine.point.arrays.stock))
    engine.point.tidy(engine.ledger.notes.last_visit)
    assert len(live_rows(engine.point.arrays.stock)) == n_rows


def test_codes_of_dropped_corners_are_packed_away():
    """When room is made; the corners that are left are the same."""
    engine = after_passes(PROBLEMS["chain-dense"](), CACHED)
    point = engine.point
    point.tidy(engine.ledger.notes.last_visit)
    before, stock = named_corners(point), point.arrays.stock
    used = stock.size[live_rows(stock)].sum()
    assert stock.end[0] > used
    point.arrays = point.arrays._replace(stock=stock._replace(code=stock.code[: stock.end[0]]))
    point.make_room()
    assert point.arrays.stock.end[0] == used
    assert named_corners(point) == before


def test_one_block_by_hand():
    """Idle corners older than asked for go, and the last row takes the place of one that goes."""

    def array(*numbers, dtype=None):
        return np.array(numbers, dtype=dtype)

    stock = Stock(
        start=array(0),
        n_rows=array(4),
        capacity=array(4),
        weight=array(0.25, 0.0, 0.0, 0.75),
        loss=array(1.0, 2.0, 3.0, 4.0),
        height=array(5.0, 6.0, 7.0, 8.0),
        used_at=array(0, 0, 3, 0),
        begin=array(0, 1, 3, 4),
        size=array(1, 2, 1, 2),
        code=array(3, 1, 2, 5, 6, 7, dtype=np.int32),
        value=np.zeros(0),
        end=array(6),
    )
    drop_idle(stock, 0, 3)
    assert stock.n_rows[0] == 3
    assert stock.loss[:3].tolist() == [1.0, 4.0, 3.0]
    assert stock.weight[:3].tolist() == [0.25, 0.75, 0.0]
    assert stock.height[:3].tolist() == [5.0, 8.0, 7.0]
    assert stock.used_at[:3].tolist() == [0, 0, 3]
    assert stock.begin[:3].tolist() == [0, 4, 3]
    assert stock.size[:3].tolist() == [1, 2, 1]
