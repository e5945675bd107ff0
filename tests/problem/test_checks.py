"""`check_task` passes what is right and names what is wrong."""

import numpy as np
import pytest

import blockwolfe as bw
from zoo import PROBLEMS, PlainTask, chain_data, multiclass_data


@pytest.mark.parametrize("name", [n for n in PROBLEMS if n != "chain-long"])
def test_good_tasks_pass(name):
    problem = PROBLEMS[name]()
    report = bw.check_task(problem.task, problem.X, problem.Y)
    assert report.n_enumerated == len(problem)
    assert "sound" in repr(report)


def test_large_output_spaces_are_sampled():
    problem = PROBLEMS["chain-long"]()
    report = bw.check_task(problem.task, problem.X, problem.Y)
    assert report.n_enumerated == len(problem) - 1
    assert report.n_comparisons > 100


def base():
    X, Y = multiclass_data()
    return bw.Problem(bw.tasks.Multiclass(), X, Y).task, X, Y


def broken(**methods):
    task, X, Y = base()
    return type("Broken", (PlainTask,), methods)(task), X, Y


def minimise(self, x, y, w):
    return min(self.outputs(x), key=lambda h: self.loss(y, h) + np.dot(w, self.features(x, h)))


def forget_loss(self, x, y, w):
    return self.decode(x, w)


def change_w(self, x, w):
    w[:] = 0.0
    return 0


def change_x(self, x, w):
    x[0] = 99.0
    return self.task.decode(x, w)


BROKEN = {
    "minimising oracle": (dict(augmented_decode=minimise), "augmented_decode does not maximise L"),
    "oracle without loss": (dict(augmented_decode=forget_loss), "augmented_decode does not maximise"),
    "decoder of a constant": (dict(decode=lambda s, x, w: 0), "decode does not maximise <w, phi"),
    "loss at truth": (dict(loss=lambda s, y, h: 1.0), r"expected 0 at the truth"),
    "negative loss": (dict(loss=lambda s, y, h: -float(y != h)), "expected finite and >= 0"),
    "NaN loss": (dict(loss=lambda s, y, h: 0.0 if y == h else np.nan), "is nan"),
    "changes w": (dict(decode=change_w), "changed w"),
    "changes x": (dict(decode=change_x), r"changed X\[0\]"),
    "key too coarse": (dict(key=lambda s, y: 0), "key.. says .* are equal"),
    "key too fine": (dict(key=lambda s, y: np.random.default_rng().random()), "are different"),
    "random features": (
        dict(features=lambda s, x, y: np.random.default_rng().normal(size=s.n_features)),
        "differs between two calls|does not maximise",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_wrong_tasks_are_named(case):
    methods, message = BROKEN[case]
    task, X, Y = broken(**methods)
    with pytest.raises(bw.OracleError, match=message):
        bw.check_task(task, X.copy(), Y)


def test_wrong_compiled_oracle_is_caught():
    import numba

    @numba.njit
    def always_easy(data, i, w, index, value):
        return 0, 0.0

    toy = bw.datasets.toy_problem(4, 3)
    toy.task.compiled = lambda X, Y: bw.tasks.CompiledOracle(always_easy, (np.zeros(1),), 1)
    with pytest.raises(bw.OracleError, match="compiled oracle"):
        bw.check_task(toy.task, toy.X, toy.Y)


def test_compiled_oracle_that_writes_too_much_is_caught_before_it_runs_unchecked():
    import numba

    @numba.njit
    def too_long(data, i, w, index, value):
        for s in range(5):
            index[s], value[s] = s, 1.0
        return 5, 1.0

    toy = bw.datasets.toy_problem(4, 9)
    toy.task.compiled = lambda X, Y: bw.tasks.CompiledOracle(too_long, (np.zeros(1),), 3)
    with pytest.raises(bw.OracleError, match="max_size=3"):
        bw.solve(bw.Problem(toy.task, toy.X, toy.Y), toy.lam)


def test_chain_methods_one_at_a_time():
    X, Y = chain_data()
    task = bw.Problem(bw.tasks.Chain(3), X, Y).task
    w = np.random.default_rng(0).normal(size=task.n_features)
    together = task.predict(X, w)
    for x, guess in zip(X, together, strict=True):
        np.testing.assert_array_equal(task.decode(x, w), guess)
