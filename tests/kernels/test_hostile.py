"""What a hostile reader of kernels tried: no certificate is false, and nothing breaks unexplained."""

import threading

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import blockwolfe as bw
from blockwolfe.tasks import Multiclass

LAM = 0.01
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


def primal_of(problem, w, G, lam=LAM):
    """The objective of a multiclass problem with two labels 0 and 1, from the whole matrix G."""
    A, bias = problem.task.coefficients(w), w[: problem.task.n_linear]
    S = G @ A
    scores, rows = S + bias, np.arange(len(S))
    true = scores[rows, Y][:, None]
    hinge = (scores - true + (np.arange(2) != Y[:, None])).max(axis=1)
    return 0.5 * lam * ((A * S).sum() + bias @ bias) + hinge.mean()


def test_threads_that_share_a_problem_do_not_mix_up_their_rows():
    """Rows come and go where not all are held, and changes wait for them: each run for its own."""
    task = Multiclass(kernel="rbf", gamma=1.0, kernel_cache_mb=10 * 60 * 8 / 2**20)
    problem, G = bw.Problem(task, X, Y), rbf_kernel(X, gamma=1.0)
    found = {}

    def run(seed):
        found[seed] = bw.solve(problem, LAM, tol=1e-4, random_state=seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for seed, result in found.items():
        alone = bw.solve(problem, LAM, tol=1e-4, random_state=seed)
        assert result.is_certified, seed
        assert result.certificate.primal == pytest.approx(primal_of(problem, result.w, G), abs=1e-9)
        np.testing.assert_allclose(result.w, alone.w, atol=1e-8)
