"""Subgradient steps and the perceptron: their iterates by hand, and where they lead."""

import copy
import itertools

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.methods.registry import as_method, method_names
from blockwolfe.tasks.reading.vectors import dense_features
from plain_tasks import Labels
from same_runs import assert_same, content
from test_crafted_files import crafted
from zoo import (
    PRIMAL_METHODS,
    PROBLEMS,
    bounded,
    chain_data,
    masked_chain_data,
    multiclass_data,
    plain,
    tree_data,
)

LAM = 0.1
# No two outputs lose the same: ties at w = 0 would be broken by rounding.
COSTS = [[0.0, 1.0, 2.1], [3.2, 0.0, 1.3], [1.7, 0.9, 0.0]]


def _chains(X, Y, order=1, **given):
    return bw.Problem(bw.tasks.Chain(3, task_loss=COSTS, order=order), X, Y, **given)


GENERIC = {
    "multiclass": lambda: bw.Problem(bw.tasks.Multiclass(task_loss=COSTS), *multiclass_data()),
    "chain": lambda: _chains(*chain_data()),
    "chain-sparse": lambda: _chains([sp.csr_array(x) for x in chain_data()[0]], chain_data()[1]),
    "chain-masked": lambda: _chains(*masked_chain_data()),
    "chain-weighted": lambda: _chains(*chain_data(), sample_weight=[1, 2, 0, 3, 1, 1, 5, 1]),
    "chain-second-order": lambda: _chains(*masked_chain_data(), order=2),
    "chain-python": lambda: plain(_chains(*chain_data())),
    "tree": lambda: bw.Problem(bw.tasks.Tree(3, task_loss=COSTS), *tree_data()),
}


class Dense:
    """The blocks of a problem as lists of (psi, loss), by enumeration."""

    def __init__(self, problem):
        self.terms = [list(self._terms(problem, i)) for i in range(len(problem))]
        self.pull = len(problem) * problem.blocks.weight

    @staticmethod
    def _terms(problem, i):
        task, x, y = problem.task, problem.X[i], problem.Y[i]
        truth = dense_features(task, x, y, i)
        for other in itertools.chain([y], task.outputs(x)):
            yield truth - dense_features(task, x, other, i), task.loss(y, other)

    def psi(self, i, w):
        """n weight_i psi_i of the output of largest H_i."""
        psi, _ = max(self.terms[i], key=lambda term: term[1] - float(w @ term[0]))
        return self.pull[i] * psi

    def wrong(self, i, w):
        """The same of the output of largest score, ties to the largest loss."""
        psi, _ = max(self.terms[i], key=lambda term: (round(-float(w @ term[0]), 9), term[1]))
        return self.pull[i] * psi


def orders(problem, method, n_passes):
    rng, n = np.random.default_rng(0), len(problem)
    return np.concatenate([as_method(method).sampling.order(n, rng) for _ in range(n_passes)])


