"""Two threads may work on one problem at once: each gets the very bits it would get alone."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import blockwolfe as bw
from plain_tasks import Labels
from zoo import chain_data, multiclass_data, tree_data

LAMS = (0.1, 0.02)


class Growing(Labels):
    """Corners larger than any seen before turn up during the run."""

    def features(self, x, y):
        index, value = super().features(x, y)
        n_kept = len(index) if y else 1
        return index[:n_kept], value[:n_kept]

    def augmented_decode(self, x, y, w):
        scores = [self.loss(y, h) + float(self._score(x, h, w)) for h in range(self.n_labels)]
        return int(np.argmax(scores))

    def _score(self, x, y, w):
        index, value = self.features(x, y)
        return w[index] @ value


def problems():
    X, Y = multiclass_data(n=40)
    triangles = [
        bw.tasks.Graph(x.nodes, [[0, 1], [1, 2], [2, 0]])
        for x in tree_data(n=400)[0]
        if len(x.nodes) == 3
    ]
    labels = [np.arange(3) % 3 for _ in triangles]
    return {
        "chain": lambda: bw.Problem(bw.tasks.Chain(3), *chain_data(n=500, longest=12)),
        "graph with bounds": lambda: bw.Problem(bw.tasks.PairwiseGraph(3), triangles, labels),
        "cut": lambda: bw.Problem(bw.tasks.Cut(), triangles, [y == 0 for y in labels]),
        "python": lambda: bw.Problem(Labels(3, X.shape[1]), X, Y),
        "python, growing": lambda: bw.Problem(Growing(3, X.shape[1]), X, [0] * len(X)),
        "jitted by a user": lambda: bw.Problem(*bw.datasets.toy_problem(400, 5)[:3]),
    }


def run(problem, lam, method):
    # (long enough in compiled code, which holds no lock, for the threads to meet there)
    options = {"tol": 1e-9, "max_passes": 40 if problem.blocks.is_compiled else 10}
    result = bw.solve(problem, lam, method, random_state=0, **options)
    return result.w, result.state.mean, result.certificate.block_gaps, result.certificate.slack


def together(problem, method):
    ready = Barrier(len(LAMS))

    def one(lam):
        ready.wait()
        return [run(problem, lam, method) for _ in range(3)][-1]

    with ThreadPoolExecutor(len(LAMS)) as threads:
        return list(threads.map(one, LAMS))


@pytest.mark.parametrize("method", ["bcfw", "bcfw+gap+pairwise+cache", "fw"])
@pytest.mark.parametrize("name", problems())
def test_solving_at_once_is_solving_one_after_the_other(name, method):
    make = problems()[name]
    alone = [run(make(), lam, method) for lam in LAMS]
    for ours, theirs in zip(together(make(), method), alone, strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, other)


def test_a_problem_has_no_lock():
    assert not hasattr(problems()["chain"](), "lock")
