"""Small problems of every structure that can be summed over, and all outputs of their blocks."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

import blockwolfe as bw
from zoo import (
    LOOPS,
    PROBLEMS,
    SHARE,
    chain_data,
    graphs,
    grid,
    masked_chain_data,
    multiclass_data,
    tree_data,
)

MOST_OUTPUTS = 512  # of blocks that are enumerated


def label_sets(pairs, **options):
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(6, 2)), rng.integers(2, size=(6, 4))
    return bw.Problem(bw.tasks.Multilabel(pairs, **options), X, Y)


def segments(**options):
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(n, 2)) for n in (1, 2, 4, 5)]
    Y = [
        [(0, 1, "a")],
        [(0, 2, "b")],
        [(0, 2, "a"), (2, 3, "b"), (3, 4, "a")],
        [(0, 1, "b"), (1, 3, "b"), (3, 5, "a")],
    ]
    return bw.Problem(bw.tasks.Segments(3, **options), X, Y)


def parses(share=1.0):
    """Candidate arcs: all, or some beside those of the true tree."""
    rng = np.random.default_rng(4)
    X, Y = [], []
    for n in (1, 2, 3, 4, 4):
        every = [(h, c) for c in range(1, n + 1) for h in range(n + 1) if h != c]
        heads = np.arange(n)  # (a path from the root)
        kept = [(h, c) for h, c in every if heads[c - 1] == h or rng.random() < share]
        X.append(bw.tasks.Arcs(rng.normal(size=(len(kept), 3)), np.array(kept), n))
        Y.append(heads)
    return bw.Problem(bw.tasks.SpanningTree(), X, Y)


def masked_trees():
    X, Y = tree_data()
    rng = np.random.default_rng(5)
    masks = [(rng.random((len(y), 3)) < 0.6) | np.eye(3, dtype=bool)[y] for y in Y]
    X = [replace(x, allowed=mask) for x, mask in zip(X, masks, strict=True)]
    return bw.Problem(bw.tasks.Tree(3), X, Y)


# Problems with an oracle of marginals.
SUMMED = {
    **{
        name: PROBLEMS[name]
        for name in PROBLEMS
        if name.startswith(("multiclass", "chain", "tree")) and not name.endswith("python")
    },
    "chain-third-order": lambda: bw.Problem(
        bw.tasks.Chain(2, order=3, transition=[1, 3]), *chain_data(n=5, n_labels=2)
    ),
    "chain-pairs-left-out": lambda: bw.Problem(
        bw.tasks.Chain(3, order=2, transition=[2], task_loss=SHARE), *masked_chain_data()
    ),
    "chain-costs": lambda: bw.Problem(
        bw.tasks.Chain(3, task_loss=[[0, 1, 2], [3, 0, 1], [1, 1, 0]]), *chain_data()
    ),
    "chain-one-label": lambda: bw.Problem(bw.tasks.Chain(1), *chain_data(n_labels=1)),
    "multiclass-weights": lambda: bw.Problem(
        bw.tasks.Multiclass(task_loss=bw.tasks.ZeroOne(class_weight={0: 3.0})), *multiclass_data()
    ),
    "tree-masked": masked_trees,
    "segments": segments,
    "segments-share": lambda: segments(normalize=True),
    "parses": parses,
    "parses-pruned": lambda: parses(0.4),
    "sets-independent": lambda: label_sets("independent"),
    "sets-tree": lambda: label_sets("tree", task_loss=[[0, 1], [3, 0]]),
}

# The same of graphs with cycles, which have no projections.
CYCLIC = {
    "loops": lambda: graphs(bw.tasks.PairwiseGraph(3), LOOPS, 3),
    "loops-masked": lambda: graphs(bw.tasks.PairwiseGraph(3), LOOPS, 3, is_masked=True),
    "grids": lambda: graphs(
        bw.tasks.PairwiseGraph(2), [grid(3, 3), grid(2, 4), grid(2, 2), grid(2, 3)], 2
    ),
    "cuts": lambda: graphs(bw.tasks.Cut(labels=[0, 1]), [*LOOPS, grid(2, 4)], 2),
    "cuts-masked": lambda: graphs(bw.tasks.Cut(labels=[0, 1]), LOOPS, 2, is_masked=True),
}


def outputs_of(problem, i):
    """Corners (outputs x parts) and losses of every output of block i; None where too many."""
    blocks, task, x = problem.blocks, problem.task, problem.X[i]
    listed = []
    for y in task.outputs(x):
        listed.append(y)
        if len(listed) > MOST_OUTPUTS:
            return None
    n = len(listed)
    X = sp.vstack([problem.X[[i]]] * n, format="csr") if sp.issparse(problem.X) else [x] * n
    truth = task.compiled(X, listed).truth
    corners = np.zeros((n, blocks.n_parts))
    np.add.at(corners, (np.repeat(np.arange(n), np.diff(truth.start)), truth.part), truth.value)
    return corners, np.array([task.loss(problem.Y[i], y) for y in listed])