# -- by hand ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GENERIC)
def test_batch_steps_are_those_of_frank_wolfe(name):
    """beta = gamma / lam."""
    problem = GENERIC[name]()
    for passes in (1, 2, 7):
        steps = bw.solve(problem, LAM, "subgradient", max_passes=passes)
        same = bw.solve(problem, LAM, "fw+predefined", tol=0.0, max_passes=passes)
        np.testing.assert_allclose(steps.w, same.last_state.v / LAM, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", GENERIC)
@pytest.mark.parametrize("method", ["ssg", "ssg+last+uniform"])
def test_stochastic_steps_by_hand(name, method):
    problem, n_passes = GENERIC[name](), 3
    dense, w = Dense(problem), np.zeros(problem.n_features)
    average = w.copy()
    for k, i in enumerate(orders(problem, method, n_passes)):
        gamma = 1.0 / (k + 1.0)
        w = (1.0 - gamma) * w + gamma / LAM * dense.psi(i, w)
        average = k / (k + 2.0) * average + 2.0 / (k + 2.0) * w
    result = bw.solve(problem, LAM, method, max_passes=n_passes, random_state=0)
    wanted = average if as_method(method).averaging else w
    np.testing.assert_allclose(result.w, wanted, rtol=0, atol=1e-9)
    assert result.counts.visits == n_passes * len(problem)


@pytest.mark.parametrize("name", ["chain", "tree", "chain-python"])
@pytest.mark.parametrize("method", ["ssg", "ssg+last"])
def test_projected_steps_by_hand(name, method):
    """Bounds of every kind, one of which excludes zero."""
    free = GENERIC[name]()
    lower, upper = bounded(free)
    problem = bw.Problem(free.task, free.X, free.Y, bounds=(lower, upper))
    dense, w = Dense(problem), np.clip(np.zeros(problem.n_features), lower, upper)
    average = np.zeros_like(w)
    for k, i in enumerate(orders(problem, method, 3)):
        gamma = 1.0 / (k + 1.0)
        w = np.clip((1.0 - gamma) * w + gamma / LAM * dense.psi(i, w), lower, upper)
        average = k / (k + 2.0) * average + 2.0 / (k + 2.0) * w
    result = bw.solve(problem, LAM, method, max_passes=3, random_state=0)
    wanted = average if as_method(method).averaging else w
    np.testing.assert_allclose(result.w, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", GENERIC)
@pytest.mark.parametrize("method", ["perceptron", "perceptron+last+cyclic"])
def test_perceptron_by_hand(name, method):
    problem, n_passes = GENERIC[name](), 3
    dense, w = Dense(problem), np.zeros(problem.n_features)
    total = w.copy()
    for i in orders(problem, method, n_passes):
        w = w + dense.wrong(i, w)
        total += w
    result = bw.solve(problem, LAM, method, max_passes=n_passes, random_state=0)
    wanted = total / (n_passes * len(problem)) if as_method(method).averaging else w
    np.testing.assert_allclose(result.w, wanted, rtol=0, atol=1e-9)


def test_the_perceptron_does_not_go_by_the_scale_of_features_or_by_lambda():
    X, Y = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30) % 3
    found = [
        bw.solve(
            bw.Problem(bw.tasks.Multiclass(bias=False), scale * X, Y), lam, "perceptron",
            max_passes=4, random_state=0,
        ).w / scale
        for scale, lam in [(1.0, 1.0), (1e-6, 1.0), (1e6, 1e-4)]
    ]  # fmt: skip
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-9)


# -- where they lead -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_bounded", [False, True])
@pytest.mark.parametrize("name", ["multiclass-costs", "chain-dense", "tree", "matching"])
def test_they_end_near_the_optimum_of_the_others(name, is_bounded):
    problem, lam = PROBLEMS[name](), 1.0
    if is_bounded:
        problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=bounded(problem))
    best = bw.solve(problem, lam, tol=1e-7, max_passes=10_000, random_state=0)
    assert best.is_certified
    for method in ("subgradient", "subgradient+averaging", "ssg", "ssg+last"):
        found = bw.solve(problem, lam, method, max_passes=300, random_state=0)
        assert best.certificate.dual - 1e-12 <= found.certificate.primal
        assert found.certificate.primal <= best.certificate.primal + 0.01
        beside = bw.certify(problem, best.state, lam, w=found.w)
        assert beside.valid
        assert beside.gap == pytest.approx(found.certificate.primal - best.certificate.dual)


def test_the_perceptron_separates_what_can_be_separated():
    rng = np.random.default_rng(0)
    Y = [rng.integers(3, size=5) for _ in range(20)]
    X = [np.eye(3)[y] + 0.1 * rng.normal(size=(5, 3)) for y in Y]
    problem = bw.Problem(bw.tasks.Chain(3), X, Y)
    result = bw.solve(problem, LAM, "perceptron", max_passes=20, random_state=0)
    assert bw.metrics.token_accuracy(Y, problem.task.predict(X, result.w)) == 1.0


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bw.StochasticSubgradient, bw.Perceptron])
def test_sampling_by_gaps_is_refused(kind):
    with pytest.raises(bw.OptionError, match=r"sampling=GapSampling.* do not tell; use Uniform"):
        kind(sampling=bw.GapSampling())
    with pytest.raises(bw.OptionError, match="is not known"):
        as_method(f"{kind.name}+gap")
    assert f"{kind.name}+gap" not in method_names()
    assert f"{kind.name}+uniform" in method_names()


