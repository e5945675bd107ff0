"""The algebra of one block at its edges: rounding, stale memory, corners that are nearly alike."""

from types import SimpleNamespace

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.dual.directions import append_parts
from blockwolfe.dual.growth import Means, no_means
from blockwolfe.dual.line_search import Box, bounded_step, free_step
from blockwolfe.dual.stock import Stock, find_corner, insert_corner, least_useful, remove_corner
from blockwolfe.methods.bcfw import targets
from blockwolfe.rules.weights import AWAY, FORWARD, PAIRWISE, longest_step, move_weights
from dense import enumerated_data
from plain_tasks import Labels
from zoo import chain_data, multiclass_data


@pytest.mark.parametrize("kind", [PAIRWISE, AWAY])
def test_no_weight_falls_below_zero_by_rounding(kind):
    """A step one bit short of the longest is no drop, and rounding may take it too far."""
    rng, n_below = np.random.default_rng(0), 0
    for _ in range(300):
        weight = rng.dirichlet(np.ones(3))
        gamma = np.nextafter(longest_step(kind, weight[2]), 0.0)
        moved = weight * (1.0 + gamma) if kind == AWAY else weight.copy()
        n_below += moved[2] - gamma < 0.0
        move_weights(weight, (0, 3), kind, 0, 2, gamma, False)
        assert (weight >= 0.0).all()
        assert weight.sum() == pytest.approx(1.0, rel=1e-14)
    assert n_below or kind == PAIRWISE


@pytest.mark.parametrize("kind", [FORWARD, PAIRWISE, AWAY])
def test_a_corner_that_is_dropped_has_no_weight_at_all(kind):
    rng = np.random.default_rng(1)
    for _ in range(100):
        weight = rng.dirichlet(np.ones(4))
        move_weights(weight, (0, 4), kind, 0, 3, longest_step(kind, weight[3]), True)
        assert (weight[1:] == 0.0).all() if kind == FORWARD else weight[3] == 0.0
        assert weight.sum() == pytest.approx(1.0, rel=1e-14)


def test_an_away_step_needs_something_to_move_to():
    assert longest_step(AWAY, 1.0) == 0.0
    assert longest_step(AWAY, 0.5) == 1.0


def test_new_parts_begin_at_zero_whatever_lay_there():
    five = np.full(5, 7.0)
    ints = np.array([0]), np.array([2]), np.array([5])
    means = Means(*ints, np.array([4, 1, 9, 9, 9], dtype=np.int32), five, five.copy())
    append_parts(means, 0, np.array([4, 1, 3], dtype=np.int32), 3)
    assert means.length[0] == 3
    assert means.part[:3].tolist() == [4, 1, 3]
    assert means.mean.tolist() == means.lag.tolist() == [7.0, 7.0, 0.0, 7.0, 7.0]


def test_a_direction_of_no_slope_is_not_followed():
    assert free_step(1.0, 0.0, 0.0, 1.0) == 0.0
    assert free_step(1.0, -1e-300, 0.0, 1.0) == 0.0
    nothing = np.zeros(0)
    box = Box(nothing, nothing, nothing)
    assert bounded_step(box, nothing.astype(np.int64), nothing, 0, 0.0, 1.0) == 0.0


