"""What methods without a dual point are given: values, subgradients, and checkpoints."""

from dataclasses import dataclass

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.methods.base import Setup
from blockwolfe.problem.workers import Workers
from zoo import PRIMAL_METHODS, PROBLEMS, bounded, enumerated_primal

LAM = 0.3


@dataclass(frozen=True)
class Noisy(bw.Method):
    """Subgradient steps, each followed by a random one: its random numbers must be kept, too."""

    name = "noisy"
    words = "noisy steps"
    has_dual = False

    def start(self, setup):
        return NoisyEngine(self, setup)


class NoisyEngine(bw.PrimalEngine):
    kept = ("n_calls",)
    n_calls = 0

    def advance(self, max_visits, may_go_on):
        if may_go_on():
            _, slope = self.value_and_subgradient(self.w)
            step = 0.1 * slope + 0.01 * self.rng.normal(size=len(slope))
            self.w = self.within_bounds(self.w - step)
            self.n_calls += 1
            self.count(steps=1)


def engine_of(problem, n_jobs=1):
    workers = Workers(problem.blocks, n_jobs)
    state, rng = problem.initial_state(), np.random.default_rng(0)
    return Noisy().start(Setup(problem.blocks, state, LAM, rng, workers)), workers


def test_weights_in_any_form_are_the_same_weights():
    """Compiled code reads them without looking at their type or layout."""
    problem = PROBLEMS["chain-dense"]()
    engine, _ = engine_of(problem)
    w = np.arange(problem.n_features) % 5 - 2
    expected = engine.value_and_subgradient(w.astype(float))
    strided = np.stack([w, 9 * w], axis=1).astype(float)[:, 0]
    for given in (w, strided, w.astype(np.float32)):
        value, slope = engine.value_and_subgradient(given)
        assert value == pytest.approx(expected[0])
        np.testing.assert_allclose(slope, expected[1])
    with pytest.raises(bw.InputError, match="w has shape"):
        engine.value_and_subgradient(w[:-1])


@pytest.mark.parametrize("name", PROBLEMS)
def test_values_and_subgradients(name):
    problem = PROBLEMS[name]()
    engine, _ = engine_of(problem)
    rng = np.random.default_rng(0)
    for _ in range(3):
        w, other = rng.normal(size=(2, problem.n_features))
        value, slope = engine.value_and_subgradient(w)
        assert value == pytest.approx(problem.primal(w, LAM))
        if name != "chain-long":
            assert value == pytest.approx(enumerated_primal(problem, w, LAM))
        # convex, and strongly: P(u) >= P(w) + <g, u - w> + lam/2 |u - w|^2; tight close to w
        for u in (other, w + 1e-6 * other):
            away = u - w
            bound = value + np.dot(slope, away) + LAM / 2 * np.dot(away, away)
            assert problem.primal(u, LAM) >= bound - 1e-9
        there = problem.primal(w + 1e-6 * other, LAM)
        assert there == pytest.approx(value + 1e-6 * np.dot(slope, other), abs=1e-9)
    assert engine.counts.oracle_calls == engine.counts.visits == 3 * len(problem)


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
def test_workers_change_nothing(name):
    problem = PROBLEMS[name]()
    w = np.random.default_rng(0).normal(size=problem.n_features)
    alone, _ = engine_of(problem)
    shared, workers = engine_of(problem, n_jobs=2)
    with workers:
        value, slope = shared.value_and_subgradient(w)
    assert value == alone.value_and_subgradient(w)[0]
    np.testing.assert_array_equal(slope, alone.value_and_subgradient(w)[1])


def test_it_begins_within_bounds():
    problem = PROBLEMS["multiclass-python"]()
    lower, upper = bounded(problem)
    problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=(lower, upper))
    engine, _ = engine_of(problem)
    assert (engine.w >= lower).all()
    assert (engine.w <= upper).all()


def test_a_checkpoint_goes_on_with_the_same_random_numbers(tmp_path):
    problem = PROBLEMS["multiclass-python"]()

    def crash(event):
        if event.row.passes == 4:
            raise ArithmeticError

    given = {"max_passes": 9, "random_state": 0}
    whole = bw.solve(problem, LAM, Noisy(), **given)
    keeping = bw.Checkpoint(tmp_path / "run.npz", every=0.0)
    with pytest.raises(ArithmeticError):
        bw.solve(problem, LAM, Noisy(), checkpoint=keeping, callbacks=crash, **given)
    rest = bw.solve(problem, LAM, Noisy(), checkpoint=keeping, **given | {"random_state": None})
    np.testing.assert_array_equal(rest.w, whole.w)
    assert rest.counts == whole.counts


@pytest.mark.parametrize("method", PRIMAL_METHODS)
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
def test_registered_ones_certify_what_they_return(name, method):
    problem = PROBLEMS[name]()
    result = bw.solve(problem, LAM, method, max_passes=20, random_state=0)
    assert result.state is None
    assert result.certificate.is_primal_only
    assert result.certificate.primal == pytest.approx(problem.primal(result.w, LAM))
    if not method.startswith("perceptron"):  # (which minimises nothing)
        assert result.certificate.primal < problem.primal(np.zeros(problem.n_features), LAM)
