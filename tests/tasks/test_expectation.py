"""Means under Gibbs distributions, against sums over all outputs and against derivatives."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import logsumexp

import blockwolfe as bw
from blockwolfe.errors import OutOfMemoryError
from blockwolfe.problem.blocks import make_blocks
from blockwolfe.problem.expectation import MarginalWork, expectation, expectations
from blockwolfe.problem.state import dual_value, rebuild_v, weights_of
from blockwolfe.tasks import part_functions, tree
from blockwolfe.tasks.base import oracles_of
from blockwolfe.tasks.registry import known_tasks, task_named
from structured import CYCLIC, SUMMED, label_sets, outputs_of
from zoo import LOOPS, PROBLEMS, graphs, grid, tree_data

ALL = {**SUMMED, **CYCLIC}
HAVE = {
    "Chain",
    "Cut",
    "Multiclass",
    "Multilabel",
    "PairwiseGraph",
    "Segments",
    "SpanningTree",
    "Tree",
}
_made: dict = {}


@pytest.fixture(params=ALL)
def problem(request):
    if request.param not in _made:
        _made[request.param] = ALL[request.param]()
    return _made[request.param]


def of(name):
    if name not in _made:
        _made[name] = ALL[name]()
    return _made[name]


def some_blocks(problem):
    for i in range(len(problem)):
        found = outputs_of(problem, i)
        if found is not None:
            yield i, *found


def dense(blocks, found):
    assert len(np.unique(found.part)) == len(found.part)
    mean = np.zeros(blocks.n_parts)
    mean[found.part] = found.mean
    return mean


def scores(blocks, i, rng, size=1.0):
    """Random scores of the parts of a block, and rubbish beyond them."""
    theta = rng.normal(size=blocks.n_parts) * size
    theta[blocks.parts_of[i] :] = 1e300
    return theta


@pytest.mark.parametrize("size", [0.0, 1.0, 40.0, 1e4])
@pytest.mark.parametrize("scale", [0.0, 0.7, 30.0])
def test_means_are_sums_over_all_outputs(problem, scale, size):
    blocks, rng = problem.blocks, np.random.default_rng(0)
    for i, corners, losses in some_blocks(problem):
        theta = scores(blocks, i, rng, size)
        found = expectation(blocks, i, theta, scale)
        theta[blocks.parts_of[i] :] = 0.0
        total = scale * losses + corners @ theta
        p = np.exp(total - logsumexp(total))
        # what rounding makes of sums of terms of this size
        noise = 1e-13 * max(1.0, np.abs(total).max())
        np.testing.assert_allclose(dense(blocks, found), p @ corners, rtol=0, atol=noise)
        assert found.loss == pytest.approx(p @ losses, rel=0, abs=noise * losses.max(initial=1))
        assert found.log_partition == pytest.approx(logsumexp(total), rel=1e-12, abs=1e-12)
        assert len(found.part) <= blocks.marginal_size[i]


def test_the_log_partition_has_means_as_its_derivatives(problem):
    blocks, rng, step = problem.blocks, np.random.default_rng(1), 1e-4
    for i in range(0, len(blocks), 2):
        theta, scale = scores(blocks, i, rng), 0.8
        found = expectation(blocks, i, theta, scale)
        direction = np.where(np.arange(blocks.n_parts) < blocks.parts_of[i], 1.0, 0.0)
        direction *= rng.normal(size=blocks.n_parts)

        ahead, back = (expectation(blocks, i, theta + s * direction, scale) for s in (step, -step))
        slope = (ahead.log_partition - back.log_partition) / (2 * step)
        size = 1e-7 * (1.0 + np.abs(direction[found.part]).sum())
        assert found.mean @ direction[found.part] == pytest.approx(slope, abs=size)
        ahead, back = (expectation(blocks, i, theta, scale + s) for s in (step, -step))
        slope = (ahead.log_partition - back.log_partition) / (2 * step)
        assert found.loss == pytest.approx(slope, abs=1e-6)


def maximum(blocks, i, theta):
    """Parts and loss of the oracle's answer."""
    work, scratch = blocks.own()
    size, loss, _ = blocks.oracles.maximize(blocks.data, i, theta, scratch, work.code, work.value)
    n = blocks.oracles.unpack(blocks.data, i, work.code, size, work.part)
    corner = np.zeros(blocks.n_parts)
    np.add.at(corner, work.part[:n], 1.0)
    return corner, loss