def test_the_perceptron_refuses_bounds():
    problem = PROBLEMS["chain-dense"]()
    problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=(0.0, None))
    with pytest.raises(bw.OptionError, match="'perceptron' does not keep to bounds .* Use 'ssg'"):
        bw.solve(problem, LAM, "perceptron", max_passes=3)


# -- going on --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", PRIMAL_METHODS)
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
def test_a_run_that_is_stopped_in_a_pass_goes_on_as_it_was(name, method, tmp_path):
    problem = PROBLEMS[name]()
    given = {"max_passes": 7, "random_state": 0}
    whole = bw.solve(problem, LAM, method, **given)
    path, n_asked = tmp_path / "run.npz", [0]

    def crash(event):
        n_asked[0] += 1
        if n_asked[0] in (2, 5):
            raise ArithmeticError

    keeping = bw.Checkpoint(path, every=0.0)
    for _ in range(2):
        with pytest.raises(ArithmeticError):
            bw.solve(problem, LAM, method, checkpoint=keeping, callbacks=crash, **given)
    rest = bw.solve(problem, LAM, method, checkpoint=keeping, **given)
    assert_same(content(rest), content(whole))


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-python"])
def test_a_pass_that_is_left_is_gone_on_with(name):
    problem = PROBLEMS[name]()
    whole, parted = (engine_of(problem, as_method("ssg"), LAM) for _ in range(2))
    whole.advance(len(problem), lambda: True)
    answers = iter([True, False, False, True, True])
    parted.passes._pace.until = lambda begin, end: min(begin + 3, end)
    while parted.counts.visits < len(problem):
        parted.advance(len(problem), lambda: next(answers, True))
    np.testing.assert_array_equal(parted.w, whole.w)
    np.testing.assert_array_equal(parted.certified_w, whole.certified_w)
    assert not parted.passes.is_open


@pytest.mark.parametrize("block", [-1, 10**6])
def test_a_file_with_blocks_that_there_are_not_is_refused(block, tmp_path):
    problem, path = PROBLEMS["chain-dense"](), tmp_path / "run.npz"
    bw.solve(problem, LAM, "ssg", max_passes=2, random_state=0, checkpoint=path)

    def change(header, arrays):
        (name,) = [name for name in arrays if name.endswith("order")]
        arrays[name][0] = block

    crafted(path, change)
    with pytest.raises(bw.ModelFileError, match="order"):
        bw.solve(problem, LAM, "ssg", max_passes=4, random_state=0, checkpoint=path)


class Wrong(bw.Sampling):
    name, words, is_random = "wrong", "wrong", True
    blocks = ()

    def order(self, n_blocks, rng):
        return np.array(self.blocks, dtype=np.int64)


@pytest.mark.parametrize("blocks", [[], [0, 99], [-1]])
@pytest.mark.parametrize("kind", [bw.StochasticSubgradient, bw.OnlineEG])
def test_a_rule_that_names_no_blocks_is_refused(kind, blocks):
    rule = Wrong()
    rule.blocks = blocks
    with pytest.raises(bw.OptionError, match="gave blocks to visit that are not a list of numbers"):
        bw.solve(PROBLEMS["chain-dense"](), LAM, kind(sampling=rule), max_passes=3)