def test_the_exact_search_ends_at_the_root_whatever_the_scales():
    """Many bounds at distances from 1e-6 to 1e6, where Newton's method alone would leave."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        move = rng.normal(size=6) * 10.0 ** rng.uniform(-3, 3, size=6)
        raw = rng.normal(size=6)
        width = 10.0 ** rng.uniform(-6, 6, size=6)
        lower, upper = raw - width, raw + width * rng.uniform(0.1, 2.0, size=6)
        slope = 10.0 ** rng.uniform(-6, 3)
        gamma = bounded_step(Box(lower, upper, raw), np.arange(6), move, 6, slope, 1.0)

        def slope_at(at, parts=(raw, move, lower, upper, slope)):
            raw, move, lower, upper, slope = parts
            return slope + raw @ move - np.clip(raw + at * move, lower, upper) @ move

        scale = np.abs(raw) @ np.abs(move) + slope + np.abs(move) @ np.abs(move)
        assert 0.0 < gamma <= 1.0
        if gamma < 1.0:
            assert abs(slope_at(gamma)) <= 1e-12 * scale
        else:
            assert slope_at(1.0) >= -1e-12 * scale


def stock_of(n_rows=6, n_entries=20, has_values=True):
    ints = {name: np.zeros(n_rows, dtype=np.int64) for name in ("used_at", "begin", "size")}
    floats = {name: np.zeros(n_rows) for name in ("weight", "loss", "height")}
    return Stock(
        start=np.zeros(1, dtype=np.int64),
        n_rows=np.zeros(1, dtype=np.int64),
        capacity=np.array([n_rows]),
        code=np.zeros(n_entries, dtype=np.int32),
        value=np.zeros(n_entries if has_values else 0),
        end=np.zeros(1, dtype=np.int64),
        **ints,
        **floats,
    )


def test_corners_are_the_same_by_parts_values_and_loss():
    stock, code, value = stock_of(), np.array([3, 5], dtype=np.int32), np.array([1.0, 2.0])
    row = insert_corner(stock, 0, code, value, 2, 0.5)
    assert find_corner(stock, 0, code, value, 2, 0.5) == row
    assert find_corner(stock, 0, code, value, 2, 0.25) == -1
    assert find_corner(stock, 0, code, np.array([1.0, 3.0]), 2, 0.5) == -1
    assert find_corner(stock, 0, np.array([3, 6], dtype=np.int32), value, 2, 0.5) == -1
    assert find_corner(stock, 0, code, value, 1, 0.5) == -1


def test_a_row_moves_as_a_whole():
    stock = stock_of(has_values=False)
    for k in range(4):
        row = insert_corner(stock, 0, np.array([k], dtype=np.int32), np.zeros(0), 1, 0.1 * k)
        stock.height[row], stock.used_at[row] = [9.0, 5.0, 7.0, 6.0][k], 10 * k
    stock.weight[1] = 0.5
    assert least_useful(stock, 0) == 3  # (row 1 is lower, but active)
    remove_corner(stock, 0, 0)
    assert stock.n_rows[0] == 3
    moved = (stock.loss[0], stock.height[0], stock.used_at[0], stock.code[stock.begin[0]])
    assert moved == (pytest.approx(0.3), 6.0, 30, 3)
    assert least_useful(stock, 0) == 0


def test_rounding_of_many_steps_is_taken_out_of_the_weights():
    task, X, Y = enumerated_data()
    problem = bw.Problem(task, list(X), list(Y))
    engine = engine_of(problem, "bcfw+cyclic+pairwise+cache", 0.05)
    for _ in range(3):
        engine.advance(5, lambda: True)
    stock = engine.point.arrays.stock
    stock.weight[:] *= 1.0 + 1e-6
    engine.certify()
    stock = engine.point.arrays.stock
    for i in range(5):
        rows = slice(stock.start[i], stock.start[i] + stock.n_rows[i])
        assert stock.weight[rows].sum() == pytest.approx(1.0, rel=1e-14)
        ell = (stock.weight[rows] * stock.loss[rows]).sum() / 5
        assert engine.point.arrays.ell[i] == pytest.approx(ell, rel=1e-14)


def weighted():
    task, X, Y = enumerated_data()
    return bw.Problem(task, list(X), list(Y), sample_weight=[1, 2, 1, 0.5, 3])


def test_light_corners_are_part_of_a_state():
    problem = weighted()
    engine = engine_of(problem, "bcfw+cyclic+pairwise", 0.01)
    for _ in range(20):
        engine.advance(5, lambda: True)
    stock = engine.point.arrays.stock
    i = int(np.argmax(stock.n_rows))
    row = stock.start[i]
    stock.weight[row + 1] += stock.weight[row] - 1e-7
    stock.weight[row] = 1e-7
    active = engine.state().active
    total = np.add.reduceat(active.weight, active.start[:-1])
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)
    assert active.weight.min() <= 1e-7


@pytest.mark.parametrize("step", ["pairwise", "pairwise+cache", "away"])
def test_a_state_of_means_is_taken_up_as_it_is(step):
    """By a method that stores corners: the same point, whose certificate is the same."""
    problem, lam = weighted(), 0.05
    state = bw.solve(problem, lam, "bcfw+cyclic", 0.0, max_passes=4).state
    assert state.active is None
    engine = engine_of(problem, f"bcfw+cyclic+{step}", lam, state=state)
    before, after = bw.certify(problem, state, lam), engine.certify()
    assert after.dual == pytest.approx(before.dual, rel=1e-12)
    assert after.primal == pytest.approx(before.primal, rel=1e-12)
    for _ in range(10):
        engine.advance(5, lambda: True)
    later = engine.certify()
    assert later.dual > before.dual


def test_a_block_that_has_dropped_its_truth_is_certified_as_any_other():
    """Certificates look for the true parts in front, also where no stored corner has them."""
    X, Y = multiclass_data(n=30, n_labels=4)
    problem = bw.Problem(Labels(4, 4), X, Y)
    engine = engine_of(problem, "bcfw+cyclic+pairwise", 5.0)
    n_dropped = 0
    for _ in range(12):
        engine.advance(30, lambda: True)
        certificate = engine.certify()
        stock = engine.point.arrays.stock
        rows = [slice(stock.start[i], stock.start[i] + stock.n_rows[i]) for i in range(30)]
        n_dropped += sum((stock.loss[own] > 0.0).all() for own in rows)
        assert certificate.primal == pytest.approx(problem.primal(engine.w, 5.0), rel=1e-12)
    assert n_dropped


@pytest.mark.parametrize("name", ["best", "top", "low"])
def test_rows_that_a_visit_has_ranked_are_renumbered_when_one_is_evicted(name):
    """At the cap the idle corner goes, and the last row takes its place: its number is another."""
    stock = stock_of(has_values=False)
    height = {
        "best": [1.0, 5.0, 3.0, 9.0],
        "top": [1.0, 5.0, 3.0, 9.0],
        "low": [1.0, 5.0, 9.0, 2.0],
    }
    for k in range(4):
        insert_corner(stock, 0, np.array([k], dtype=np.int32), np.zeros(0), 1, 0.1 * k)
    stock.height[:4], stock.weight[:4] = height[name], [0.0, 0.3, 0.3, 0.4]
    ranks = {"best": 3, "top": 3, "low": 2} if name != "low" else {"best": 2, "top": 2, "low": 3}
    rule = SimpleNamespace(max_corners=4)
    new = np.array([7], dtype=np.int32)
    row, best, top, low = targets._keep.py_func(
        rule, SimpleNamespace(i=0, **ranks), stock, (new, np.zeros(0), 1), 0.7
    )
    wanted = {key: 0 if at == 3 else at for key, at in ranks.items()}
    assert {"best": best, "top": top, "low": low} == wanted
    assert stock.height[wanted[name]] == height[name][3]
    assert stock.code[stock.begin[row]] == 7
    assert 0 in wanted.values()


def test_corners_of_codes_have_values_of_one_whatever_was_there_before():
    """A state of means begins with a mixture, beside which corners are kept as parts and values."""
    problem = bw.Problem(bw.tasks.Chain(3), *chain_data(n=5, longest=3))
    state = bw.solve(problem, 0.05, "bcfw+cyclic", 0.0, max_passes=2).state
    engine = engine_of(problem, "bcfw+cyclic+pairwise", 0.05, state=state)
    n_new = 0
    for _ in range(4):
        engine.point.work.value[:] = 7.0
        engine.advance(5, lambda: True)
        stock = engine.point.arrays.stock
        for i in range(5):
            for row in range(stock.start[i] + 1, stock.start[i] + stock.n_rows[i]):
                own = slice(stock.begin[row], stock.begin[row] + stock.size[row])
                n_new += 1
                assert (stock.value[own] == 1.0).all()
    assert n_new


def test_a_block_lacks_room_for_rows_or_for_entries():
    stock, means = stock_of(n_rows=6, n_entries=20, has_values=False), no_means(1)
    point, rule = SimpleNamespace(stock=stock, means=means), SimpleNamespace
    keeping = rule(keeps_corners=True, has_average=False)
    stock.end[0], stock.n_rows[0] = 15, 5
    assert targets.has_room.py_func(keeping, point, 0, 3, 5)
    assert not targets.has_room.py_func(keeping, point, 0, 3, 6)
    stock.n_rows[0] = 6
    assert not targets.has_room.py_func(keeping, point, 0, 3, 5)
    assert not targets.has_room.py_func(
        rule(keeps_corners=False, has_average=False), point, 0, 3, 5
    )


def test_a_corner_that_a_visit_has_moved_to_is_in_use():
    problem = weighted()
    engine = engine_of(problem, "bcfw+cyclic+pairwise+cache", 0.05)
    for _ in range(5):
        engine.advance(5, lambda: True)
        stock, last = engine.point.arrays.stock, engine.ledger.notes.last_visit
        for i in range(5):
            rows = slice(stock.start[i], stock.start[i] + stock.n_rows[i])
            assert stock.used_at[rows].max() == last[i]
