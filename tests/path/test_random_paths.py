"""Paths of many small random problems: no method ends one falsely as stalled."""

import numpy as np
import pytest

import blockwolfe as bw
from plain_tasks import Labels
from zoo import multiclass_data

METHODS = [
    "bcfw",
    "bcfw+uniform",
    "bcfw+cyclic",
    "bcfw+cyclic+blended",
    "bcfw+uniform+away",
    "bcfw+predefined",
    "bcfw+uniform+predefined",
    "bcfw+gap+pairwise+cache",
    "bcfw+maxgap",
    "fw+predefined",
    "auto",
]
N_SEEDS = 6
ENDINGS = {True: bw.Status.CERTIFIED, False: bw.Status.ESTIMATED}


def random_problem(seed):
    rng = np.random.default_rng(seed)
    X, Y = multiclass_data(n=int(rng.integers(3, 9)), n_features=2, seed=seed)
    return bw.Problem(bw.tasks.Multiclass(bias=False), X, Y)


@pytest.mark.parametrize("is_exact", [True, False], ids=["exact", "heuristic"])
@pytest.mark.parametrize("method", METHODS)
def test_random_paths_go_to_their_end(method, is_exact):
    for seed in range(N_SEEDS):
        problem = random_problem(seed)
        for eps in (0.3, 0.1):
            path = bw.solve_path(problem, eps, 0.3, method, exact=is_exact, random_state=seed,
                                 max_passes=5000)  # fmt: skip
            assert path.status is ENDINGS[is_exact], (seed, eps)
            assert path.lam_min == 0.3
            if is_exact:
                assert max(point.gap for point in path.breakpoints) <= path.kappa * eps


def test_a_path_that_no_step_can_improve_is_stalled():
    """One example, two labels, and a gap below the precision of floats."""
    endings = set()
    for seed in range(10):
        x = np.random.default_rng(seed).normal(size=(1, 3))
        problem = bw.Problem(bw.tasks.Multiclass(labels=[0, 1], bias=False), x, [1])
        path = bw.solve_path(problem, 1e-17, 0.01, "bcfw", lam_max=0.05, max_passes=2000)
        endings.add(path.status)
    assert bw.Status.STALLED in endings


class CaughtLater(Labels):
    """Forgets the loss for a while, though it claims to be exact."""

    def __init__(self, n_labels, n_inputs):
        super().__init__(n_labels, n_inputs)
        self.n_calls = 0

    def augmented_decode(self, x, y, w):
        self.n_calls += 1
        if 60 < self.n_calls < 90:
            return self.decode(x, w)
        return super().augmented_decode(x, y, w)


def test_an_oracle_that_is_caught_leaves_a_path_of_estimates():
    X, Y = multiclass_data(n=10, n_features=3)
    problem = bw.Problem(CaughtLater(3, 3), X, Y)
    path = bw.solve_path(problem, 0.1, 0.5, "bcfw", random_state=0)
    assert not path.exact
    assert path.status is bw.Status.ESTIMATED