def test_averages_keep_to_bounds_to_the_bit():
    """Of numbers that all are 0.1 the sum, divided, may be more."""
    problem = PROBLEMS["chain-dense"]()
    problem = bw.Problem(problem.task, problem.X, problem.Y, bounds=(0.1, 0.1))
    best = bw.solve(problem, LAM, max_passes=3)
    for method, passes in itertools.product(("ssg", "subgradient+averaging"), range(1, 6)):
        result = bw.solve(problem, LAM, method, max_passes=passes, random_state=0)
        assert (result.w == 0.1).all()
        assert bw.certify(problem, best.state, LAM, w=result.w).valid


def test_ctrl_c_in_an_oracle_of_python_is_heard_at_once():
    class Interrupted(Labels):
        n_calls = 0

        def augmented_decode(self, x, y, w):
            self.n_calls += 1
            if self.n_calls == 100:
                raise KeyboardInterrupt
            return super().augmented_decode(x, y, w)

    X, Y = multiclass_data(n=12)
    problem = bw.Problem(Interrupted(3, 4), X, Y)
    result = bw.solve(problem, LAM, "ssg", max_passes=50, random_state=0)
    assert result.status is bw.Status.INTERRUPTED
    assert result.counts.visits < 100
    assert result.certificate.primal == pytest.approx(problem.primal(result.w, LAM))


def test_an_oracle_that_gives_too_much_is_stopped_in_its_visit():
    """(so that nothing is written beside an array)"""
    toy = bw.datasets.toy_problem(40, 3)
    late = numba.njit(lambda data, i, w, index, value: (4 if i == 30 else 0, 1.0))
    toy.task.compiled = lambda X, Y: bw.tasks.CompiledOracle(late, (0,), 3)
    problem = bw.Problem(toy.task, toy.X, toy.Y)
    engine = engine_of(problem, as_method("ssg+cyclic"), LAM)
    with pytest.raises(bw.OracleError, match="example 30 returned more than max_size=3"):
        engine.advance(len(problem), lambda: True)
    assert engine.counts.visits == 30


@pytest.mark.parametrize("method", ["ssg+cyclic", "bcfw+cyclic"])
def test_an_error_in_a_jitted_oracle_is_raised(method):
    """(by way of Numba's wrapper for C it would be printed, and what was found be made up)"""

    @numba.njit
    def late(data, i, w, index, value):
        if i == 30:
            raise ValueError("no output")
        return 0, 1.0

    toy = bw.datasets.toy_problem(40, 3)
    toy.task.compiled = lambda X, Y: bw.tasks.CompiledOracle(late, (0,), 3)
    engine = engine_of(bw.Problem(toy.task, toy.X, toy.Y), as_method(method), LAM)
    with pytest.raises(ValueError, match="no output"):
        engine.advance(40, lambda: True)
    assert engine.counts.visits == 30


@pytest.mark.parametrize("method", ["ssg", "ssg+last", "perceptron"])
def test_w_is_that_of_the_last_visit_also_within_a_pass(method):
    """As a checkpoint sees it, which may be written between any two calls into the loop."""
    problem, seen = PROBLEMS["chain-dense"](), []
    engine = engine_of(problem, as_method(method), LAM)

    def look():
        assert engine.to_save()["w"].tobytes() == engine.last_w().tobytes()
        seen.append(engine.w)
        return True

    engine.advance(len(problem), look)
    assert engine.w.tobytes() == engine.last_w().tobytes()
    assert len(seen) > 1  # (the first call makes one visit)
    assert (seen[0] != seen[1]).any()
    assert (seen[1] != engine.w).any()


def test_visits_go_on_with_arrays_of_a_checkpoint():
    """What was packed before is not: the arrays are others."""
    problem = PROBLEMS["chain-dense"]()
    engine, other = (engine_of(problem, as_method("ssg"), LAM) for _ in range(2))
    for each in (engine, engine, other):
        each.advance(len(problem), lambda: True)
    other.restore(copy.deepcopy(engine.to_save()))
    for each in (engine, other):
        each.advance(len(problem), lambda: True)
    assert engine.w.tobytes() == other.w.tobytes()
    assert engine.average_w().tobytes() == other.average_w().tobytes()
