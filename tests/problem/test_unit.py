"""The unit of tolerances: the objective at w = 0, so that a tolerance means the same everywhere."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.problem import unit
from plain_tasks import Labels
from zoo import PROBLEMS, chain_data, multiclass_data

LAM = 0.1


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_is_the_objective_where_training_starts(name):
    problem = PROBLEMS[name]()
    if problem.blocks.is_exact:
        start = problem.primal(np.zeros(problem.n_features), LAM)
        assert problem.unit == pytest.approx(start, rel=1e-9)


def test_sample_weights_count():
    X, Y = [[[0.0]] * length for length in (1, 4)], [[0] * length for length in (1, 4)]
    found = bw.Problem(bw.tasks.Chain(2), X, Y, sample_weight=[3.0, 1.0]).unit
    assert found == pytest.approx((3.0 * 1 + 1.0 * 4) / 4.0)


@pytest.mark.parametrize("loss", ["normalized_hamming", "hamming"])
def test_of_shares_it_is_one_and_of_counts_the_mean_length(loss):
    X, Y = chain_data(n=9)
    found = bw.Problem(bw.tasks.Chain(3, task_loss=loss), X, Y).unit
    if loss == "normalized_hamming":
        assert found == 1.0  # (to the bit: figures of the papers' setting stay as they are)
    assert found == pytest.approx(1.0 if loss != "hamming" else np.mean([len(y) for y in Y]))


@pytest.mark.parametrize("method", ["bcfw", "auto", "fw"])
def test_a_loss_in_other_units_is_the_same_run(method):
    """With an eighth of lam: 8 times the weights and the gaps; a power of two rounds alike."""
    X, y = multiclass_data(n=40)
    costs = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.5], [3.0, 1.0, 0.0]])
    first, second = (
        bw.solve(
            bw.Problem(bw.tasks.Multiclass(3, task_loss=times * costs), X, y), LAM / times, method,
            tol=1e-3, random_state=0,
        )
        for times in (1.0, 8.0)
    )  # fmt: skip
    assert first.is_certified
    assert first.trace[-1].passes == second.trace[-1].passes
    np.testing.assert_allclose(second.w, 8.0 * first.w, rtol=1e-9)
    assert second.certificate.relative_gap == pytest.approx(
        first.certificate.relative_gap, rel=1e-9
    )
    assert second.certificate.gap == pytest.approx(8.0 * first.certificate.gap, rel=1e-9)


def test_targets_and_paths_count_in_it():
    X, Y = chain_data(n=20)
    shares, counts = (
        bw.Problem(bw.tasks.Chain(3, task_loss=loss), X, Y)
        for loss in ("normalized_hamming", "hamming")
    )
    for problem in (shares, counts):
        path = bw.solve_path(problem, 0.3, 0.05, random_state=0)
        assert path.eps == pytest.approx(0.3 * problem.unit)
        result = bw.solve(problem, LAM, tol=1e-3, targets=[0.2], random_state=0)
        gaps = np.array([row.gap for row in result.trace])
        between = gaps[np.isfinite(gaps)] / problem.unit
        assert ((between <= 0.2) & (between > 1e-3)).any()


def test_few_blocks_are_looked_at_where_there_are_many(monkeypatch):
    monkeypatch.setattr(unit, "MOST_BLOCKS", 50)
    X, y = multiclass_data(n=200)
    calls = []

    class Counted(Labels):
        def augmented_decode(self, x, y, w):
            calls.append(1)
            return super().augmented_decode(x, y, w)

    problem = bw.Problem(Counted(3, 4), X, y)
    calls.clear()
    assert problem.unit == 1.0
    assert len(calls) == unit.FEW_BLOCKS
    compiled = bw.Problem(bw.tasks.Multiclass(3), X, y)
    assert len(unit._some_of(compiled.blocks)) == 50
    assert compiled.unit == 1.0