@pytest.mark.parametrize("cold", [1e4, 1e7])
def test_in_the_cold_they_are_the_maximum(problem, cold):
    """With all scores and losses multiplied; where the best output is far ahead of all others."""
    blocks, rng, n_tried = problem.blocks, np.random.default_rng(2), 0
    for i, corners, losses in some_blocks(problem):
        theta = scores(blocks, i, rng)
        theta[blocks.parts_of[i] :] = 0.0
        if isinstance(problem.task, bw.tasks.Cut):  # (whose maximum needs edges that agree)
            theta[blocks.data.size[i, 0] :] = -np.abs(theta[blocks.data.size[i, 0] :])
        best = np.argmax(losses + corners @ theta)
        totals = np.sort(losses + corners @ theta)
        if len(totals) > 1 and cold * (totals[-1] - totals[-2]) < 60.0:
            continue
        n_tried += 1
        found = expectation(blocks, i, cold * theta, cold)
        is_exact = not blocks.bounds_error  # (of graphs with cycles the oracle may miss it)
        corner, loss = maximum(blocks, i, theta) if is_exact else (corners[best], losses[best])
        np.testing.assert_allclose(dense(blocks, found), corner, rtol=0, atol=1e-8)
        assert found.loss == pytest.approx(loss, abs=1e-8)
        assert found.log_partition / cold == pytest.approx(totals[-1], rel=1e-9)
    assert n_tried > 0


@pytest.mark.parametrize("size", [1.0, 30.0, 1e4])
def test_long_sequences_stay_finite_and_sum_to_one(size):
    blocks, rng = of("chain-long").blocks, np.random.default_rng(3)
    i = int(np.argmax(blocks.parts_of))
    found = expectation(blocks, i, scores(blocks, i, rng, size), 1.0)
    mean, n_positions = dense(blocks, found), 60
    assert np.isfinite([*mean, found.loss, found.log_partition]).all()
    label, runs = mean[: 3 * n_positions].reshape(-1, 3), mean[3 * n_positions :][:9]
    np.testing.assert_allclose(label.sum(axis=1), 1.0, atol=1e-8)
    # transitions out of a label, and into it, are its occurrences
    np.testing.assert_allclose(runs.reshape(3, 3).sum(axis=1), label[:-1].sum(axis=0), atol=1e-7)
    np.testing.assert_allclose(runs.reshape(3, 3).sum(axis=0), label[1:].sum(axis=0), atol=1e-7)


def test_wide_transitions_agree_with_narrow_ones_where_both_work():
    """What is done in logarithms: shifting one table's entry out of reach changes nothing else."""
    blocks, rng = of("chain-dense").blocks, np.random.default_rng(4)
    i = int(np.argmax(blocks.parts_of))
    theta = scores(blocks, i, rng)
    last = blocks.parts_of[i] - 1
    near, far = theta.copy(), theta.copy()
    near[last], far[last] = -150.0, -1500.0
    one, other = expectation(blocks, i, near, 0.5), expectation(blocks, i, far, 0.5)
    np.testing.assert_allclose(dense(blocks, one), dense(blocks, other), rtol=0, atol=1e-13)
    assert one.log_partition == pytest.approx(other.log_partition, rel=1e-14)


