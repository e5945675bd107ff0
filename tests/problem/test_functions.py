"""Features agree with the dense feature map: theta = F^T w, |F d|^2, F d; oracles with both."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.base.packed import Packed
from blockwolfe.base.packed_type import ByAddress
from blockwolfe.tasks.reading.vectors import dense_features
from zoo import PROBLEMS, tree_data

COMPILED = [name for name in PROBLEMS if "python" not in name]


def columns(blocks, i, parts):
    """F_i restricted to some parts, read off `add` one part at a time."""
    F = np.zeros((blocks.n_features, len(parts)))
    for s, p in enumerate(parts):
        out = np.zeros(blocks.n_features)
        blocks.features.add(blocks.data, i, np.array([p], dtype=np.int32), np.ones(1), 1, 1.0, out)
        F[:, s] = out
    return F


def answer(blocks, i, theta, scratch):
    """What the oracle finds at theta: its parts, values, code, loss and slack."""
    n = max(blocks.n_parts, int(blocks.part_size.max()))
    code, value = np.zeros(n, dtype=np.int32), np.ones(n)
    part = np.zeros(n, dtype=np.int32)
    size, loss, slack = blocks.oracles.maximize(blocks.data, i, theta, scratch, code, value)
    n_parts = blocks.oracles.unpack(blocks.data, i, code, size, part)
    return part[:n_parts], value[:n_parts], code[:size], loss, slack


def scores(blocks, i, w):
    theta = np.full(blocks.n_parts, np.nan)
    blocks.features.score(blocks.data, i, w, 1.0, theta)
    return theta


@pytest.mark.parametrize("name", PROBLEMS)
def test_score_peek_sqnorm_and_add_are_one_linear_map(name):
    blocks = PROBLEMS[name]().blocks
    rng, scratch = np.random.default_rng(0), blocks.scratch()
    for i in range(len(blocks)):
        w = rng.normal(size=blocks.n_features)
        theta = scores(blocks, i, w)
        found = answer(blocks, i, theta, scratch)[0]
        truth = blocks.truth
        true_parts = truth.part[truth.start[i] : truth.start[i + 1]]
        parts = np.unique(np.concatenate([found, true_parts])).astype(np.int32)
        F = columns(blocks, i, parts)
        delta = rng.normal(size=len(parts))
        np.testing.assert_allclose(theta[parts], F.T @ w, atol=1e-12)
        scaled = np.full(blocks.n_parts, np.nan)
        blocks.features.score(blocks.data, i, w, -0.3, scaled)
        np.testing.assert_allclose(scaled, -0.3 * theta, atol=1e-12)
        peeked = np.full(blocks.n_parts, np.nan)
        blocks.features.peek(blocks.data, i, w, parts, len(parts), peeked)
        np.testing.assert_allclose(peeked[parts], F.T @ w, atol=1e-12)
        sqnorm = blocks.features.sqnorm(blocks.data, i, parts, delta, len(parts), scratch)
        np.testing.assert_allclose(sqnorm, np.sum((F @ delta) ** 2), rtol=1e-12, atol=1e-14)
        out = np.ones(blocks.n_features)
        blocks.features.add(blocks.data, i, parts, delta, len(parts), 0.5, out)
        np.testing.assert_allclose(out, 1.0 + 0.5 * (F @ delta), atol=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_corners_are_the_features_of_outputs(name):
    """F z of the true corner is phi(x_i, y_i), as the task's own `features` has it."""
    problem = PROBLEMS[name]()
    blocks, truth = problem.blocks, problem.blocks.truth
    for i in range(len(problem)):
        a, b = truth.start[i], truth.start[i + 1]
        F = columns(blocks, i, truth.part[a:b])
        expected = dense_features(problem.task, problem.X[i], problem.Y[i], i)
        np.testing.assert_allclose(F @ truth.value[a:b], expected, atol=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_codes_of_true_outputs_unpack_to_their_parts(name):
    blocks = PROBLEMS[name]().blocks
    codes, listed = blocks.true_codes, blocks.true_corners
    for i in range(len(blocks)):
        code = codes.code[codes.start[i] : codes.start[i + 1]]
        assert len(code) <= blocks.corner_size[i]
        part = np.zeros(int(blocks.part_size[i]), dtype=np.int32)
        n = blocks.oracles.unpack(blocks.data, i, code.astype(np.int32), len(code), part)
        np.testing.assert_array_equal(part[:n], listed.part[listed.start[i] : listed.start[i + 1]])


def many_problems():
    """Problems whose parts are not the features themselves: any scores may be asked about."""
    names = [name for name in COMPILED if "toy" not in name]
    return [*names, "pairwise-graph", "multilabel"]


def make(name):
    if name == "pairwise-graph":
        return bw.Problem(bw.tasks.PairwiseGraph(3), *tree_data())
    if name == "multilabel":
        rng = np.random.default_rng(0)
        Y = (rng.random((6, 4)) < 0.5).astype(int)
        return bw.Problem(bw.tasks.Multilabel("full"), rng.normal(size=(6, 3)), Y)
    return PROBLEMS[name]()


@pytest.mark.parametrize("name", many_problems())
def test_an_oracle_can_be_asked_at_any_scores(name):
    """Not only at those of some w: theta is explicit, and left as it was."""
    problem = make(name)
    blocks, rng = problem.blocks, np.random.default_rng(1)
    scratch, others = blocks.scratch(), blocks.scratch()
    for i in range(len(blocks)):
        rivals = [scores(blocks, i, rng.normal(size=blocks.n_features)) for _ in range(20)]
        found = [answer(blocks, i, rival, others) for rival in rivals]
        theta = rng.normal(size=blocks.n_parts)
        given = theta.copy()
        part, value, _, loss, slack = answer(blocks, i, theta, scratch)
        np.testing.assert_array_equal(theta, given)
        best = loss + theta[part] @ value
        assert slack >= 0.0
        for other, weights, _, other_loss, _ in found:
            assert other_loss + theta[other] @ weights <= best + slack + 1e-9


@pytest.mark.parametrize("name", PROBLEMS)
def test_functions_write_to_nothing_but_scratch(name):
    """Data may be shared by any number of threads."""
    problem = PROBLEMS[name]()
    blocks, scratch = problem.blocks, problem.blocks.scratch()
    before = [array.copy() for array in arrays_of(blocks.data)]
    rng = np.random.default_rng(0)
    for i in range(len(blocks)):
        theta = scores(blocks, i, rng.normal(size=blocks.n_features))
        used, fresh = (answer(blocks, i, theta, own) for own in (scratch, blocks.scratch()))
        for ours, theirs in zip(used, fresh, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    for array, copy in zip(arrays_of(blocks.data), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def arrays_of(data):
    """Every array in nested tuples."""
    if isinstance(data, np.ndarray):
        yield data
    elif isinstance(data, tuple):
        for field in data:
            yield from arrays_of(field)


def test_some_sequences_do_without_gram_matrix():
    assert (PROBLEMS["chain-long"]().blocks.data.gram_start < 0).any()
    assert (PROBLEMS["chain-dense"]().blocks.data.gram_start >= 0).all()


@pytest.mark.parametrize("name", ["chain-long", "multiclass-dense", "tree", "toy-jitted"])
def test_tasks_functions_are_handed_data_and_scratch_by_address(name):
    blocks = PROBLEMS[name]().blocks
    for piece, places in (
        (blocks.features.score, [0]),
        (blocks.features.sqnorm, [0, 5]),
        (blocks.oracles.maximize, [0, 3]),
        (blocks.oracles.unpack, [0]),
    ):
        args = piece._numba_type_.signature.args
        assert [k for k, of in enumerate(args) if isinstance(of, ByAddress)] == places
    assert isinstance(blocks.packed_data, Packed)
    assert blocks.packed_data.value is blocks.data
    assert isinstance(blocks.scratch(), Packed)
