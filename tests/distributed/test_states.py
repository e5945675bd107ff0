"""States cut among shards and joined again are the same."""

import dataclasses

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.distributed.states import dealt, in_order, join_states, split_state
from blockwolfe.problem.blocks import make_blocks
from blockwolfe.problem.state import rebuild_v
from zoo import PROBLEMS


@pytest.mark.parametrize("method", ["bcfw+pairwise", "bcfw"])
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python", "matching"])
def test_a_state_cut_and_joined_is_the_same(name, method):
    problem = PROBLEMS[name]()
    state = bw.solve(problem, 0.1, method, max_passes=5, random_state=0).last_state
    members = dealt(len(problem), 3)
    parts = [split_state(state, some) for some in members]
    again = join_states(problem.blocks, members, parts, state.v)
    for field in ("start", "part", "mean", "ell", "v"):
        assert np.array_equal(getattr(again, field), getattr(state, field))
    assert again.fingerprint == state.fingerprint
    assert (again.active is None) == (state.active is None)
    if state.active is not None:
        for mine, other in zip(again.active, state.active, strict=True):
            assert np.array_equal(mine, other)


def test_the_shares_of_v_add_up():
    problem = PROBLEMS["chain-dense"]()
    state = bw.solve(problem, 0.1, max_passes=5, random_state=0).last_state
    total = np.zeros(problem.n_features)
    for some in dealt(len(problem), 3):
        X, Y = [problem.X[i] for i in some], [problem.Y[i] for i in some]
        blocks = make_blocks(problem.task, X, Y, problem.weight[some])
        total += rebuild_v(blocks, split_state(state, some).store())
    assert total == pytest.approx(state.v, abs=1e-14)


def test_every_block_is_in_one_shard():
    members = dealt(11, 4)
    assert sorted(np.concatenate(members).tolist()) == list(range(11))
    assert in_order(members, members).tolist() == list(range(11))
    assert dataclasses.is_dataclass(bw.Sharded)