@pytest.mark.parametrize("scale", [0.0, 2.5])
def test_all_blocks_at_once_are_the_blocks_one_by_one(problem, scale):
    blocks, rng = problem.blocks, np.random.default_rng(5)
    w = rng.normal(size=blocks.n_features)
    own = (MarginalWork.of(blocks), blocks.marginal_scratch())
    order = rng.permutation(len(blocks))[: max(1, len(blocks) // 2)]
    for asked in (np.arange(len(blocks)), order):
        found = expectations(blocks, w, scale, order=asked, own=own)
        assert not own[0].mean.any()
        for s, i in enumerate(asked):
            theta = np.zeros(blocks.n_parts)
            blocks.features.score(blocks.data, i, w, 1.0, theta)
            alone = expectation(blocks, i, theta, scale)
            here = slice(found.start[s], found.start[s] + found.length[s])
            mean = np.zeros(blocks.n_parts)
            mean[found.part[here]] = found.mean[here]
            np.testing.assert_array_equal(mean, dense(blocks, alone))
            assert (found.loss[s], found.log_partition[s]) == (alone.loss, alone.log_partition)
            true_parts = blocks.truth.part[blocks.truth.start[i] : blocks.truth.start[i + 1]]
            np.testing.assert_array_equal(found.part[here][: len(true_parts)], true_parts)
            assert len(np.unique(found.part[here])) == found.length[s]


def test_they_are_a_dual_point_whose_bound_is_below_the_primal(problem):
    """At the means for w / mu, weak duality holds, and smoothing costs at most mu log(outputs)."""
    blocks, lam, mu = problem.blocks, 0.5, 0.3
    w = weights_of(blocks, np.random.default_rng(6).normal(size=blocks.n_features), 1.0)
    found = expectations(blocks, w / mu, 1.0 / mu)
    store = found.store(blocks.weight)
    v = rebuild_v(blocks, store)
    dual = dual_value(blocks, v, store.ell.sum(), lam)
    assert dual <= problem.primal(w, lam) + 1e-9
    assert dual <= problem.primal(weights_of(blocks, v, lam), lam) + 1e-9
    for i, corners, losses in some_blocks(problem):
        theta = np.zeros(blocks.n_parts)
        blocks.features.score(blocks.data, i, w, 1.0, theta)
        theta[blocks.parts_of[i] :] = 0.0
        most = (losses + corners @ theta).max()
        assert -1e-9 <= mu * found.log_partition[i] - most <= mu * np.log(len(losses)) + 1e-9


def test_tasks_say_whether_they_have_it():
    assert {name for name in known_tasks() if "marginals" in oracles_of(task_named(name))} == HAVE
    assert oracles_of(label_sets("full").task) == ("maximize",)
    assert oracles_of(label_sets("tree").task) == ("maximize", "marginals", "project")
    slack = bw.tasks.SlackRescaling(bw.tasks.Multiclass())
    assert oracles_of(slack) == ("maximize",)


def test_every_problem_here_says_so(problem):
    assert oracles_of(problem.task) == problem.blocks.uncompiled.offered()
    assert "marginals" in oracles_of(problem.task)
    assert problem.blocks.oracles.marginals is None  # (loops are the same with and without it)
    assert len(problem.blocks.first(1).marginal_size) == 1


@dataclass(frozen=True)
class Smoothing(bw.Method):
    name: ClassVar[str] = "smoothing"
    needs: ClassVar[tuple[str, ...]] = ("maximize", "marginals")

    def start(self, setup):
        raise AssertionError("it is refused before")


@pytest.mark.parametrize("name", ["matching", "toy-jitted", "chain-python"])
def test_others_have_none_and_the_error_names_those_that_have(name):
    problem = PROBLEMS[name]()
    assert len(problem.blocks.marginal_size) == 0
    with pytest.raises(bw.OptionError, match="has no oracle 'marginals'"):
        expectations(problem.blocks, np.zeros(problem.n_features))
    with pytest.raises(bw.OptionError, match="tasks that have it: Chain, Cut, Multiclass"):
        bw.solve(problem, 0.1, Smoothing(), max_passes=1)


class Without:
    """A task without the oracle that it wraps."""

    def __init__(self, task):
        self.task, self.exact = task, getattr(task, "exact", True)

    def compiled(self, X, Y):
        made = self.task.compiled(X, Y)
        none = np.zeros(0, dtype=np.int64)
        oracles = made.oracles.in_loops()
        return replace(made, oracles=oracles, marginal_size=none, make_marginal_scratch=None)


Without.__module__ = "blockwolfe.tasks"


def test_a_problem_is_the_same_with_and_without_it(problem):
    blocks = problem.blocks
    other = make_blocks(Without(problem.task), problem.X, problem.Y, blocks.weight)
    assert other.fingerprint == blocks.fingerprint
    assert other.kind == blocks.kind


def test_an_own_oracle_of_marginals_is_part_of_the_problem():
    from numba import njit

    @njit
    def halved(data, i, theta, scale, scratch, part, value):
        size, loss, total = tree.marginals(data, i, theta, scale, scratch, part, value)
        return size, loss / 2, total

    class Halved(bw.tasks.Tree):
        block_oracles = part_functions.oracles(tree.maximize, halved)

    X, Y = tree_data(n=3)
    blocks = [bw.Problem(task(3), X, Y).blocks for task in (Halved, bw.tasks.Tree)]
    assert blocks[0].fingerprint != blocks[1].fingerprint
    w = np.zeros(blocks[0].n_features)
    half, whole = (expectations(given, w).loss for given in blocks)
    np.testing.assert_allclose(half, whole / 2)


def nearly_tied(blocks, i, rng, size):
    """Large scores of which many are nearly the same: all that differs is beside their rounding."""
    theta = np.round(rng.normal(size=blocks.n_parts)) * size / 3 + rng.normal(size=blocks.n_parts)
    theta[blocks.parts_of[i] :] = 1e300
    return theta


@pytest.mark.parametrize("size", [1e4, 1e8, 1e12])
def test_probabilities_of_large_scores_add_up_to_one(size):
    """What every output has exactly one of, its means add up to, whatever rounding does."""
    rng = np.random.default_rng(8)
    blocks = of("segments").blocks
    for i, n in enumerate((1, 2, 4, 5)):
        mean = dense(blocks, expectation(blocks, i, nearly_tied(blocks, i, rng, size), 1.0))
        covered = np.zeros(n)
        for b, length in np.ndindex(n, 3):
            at = (b * 3 + length) * 2
            covered[b : b + length + 1] += mean[at : at + 2].sum()
        np.testing.assert_allclose(covered, 1.0, rtol=0, atol=1e-12)
        assert 0.0 <= mean.min() <= mean.max() <= 1.0 + 1e-15
    for name in ("parses", "parses-pruned"):
        blocks, X = of(name).blocks, of(name).X
        for i, x in enumerate(X):
            mean = dense(blocks, expectation(blocks, i, nearly_tied(blocks, i, rng, size), 1.0))
            heads = np.bincount(np.asarray(x.arcs)[:, 1] - 1, mean[: len(x.arcs)])
            np.testing.assert_allclose(heads, 1.0, rtol=0, atol=1e-12)
            assert 0.0 <= mean.min() <= mean.max() <= 1.0 + 1e-15
    blocks = of("loops").blocks
    for i, (n, edges) in enumerate(LOOPS):
        mean = dense(blocks, expectation(blocks, i, nearly_tied(blocks, i, rng, size), 1.0))
        node, edge = mean[: 3 * n].reshape(n, 3), mean[3 * n :][: 9 * len(edges)].reshape(-1, 9)
        np.testing.assert_allclose(node.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        np.testing.assert_allclose(edge.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["online_eg", "excessive_gap"])
def test_a_graph_that_is_too_wide_is_refused_before_any_work(name, monkeypatch):
    shapes = [(2, [(0, 1)]), grid(4, 4)]
    problem = graphs(bw.tasks.PairwiseGraph(2), shapes, 2)
    bw.solve(problem, 0.1, "bcfw", max_passes=1)
    monkeypatch.setattr("blockwolfe.structures.junction_tree.MOST_STATES", 2**4)
    problem = graphs(bw.tasks.PairwiseGraph(2), shapes, 2)
    sentence = (
        r"X\[1\] has a width of more than 3: 5 nodes with 2 labels meet in one table of 2\^5 "
        r"entries, where at most 16 are taken. Take sparser"
    )
    with pytest.raises(bw.OptionError, match=sentence):
        bw.solve(problem, 0.1, name, max_passes=1)


def test_graphs_that_take_too_long_or_too_much_memory_are_refused(monkeypatch):
    problem = graphs(bw.tasks.PairwiseGraph(2), [(2, [(0, 1)]), grid(4, 4)], 2)
    with monkeypatch.context() as small:
        small.setattr("blockwolfe.tasks.junction.MOST_NODES", 15)
        with pytest.raises(
            bw.OptionError, match=r"X\[1\] has 16 nodes, where at most 15 are taken"
        ):
            bw.solve(problem, 0.1, "online_eg", max_passes=1)
    blocks = graphs(bw.tasks.PairwiseGraph(2), [grid(4, 4)], 2).blocks
    monkeypatch.setattr("blockwolfe.base.memory.available_bytes", lambda: 1000)
    monkeypatch.setattr("blockwolfe.base.memory.SMALL", 0)
    with pytest.raises(OutOfMemoryError, match="tables of the oracle 'marginals' needs about"):
        blocks.marginal_scratch()


def test_an_exact_decoder_has_none_and_says_so():
    pytest.importorskip("pytoulbar2", reason="pytoulbar2 is not installed")
    problem = graphs(bw.tasks.PairwiseGraph(3, decoder="exact"), LOOPS, 3)
    assert oracles_of(problem.task) == ("maximize",)
    with pytest.raises(bw.OptionError, match="does not have .decoder='exact' has none"):
        bw.solve(problem, 0.1, Smoothing(), max_passes=1)
