"""Problems with a kernel, each beside the linear problem that it equals with kernel="linear"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import blockwolfe as bw
from zoo import LOOPS, chain_data, graphs, masked_chain_data, multiclass_data, tree_data

tasks = bw.tasks

# No two labels are equally wrong: ties at w = 0, which rounding would break, are none.
COSTS = [[0.0, 1.0, 0.7], [0.8, 0.0, 0.9], [0.5, 0.6, 0.0]]


def multilabel_data(n=10, n_labels=3, n_features=4, seed=0):
    """Sets of labels, as rows of zeros and ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    Y = (X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n, n_labels)) > 0).astype(
        int
    )
    Y[:n_labels] = np.eye(n_labels, dtype=int)
    return X, Y


def graph_data(n_labels):
    """Graphs with loops."""
    problem = graphs(tasks.Cut() if n_labels == 2 else tasks.PairwiseGraph(), LOOPS, n_labels)
    return problem.X, problem.Y


# By name: the task, given options of a kernel, and its data.
TWINS = {
    "chain": (lambda **k: tasks.Chain(3, task_loss=COSTS, **k), chain_data),
    "chain-bare": (
        lambda **k: tasks.Chain(3, task_loss=COSTS, bias=False, first=False, last=False, **k),
        chain_data,
    ),
    "chain-masked": (lambda **k: tasks.Chain(3, task_loss=COSTS, **k), masked_chain_data),
    "chain-order-2": (lambda **k: tasks.Chain(3, task_loss=COSTS, order=2, **k), chain_data),
    "multiclass": (lambda **k: tasks.Multiclass(task_loss=COSTS, **k), multiclass_data),
    "tree": (lambda **k: tasks.Tree(3, task_loss=COSTS, **k), tree_data),
    "cut": (tasks.Cut, lambda: graph_data(2)),
    "pairwise-graph": (
        lambda **k: tasks.PairwiseGraph(task_loss=COSTS, **k),
        lambda: graph_data(3),
    ),
    "multilabel": (lambda **k: tasks.Multilabel(pairs="tree", **k), multilabel_data),
}


def made(name, sample_weight=None, bounds=None, **kernel):
    """The problem of this name, with these options of a kernel."""
    task, data = TWINS[name]
    return bw.Problem(task(**kernel), *data(), sample_weight=sample_weight, bounds=bounds)


def with_nodes(X, rows):
    """X with other inputs of positions: rows of each example."""
    if isinstance(X, np.ndarray):
        return np.concatenate(rows)
    pairs = zip(X, rows, strict=True)
    return [replace(x, nodes=own) if hasattr(x, "nodes") else own for x, own in pairs]


def coefficients(problem, w):
    """(A, S) of a w of `solve`, each (labels, positions)."""
    size = problem.blocks.kernel.size
    n = problem.task.kernel_.n
    return w[-2 * size : -size].reshape(-1, n), w[-size:].reshape(-1, n)


def kernel_matrix(problem):
    """G, straight from the kernel."""
    return problem.task.kernel_.own_rows(np.arange(problem.task.kernel_.n))


def assert_within_certificates(a, b):
    """Two results are of one optimum: |P_a - P_b| <= max(gap_a, gap_b)."""
    a, b = a.certificate, b.certificate
    assert a.exact
    assert b.exact
    assert abs(a.primal - b.primal) <= max(a.gap, b.gap) + a.resolution + b.resolution
    assert max(a.dual, b.dual) <= min(a.primal, b.primal) + a.resolution + b.resolution
