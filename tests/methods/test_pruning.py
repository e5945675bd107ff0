"""Corners and parts out of use are dropped at certificates; the point they make up stays."""

import numpy as np
import pytest
from blockwolfe.dual.corners import Stock
from blockwolfe.dual.pruning import PATIENCE, prune
from blockwolfe.methods.engines import make_engine

import blockwolfe as bw
from blockwolfe.dual.growth import Pool, live_rows
from blockwolfe.problem.state import rebuild_v
from blockwolfe.problem.workers import Workers
from zoo import PROBLEMS

LAM = 0.02
CACHED = bw.BCFW(step=bw.Pairwise(), cache=bw.Cache())


def run_of(problem, method, n_passes=4 * PATIENCE):
    """A run after some passes, with no certificate between them."""
    blocks, rng = problem.blocks, np.random.default_rng(0)
    engine = make_engine(method, blocks, problem.initial_state(), LAM, rng, Workers(blocks, 1))
    engine.prepare()
    for _ in range(n_passes):
        engine.advance(len(blocks), lambda: True)
    return engine.run


def corners_of(run):
    """Every stored corner as (block, loss, parts with values), with its weight and last use."""
    stock, pool, found = run.stock, run.pool, {}
    for i in range(len(run.blocks)):
        for row in range(stock.start[i], stock.start[i] + stock.n_rows[i]):
            at = slice(stock.begin[row], stock.begin[row] + stock.size[row])
            parts = pool.part[pool.start[i] + stock.slot[at]]
            value = stock.value[at] if len(stock.value) else np.ones(len(parts))
            name = (i, stock.loss[row], *zip(parts.tolist(), value.tolist(), strict=True))
            found[name] = (stock.weight[row], stock.used_at[row])
    return found


@pytest.mark.parametrize("averaging", [False, True])
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-sparse", "tree", "chain-python"])
def test_the_point_stays_and_what_is_of_no_use_goes(name, averaging):
    run = run_of(
        PROBLEMS[name](), bw.BCFW(step=bw.Pairwise(), cache=bw.Cache(), averaging=averaging)
    )
    points = [(rebuild_v(run.blocks, run.store(a)), run.store(a).ell) for a in (False, averaging)]
    before, n_parts = corners_of(run), run.pool.length.sum()
    run.tidy()
    after = corners_of(run)
    for (v, ell), a in zip(points, (False, averaging), strict=True):
        np.testing.assert_allclose(rebuild_v(run.blocks, run.store(a)), v, atol=1e-12)
        np.testing.assert_allclose(run.store(a).ell, ell, atol=1e-12)
    oldest = run.last_visit - PATIENCE * len(run.blocks)
    wanted = {c for c, (weight, used) in before.items() if weight > 0.0 or used >= oldest[c[0]]}
    assert set(after) == wanted
    assert len(wanted) < len(before)  # (else nothing was tested)
    assert run.pool.length.sum() <= n_parts


def test_parts_of_no_corner_go_and_true_ones_stay_in_front():
    run = run_of(PROBLEMS["chain-dense"](), CACHED)
    n_parts = run.pool.length.sum()
    run.tidy()
    pool, stock, truth = run.pool, run.stock, run.blocks.truth
    assert pool.length.sum() < n_parts
    for i in range(len(run.blocks)):
        rows = range(stock.start[i], stock.start[i] + stock.n_rows[i])
        slots = [stock.slot[stock.begin[r] : stock.begin[r] + stock.size[r]] for r in rows]
        n_true = truth.start[i + 1] - truth.start[i]
        assert set(range(pool.length[i])) == set(range(n_true)) | set(
            np.concatenate(slots).tolist()
        )
        own = pool.part[pool.start[i] : pool.start[i] + n_true]
        np.testing.assert_array_equal(own, truth.part[truth.start[i] : truth.start[i + 1]])


def test_what_is_in_use_stays():
    run = run_of(PROBLEMS["chain-dense"](), CACHED, n_passes=PATIENCE // 2)
    n_rows = len(live_rows(run.stock))
    run.tidy()
    assert len(live_rows(run.stock)) == n_rows


def test_one_block_by_hand():
    """True parts stay though no corner has them, parts with a lag though their mean is zero."""

    def array(*numbers, dtype=None):
        return np.array(numbers, dtype=dtype)

    part, mean = array(7, 9, 4, 5, 6, 3), array(0.0, 0.0, 0.0, 0.25, 0.0, 0.75)
    lag_mean = array(0.0, 0.0, 0.0, 1.0, 2.0, 3.0)
    pool = Pool(array(0), array(6), array(6), part, mean, lag_mean)
    stock = Stock(
        start=array(0),
        n_rows=array(3),
        capacity=array(3),
        weight=array(0.25, 0.0, 0.75),
        loss=array(1.0, 2.0, 3.0),
        height=np.zeros(3),
        used_at=array(0, 0, 0),
        begin=array(0, 1, 3),
        size=array(1, 2, 1),
        slot=array(3, 1, 2, 5, dtype=np.int32),
        value=np.zeros(0),
        end=array(4),
    )
    prune(pool, stock, array(0, 2), last_visit=array(PATIENCE + 1))
    length = pool.length[0]
    assert part[:length].tolist() == [7, 9, 5, 6, 3]
    assert mean[:length].tolist() == [0.0, 0.0, 0.25, 0.0, 0.75]
    assert lag_mean[:length].tolist() == [0.0, 0.0, 1.0, 2.0, 3.0]
    assert stock.n_rows[0] == 2
    assert stock.loss[:2].tolist() == [1.0, 3.0]
    assert stock.slot[stock.begin[:2]].tolist() == [2, 4]
