"""Endings: each status can be reached, budgets are kept, nothing is lost."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.base import pace
from blockwolfe.methods.bcfw import engine as block_engine
from blockwolfe.running.limits import Limits
from blockwolfe.solving import setup
from held_clock import Costly, HeldClock
from zoo import PROBLEMS, PlainTask, chain_data, multiclass_data

LAM = 0.05


@pytest.fixture
def problem():
    return PROBLEMS["chain-dense"]()


def test_certified(problem):
    result = bw.solve(problem, LAM, tol=1e-2, random_state=0)
    assert result.status is bw.Status.CERTIFIED
    assert result.certificate.gap <= 1e-2
    assert result.certificate.exact
    assert "gap" in result.message


@pytest.mark.parametrize("method", ["bcfw", "fw", "bcfw+averaging"])
def test_max_passes(problem, method):
    result = bw.solve(problem, LAM, method, tol=0.0, max_passes=3)
    assert result.status is bw.Status.MAX_PASSES
    assert result.trace[-1].passes == 3


@pytest.mark.parametrize("budget", [8, 9, 20, 37, 160])
@pytest.mark.parametrize("method", ["bcfw", "bcfw+uniform", "fw"])
def test_max_oracle_calls_includes_the_final_certificate(problem, budget, method):
    result = bw.solve(problem, LAM, method, tol=0.0, max_oracle_calls=budget)
    assert result.status is bw.Status.MAX_ORACLE_CALLS
    assert result.counts.oracle_calls + result.counts.certificate_calls <= budget
    assert np.isfinite(result.certificate.gap)


def test_time_limit_is_kept_within_a_pass(monkeypatch):
    """An oracle call takes a second of a clock that nothing else moves, a pass 60 of them."""
    clock = HeldClock()
    monkeypatch.setattr(setup, "Clock", lambda: clock)
    for module in (pace, block_engine):
        monkeypatch.setattr(module, "time", clock)
    problem = bw.Problem(Costly(clock, cost=1.0), *multiclass_data(n=60))
    result = bw.solve(problem, LAM, tol=0.0, time_limit=90.0)
    assert result.status is bw.Status.TIME_LIMIT
    assert 0 < result.counts.visits < 60  # it was left early, for the final certificate
    assert problem.task.calls == clock.now == result.seconds
    assert 88 <= clock.now <= 92
    assert clock.looks > result.counts.visits  # (at least once before each visit)
    assert np.isfinite(result.certificate.gap)


def test_stalled_at_the_precision_of_floats():
    """One example, two labels: one exact step reaches the optimum, up to rounding."""
    endings = []
    for seed in range(20):
        x = np.random.default_rng(seed).normal(size=(1, 3))
        single = bw.Problem(bw.tasks.Multiclass(labels=[0, 1]), x, [1])
        result = bw.solve(single, LAM, tol=0.0, max_passes=10_000)
        endings.append(result.status)
        assert abs(result.certificate.gap) < 1e-14
    assert set(endings) <= {bw.Status.STALLED, bw.Status.CERTIFIED}
    assert bw.Status.STALLED in endings


def test_callback_sees_every_pass_and_can_stop(problem):
    seen = []

    def stop_at_four(event):
        seen.append(event.row.passes)
        with pytest.raises(ValueError, match="read-only"):
            event.w[0] = 1.0
        return event.row.passes == 4

    result = bw.solve(problem, LAM, tol=0.0, callbacks=[stop_at_four])
    assert result.status is bw.Status.STOPPED_BY_CALLBACK
    assert seen == [0, 1, 2, 3, 4]
    assert np.isfinite(result.certificate.gap)


def test_callback_answer_must_be_true_false_or_none(problem):
    with pytest.raises(bw.OptionError, match="returned 'yes'"):
        bw.solve(problem, LAM, callbacks=[lambda event: "yes"])


class Interrupting(PlainTask):
    """Ctrl-C during the k-th oracle call."""

    def __init__(self, task, at):
        super().__init__(task)
        self.calls, self.at = 0, at

    def augmented_decode(self, x, y, w):
        self.calls += 1
        if self.calls in self.at:
            raise KeyboardInterrupt
        return super().augmented_decode(x, y, w)


# Calls before the first visit: three examples at three w, and the unit of tolerances on 8 examples.
PROBES = 9 + 8


@pytest.mark.parametrize("method", ["bcfw", "bcfw+averaging", "fw"])
@pytest.mark.parametrize("at", [1, 5, 18, 31])
def test_interruption_keeps_the_work(method, at):
    X, Y = multiclass_data(n=8)
    task = bw.Problem(bw.tasks.Multiclass(), X, Y).task
    problem = bw.Problem(Interrupting(task, {PROBES + at}), X, Y)
    result = bw.solve(problem, LAM, method, tol=0.0, random_state=0)
    assert result.status is bw.Status.INTERRUPTED
    assert result.certificate.gap == pytest.approx(bw.certify(problem, result.state, LAM).gap)
    resumed = bw.solve(problem, LAM, method, tol=0.05, start=result.last_state)
    assert resumed.is_certified


@pytest.mark.parametrize("certify_every", [1, 10])
def test_second_interruption_leaves_at_once_and_claims_nothing(certify_every):
    """8 visits, with certify_every=1 a certificate of 8, then Ctrl-C in the second pass."""
    X, Y = multiclass_data(n=8)
    task = bw.Problem(bw.tasks.Multiclass(), X, Y).task
    at = PROBES + 8 + (8 if certify_every == 1 else 0) + 4
    problem = bw.Problem(Interrupting(task, {at, at + 1}), X, Y)
    method = bw.BCFW(certify_every=certify_every)
    result = bw.solve(problem, LAM, method, tol=0.0, random_state=0)
    assert result.status is bw.Status.INTERRUPTED
    assert np.isnan(result.certificate.gap)
    assert not result.certificate.exact
    assert np.isfinite(bw.certify(problem, result.state, LAM).gap)


def test_warm_start_from_a_solution_takes_no_step(problem):
    first = bw.solve(problem, LAM, tol=1e-2, random_state=0)
    again = bw.solve(problem, LAM, tol=1e-2, start=first.state)
    assert again.counts.visits == 0
    assert again.is_certified


def test_warm_start_at_another_lambda(problem):
    first = bw.solve(problem, LAM, tol=1e-2, random_state=0)
    warm = bw.solve(problem, 0.8 * LAM, tol=1e-2, start=first.state, random_state=0)
    cold = bw.solve(problem, 0.8 * LAM, tol=1e-2, random_state=0)
    assert warm.counts.visits < cold.counts.visits
    assert abs(warm.certificate.primal - cold.certificate.primal) <= 1e-2


def test_start_of_another_problem_is_refused(problem):
    X, Y = chain_data(n=7)
    other = bw.Problem(bw.tasks.Chain(3), X, Y)
    with pytest.raises(bw.InputError, match="does not belong to this problem"):
        bw.solve(problem, LAM, start=other.initial_state())
    X, Y = chain_data()
    Y = [y.copy() for y in Y]
    Y[0][0] = (Y[0][0] + 1) % 3
    relabelled = bw.Problem(bw.tasks.Chain(3), X, Y)
    with pytest.raises(bw.InputError, match="does not belong"):
        bw.certify(problem, relabelled.initial_state(), LAM)


def test_start_of_another_loss_is_refused():
    class Doubled(PlainTask):
        def loss(self, y, y_hat):
            return 2 * super().loss(y, y_hat)

    problem = PROBLEMS["multiclass-python"]()
    other = bw.Problem(Doubled(problem.task), problem.X, problem.Y)
    with pytest.raises(bw.InputError, match="does not belong"):
        bw.certify(other, problem.initial_state(), LAM)


def test_held_out_loss_is_traced(problem):
    X, Y = chain_data(seed=1)
    result = bw.solve(problem, LAM, tol=1e-2, held_out=(X, Y))
    last = result.trace[-1].held_out_loss
    predictions = problem.task.predict(X, result.w)
    expected = np.mean([np.mean(p != y) for p, y in zip(predictions, Y, strict=True)])
    assert last == pytest.approx(expected)


def test_python_corners_may_grow():
    """A corner larger than any seen before is placed without losing or repeating a call."""

    class Growing(PlainTask):
        calls = 0

        def augmented_decode(self, x, y, w):
            Growing.calls += 1
            return super().augmented_decode(x, y, w)

        def features(self, x, y):
            phi = np.zeros(self.n_features)
            phi[: 1 + 3 * int(y)] = x[0]
            return phi

        def decode(self, x, w):
            return max(range(3), key=lambda y: np.dot(w, self.features(x, y)))

        def loss(self, y, y_hat):
            return float(y != y_hat)

    class Direct(Growing):
        def augmented_decode(self, x, y, w):
            Growing.calls += 1
            return max(range(3), key=lambda h: self.loss(y, h) + np.dot(w, self.features(x, h)))

    X, Y = multiclass_data()
    task = Direct(bw.Problem(bw.tasks.Multiclass(), X, Y).task)
    Y = [0] * len(Y)
    problem = bw.Problem(task, X, Y)
    result = bw.solve(problem, LAM, tol=1e-2, random_state=0)
    probes = 9 + 10  # three examples at three w; the unit of tolerances
    made = result.counts.oracle_calls + result.counts.certificate_calls
    assert result.is_certified
    assert Growing.calls == made + probes


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent to the own process")
def test_ctrl_c_at_any_moment_leaves_a_sound_state():
    """A signal can arrive between any two bytecodes, for example while blocks get more room."""
    X, Y = chain_data(n=60, n_labels=3, longest=9)
    problem = bw.Problem(bw.tasks.Chain(3), X, Y)
    bw.solve(problem, 1e-3, "bcfw+uniform", tol=0.0, max_passes=2)  # compiled before the clock runs

    for trial in range(60):

        def arm(event, delay=0.0004 * trial):
            if event.row.passes == 0:
                threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

        result = bw.solve(
            problem, 1e-3, "bcfw+uniform", tol=0.0, random_state=trial, callbacks=[arm]
        )
        assert result.status is bw.Status.INTERRUPTED
        certificate = bw.certify(problem, result.state, 1e-3)
        assert certificate.exact
        assert -1e-20 <= certificate.dual <= certificate.primal <= 1e3


def test_exact_oracles_are_never_called_inexact():
    """Near the optimum gaps are rounding noise around zero; that is no violation."""
    from sklearn.datasets import load_iris
    from sklearn.model_selection import KFold

    X, y = load_iris(return_X_y=True)
    for seed in range(4):
        for train, _ in KFold(5, shuffle=True, random_state=seed).split(X):
            problem = bw.Problem(bw.tasks.Multiclass(), X[train], y[train])
            result = bw.solve(problem, 0.01, tol=0.01, max_passes=300, random_state=seed)
            assert result.certificate.exact
    for seed in range(20):
        X, Y = chain_data(n=12, longest=2, seed=seed)
        problem = bw.Problem(bw.tasks.Chain(3), X, Y)
        assert bw.solve(problem, 1.0, tol=0.0, max_passes=200, random_state=seed).certificate.exact


def test_seconds_do_not_count_callbacks(problem):
    began = time.perf_counter()
    result = bw.solve(
        problem, LAM, tol=0.0, max_passes=3, callbacks=[lambda event: time.sleep(0.1)]
    )
    assert time.perf_counter() - began - result.seconds >= 4 * 0.1


def test_unlucky_uniform_draws_are_not_called_stalled():
    """Nothing was gained since the last certificate, but not every open block was visited."""
    X, Y = [[1, 0], [0.9, 0.3], [-1, 0.2]], [0, 0, 1]
    problem = bw.Problem(bw.tasks.Multiclass(bias=False), X, Y)
    method = bw.BCFW(sampling=bw.Uniform(), certify_every=1)
    for seed in range(30):
        result = bw.solve(problem, 0.1, method, tol=1e-6, random_state=seed)
        assert result.is_certified


def test_callbacks_see_the_last_pass(problem):
    events = []
    result = bw.solve(problem, LAM, tol=1e-2, callbacks=[events.append])
    assert [event.row.passes for event in events] == list(range(result.trace[-1].passes + 1))
    assert events[-1].row.gap == result.certificate.gap
    np.testing.assert_array_equal(events[-1].w, result.w)
    assert problem.primal(events[-1].w, LAM) == pytest.approx(result.certificate.primal)
    assert not np.array_equal(events[1].w, events[-1].w)  # a copy, not the live array


def test_two_threads_may_share_a_problem(problem):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(bw.solve, problem, LAM, tol=0.0, max_passes=30, random_state=0)
            for _ in range(6)
        ]
        results = [job.result() for job in jobs]
    for result in results:
        np.testing.assert_array_equal(result.w, results[0].w)


class WrongAtFirst(PlainTask):
    """Forgets the loss for a while: no later certificate can show it, only the visits do."""

    calls = 0

    def augmented_decode(self, x, y, w):
        WrongAtFirst.calls += 1
        if 9 < WrongAtFirst.calls < 43:
            return self.decode(x, w)
        return super().augmented_decode(x, y, w)


def test_an_oracle_caught_during_visits_is_remembered():
    X, Y = multiclass_data()
    task = bw.Problem(bw.tasks.Multiclass(), X, Y).task
    result = bw.solve(bw.Problem(WrongAtFirst(task), X, Y), 0.1, tol=0.05, random_state=0)
    assert result.status is bw.Status.INEXACT_ORACLE
    assert not result.certificate.exact


def test_predefined_steps_are_2n_over_k_plus_2n():
    """One block, orthogonal corners: after three visits their weights are 1/6, 1/3 and 1/2."""
    toy = bw.datasets.toy_problem(1, 5)
    problem = bw.Problem(toy.task, toy.X, toy.Y)
    for method in ("bcfw+predefined", "fw+predefined"):
        result = bw.solve(problem, toy.lam, method, tol=0.0, max_passes=3)
        weights = np.sort(result.state.v[:5]) / np.sqrt(0.5)
        np.testing.assert_allclose(weights, [0, 0, 1 / 6, 1 / 3, 1 / 2], atol=1e-12)


def test_state_of_other_weights_or_loss_is_refused(problem):
    X, Y = chain_data()
    for other in (
        bw.Problem(bw.tasks.Chain(3), X, Y, sample_weight=[2, 1, 1, 1, 1, 1, 1, 1]),
        bw.Problem(bw.tasks.Chain(3, task_loss=2 * (1 - np.eye(3))), X, Y),
        bw.Problem(bw.tasks.Chain(3), [2 * x for x in X], Y),
    ):
        with pytest.raises(bw.InputError, match="does not belong to this problem"):
            bw.certify(problem, other.initial_state(), LAM)


def test_read_only_states_can_be_certified(problem):
    result = bw.solve(problem, LAM, tol=1e-2)
    state = result.state
    for array in (state.part, state.mean, state.ell, state.start, result.w):
        array.flags.writeable = False
    assert bw.certify(problem, state, LAM, w=result.w).gap <= 1e-2


def test_held_out_data_that_does_not_fit_is_refused_at_once(problem):
    with pytest.raises(bw.InputError, match="X has 7 features"):
        bw.solve(problem, LAM, held_out=([np.zeros((2, 7))], [[0, 1]]))


@pytest.mark.parametrize("n_steps", [0, 1, 3])
def test_batch_steps_use_all_the_calls_there_are(problem, n_steps):
    n = len(problem)
    result = bw.solve(problem, LAM, "fw", tol=0.0, max_oracle_calls=(n_steps + 1) * n)
    assert result.trace[-1].passes == n_steps


@pytest.mark.parametrize(("n_blocks", "passes"), [(10, 20_000), (200, 1000), (10**6, 1000)])
def test_passes_of_auto(n_blocks, passes):
    """Few examples need many passes, and passes over few cost nothing."""
    assert Limits.checked(0.1, "auto", None, None, n_blocks).max_passes == passes
    assert Limits.checked(0.1, None, None, None, n_blocks).max_passes is None


def test_the_estimator_is_certified_where_a_thousand_passes_are_too_few():
    X, Y = chain_data(n=20)
    method = "bcfw+pairwise+cache"
    svm = bw.StructuredSVM(bw.tasks.Chain(3), lam=0.001, method=method, random_state=0).fit(X, Y)
    assert svm.result_.is_certified
    assert svm.n_iter_ > 1000
