"""The five block functions agree with the dense feature map: theta = F^T w, |F d|^2, F d."""

import numpy as np
import pytest

from zoo import PROBLEMS

COMPILED = [name for name in PROBLEMS if "python" not in name]


def columns(blocks, i, parts):
    """F_i restricted to some parts, read off `add` one part at a time."""
    F = np.zeros((blocks.n_features, len(parts)))
    for s, p in enumerate(parts):
        out = np.zeros(blocks.n_features)
        blocks.functions.add(blocks.data, i, np.array([p], dtype=np.int32), np.ones(1), 1, 1.0, out)
        F[:, s] = out
    return F


@pytest.mark.parametrize("name", PROBLEMS)
def test_read_sqnorm_and_add_are_one_linear_map(name):
    blocks = PROBLEMS[name]().blocks
    rng = np.random.default_rng(0)
    work = blocks.work()
    for i in range(len(blocks)):
        w = rng.normal(size=blocks.n_features)
        blocks.functions.score(blocks.data, i, w)
        size, _ = blocks.functions.maximize(blocks.data, i, w, work.part, work.value)
        truth = blocks.truth
        true_parts = truth.part[truth.start[i] : truth.start[i + 1]]
        parts = np.unique(np.concatenate([work.part[:size], true_parts])).astype(np.int32)
        F = columns(blocks, i, parts)
        delta = rng.normal(size=len(parts))
        theta = np.zeros(len(parts))
        blocks.functions.read(blocks.data, i, w, parts, len(parts), theta)
        np.testing.assert_allclose(theta, F.T @ w, atol=1e-12)
        sqnorm = blocks.functions.sqnorm(blocks.data, i, parts, delta, len(parts))
        np.testing.assert_allclose(sqnorm, np.sum((F @ delta) ** 2), rtol=1e-12, atol=1e-14)
        out = np.ones(blocks.n_features)
        blocks.functions.add(blocks.data, i, parts, delta, len(parts), 0.5, out)
        np.testing.assert_allclose(out, 1.0 + 0.5 * (F @ delta), atol=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_corners_are_the_features_of_outputs(name):
    """F z of the true corner is phi(x_i, y_i), as the task's own `features` has it."""
    problem = PROBLEMS[name]()
    blocks, truth = problem.blocks, problem.blocks.truth
    for i in range(len(problem)):
        a, b = truth.start[i], truth.start[i + 1]
        F = columns(blocks, i, truth.part[a:b])
        expected = problem.task.features(problem.X[i], problem.Y[i])
        np.testing.assert_allclose(F @ truth.value[a:b], expected, atol=1e-12)


def test_some_sequences_do_without_gram_matrix():
    assert (PROBLEMS["chain-long"]().blocks.data.gram_start < 0).any()
    assert (PROBLEMS["chain-dense"]().blocks.data.gram_start >= 0).all()
