"""Paths of many small random problems: no method ends one falsely as stalled."""

import numpy as np
import pytest

import blockwolfe as bw
from amount import ALL
from blockwolfe.running.checkpoint import Writer
from plain_tasks import Labels
from zoo import multiclass_data

METHODS = [
    "bcfw",
    "bcfw+uniform",
    "bcfw+cyclic",
    "bcfw+cyclic+blended",
    "bcfw+uniform+away",
    "bcfw+gap+pairwise+cache",
    "bcfw+maxgap",
    "fw",
    "auto",
]
PREDEFINED = [
    "bcfw+predefined",
    "bcfw+uniform+predefined",
    "bcfw+cyclic+predefined",
    "fw+predefined",
]
ENDINGS = {True: bw.Status.CERTIFIED, False: bw.Status.ESTIMATED}


def random_problem(seed):
    rng = np.random.default_rng(seed)
    X, Y = multiclass_data(n=int(rng.integers(3, 9)), n_features=2, seed=seed)
    return bw.Problem(bw.tasks.Multiclass(bias=False), X, Y)


@pytest.mark.parametrize("is_exact", [True, False], ids=["exact", "heuristic"])
@pytest.mark.parametrize("method", METHODS)
def test_random_paths_go_to_their_end(method, is_exact):
    for seed in range(4):
        path = bw.solve_path(random_problem(seed), 0.2, 0.3, method, exact=is_exact,
                             random_state=seed, max_passes=2000)  # fmt: skip
        assert path.status is ENDINGS[is_exact], seed
        assert path.lam_min == 0.3
        if is_exact:
            assert max(point.gap for point in path.breakpoints) <= path.kappa * path.eps


@pytest.mark.parametrize("method", PREDEFINED)
def test_steps_that_are_not_monotone_never_stall(method):
    """They get slower and slower: a budget ends them."""
    for seed in range(3):
        path = bw.solve_path(random_problem(seed), 0.2, 0.3, method, random_state=seed,
                             max_passes=60)  # fmt: skip
        assert path.status in (bw.Status.CERTIFIED, bw.Status.MAX_PASSES), seed


def test_shares_of_cyclic_passes_reach_every_block():
    """The draws of one share follow those of the one before; a whole pass is as ever."""
    gap, rng = np.ones(5), np.random.default_rng(0)
    first, then = (bw.Cyclic().draws(gap, n_draws, rng).block.tolist() for n_draws in (10, 12))
    assert first == [0, 1, 2, 3, 4]
    assert then == [2, 3, 4, 0, 1]


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


def test_a_path_killed_within_a_lambda_ends_as_if_undisturbed(tmp_path, monkeypatch):
    """A checkpoint is written between any two chunks of visits, not only between breakpoints."""
    X, Y = multiclass_data(n=12, n_features=3)
    problem = bw.Problem(Labels(3, 3), X, Y)
    given = {"random_state": 0, "method": "bcfw+gap+pairwise"}
    whole = bw.solve_path(problem, 0.05, 0.5, **given)
    write, n_written, within = Writer.write, [0], []

    def write_and_crash(writer, driver, engine):
        write(writer, driver, engine)
        n_written[0] += 1
        if n_written[0] == crash_after:
            path = driver["goal"]["arrays"]
            within.append(len(path["point_lam"]) > 0 and engine.lam < path["point_lam"][-1])
            raise ArithmeticError

    for crash_after in (1, 9, 20, 37) if ALL else (1, 20):
        n_written[0] = 0
        given["checkpoint"] = bw.Checkpoint(tmp_path / f"{crash_after}.npz", every=0.0)
        with monkeypatch.context() as patch:
            patch.setattr(Writer, "write", write_and_crash)
            with pytest.raises(ArithmeticError):
                bw.solve_path(problem, 0.05, 0.5, **given)
        path = bw.solve_path(problem, 0.05, 0.5, **given | {"random_state": None})
        assert [p.lam for p in path.breakpoints] == [p.lam for p in whole.breakpoints]
        np.testing.assert_array_equal(path.coef(0.6), whole.coef(0.6))
    assert any(within)
