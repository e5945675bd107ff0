"""Approximate oracles that bound their error: certificates stay valid, and lies are caught."""

import zlib
from dataclasses import replace

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.tasks.reading.vectors import dense_features
from plain_tasks import Labels
from zoo import PROBLEMS, PlainTask, enumerated_optimum, enumerated_primal, multiclass_data

TASKS = ["labels", "chain-dense"]
METHODS = ["bcfw", "fw", "auto", "bcfw+gap+pairwise+cache", "bcfw+averaging"]


class Bounded(PlainTask):
    """An oracle made bad on purpose: every so often a random output, always with an honest bound.

    The bound is above the maximum by up to `excess`.
    """

    exact = False

    def __init__(self, task, miss=0.5, excess=0.05):
        super().__init__(task)
        self.miss, self.excess = miss, excess

    def score(self, x, y, h, w):
        return self.loss(y, h) + float(np.dot(w, dense_features(self, x, h, 0)))

    def augmented_decode_bound(self, x, y, w):
        # (from the input alone: the same call must give the same answer in every process)
        rng = np.random.default_rng(zlib.crc32(np.asarray(x).tobytes() + w.tobytes()))
        best = self.augmented_decode(x, y, w)
        upper = self.score(x, y, best, w) + self.excess * rng.random()
        if rng.random() < self.miss:
            outputs = list(self.outputs(x))
            return outputs[rng.integers(len(outputs))], upper
        return best, upper


class Listed(Labels):
    def outputs(self, x):
        return range(self.n_labels)


def honest(name):
    if name == "labels":
        return bw.Problem(Listed(3, 4), *multiclass_data())
    return PROBLEMS[name]()


def bounded(name, **options):
    problem = honest(name)
    return bw.Problem(Bounded(problem.task, **options), problem.X, problem.Y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", TASKS)
def test_weak_duality_holds_with_bounds(name, method):
    problem, lam = bounded(name), 0.1
    optimum, _ = enumerated_optimum(honest(name), lam)
    result = bw.solve(problem, lam, method, tol=0.0, max_passes=8, random_state=0)
    seen = 0
    for row in result.trace:
        assert not row.dual > optimum + 1e-9
        if not np.isnan(row.gap):
            assert row.valid
            assert not row.exact
            assert row.primal >= optimum - 1e-9
            assert row.gap >= optimum - row.dual - 1e-9
            assert row.slack > 0.0
            seen += 1
    assert seen
    certificate = bw.certify(problem, result.state, lam)
    assert certificate.valid
    assert not certificate.exact
    assert certificate.block_gaps.sum() == pytest.approx(certificate.gap, abs=1e-10)
    assert certificate.gap == pytest.approx(certificate.primal - certificate.dual, abs=1e-12)
    # the primal is above the true one by no more than its slack
    true = enumerated_primal(problem, result.state.v / lam, lam)
    assert 0.0 <= certificate.primal - true + 1e-12 <= certificate.slack + 1e-9
    assert "approximate oracle" in repr(certificate)


def test_primal_of_a_problem_is_an_upper_bound():
    problem = bounded("chain-dense", miss=0.9, excess=0.3)
    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=problem.n_features)
        above = problem.primal(w, 0.3) - enumerated_primal(problem, w, 0.3)
        assert 0.0 < above <= 0.3


@pytest.mark.parametrize("method", METHODS[:4])
def test_certified_when_the_bounds_are_good_enough(method):
    # (a batch step needs all blocks at once, and with bad outputs it may have no slope at all)
    problem = bounded("labels", miss=0.0 if method == "fw" else 0.3, excess=1e-3)
    result = bw.solve(problem, 0.1, method, tol=0.1, max_passes=200, random_state=0)
    assert result.status is bw.Status.CERTIFIED
    assert result.certificate.gap <= 0.1
    assert result.certificate.valid
    assert "bounds of an approximate oracle" in result.message


@pytest.mark.parametrize("method", METHODS[:4])
def test_stalls_where_the_bounds_leave_too_much(method):
    """An exact maximiser with a bound that is always 0.2 too high: the slack never goes away."""

    class Loose(Bounded):
        def augmented_decode_bound(self, x, y, w):
            best = self.augmented_decode(x, y, w)
            return best, self.score(x, y, best, w) + 0.2

    # with easy examples, which gap sampling leaves alone once their true output is best
    X, Y = np.vstack([np.eye(3), 9 * np.eye(3)]), [0, 1, 2, 0, 1, 2]
    loose = bw.Problem(Loose(Listed(3, 3)), X, Y)
    result = bw.solve(loose, 0.1, method, tol=1e-3, max_passes=100, random_state=0)
    assert result.certificate.slack == pytest.approx(0.2)
    assert result.certificate.gap >= 0.2
    if method in ("auto", "bcfw+gap+pairwise+cache"):  # (Frank-Wolfe steps gain for ever)
        assert result.status is bw.Status.STALLED
        assert "leave 0.2 of the gap" in result.remedy
        assert result.certificate.gap == pytest.approx(0.2, abs=1e-6)


def test_a_tight_bound_is_an_exact_oracle():
    problem = bounded("chain-dense", miss=0.0, excess=0.0)
    result = bw.solve(problem, 0.5, tol=1e-3, random_state=0)
    plain = bw.solve(PROBLEMS["chain-dense"](), 0.5, tol=1e-3, random_state=0)
    assert result.status is bw.Status.CERTIFIED
    assert result.certificate.exact
    assert result.certificate.kind == "certified"
    assert abs(result.certificate.primal - plain.certificate.primal) <= 1e-3
    assert plain.certificate.slack == 0.0


def test_slack_within_rounding_is_rounding():
    """A certificate that is exact has no slack; what the bounds leave is in its resolution."""
    problem = bounded("labels", miss=0.0, excess=1e-13)
    found = bw.certify(problem, problem.initial_state(), 0.5)
    assert found.exact
    assert found.slack == 0.0
    plain = honest("labels")
    assert found.resolution > 1e-14 > bw.certify(plain, plain.initial_state(), 0.5).resolution


def test_batch_steps_do_not_take_slack_for_slope():
    problem = bounded("labels", miss=0.0, excess=0.5)
    result = bw.solve(problem, 0.1, "fw", tol=0.0, max_passes=20, random_state=0)
    assert (np.diff(result.trace["dual"]) >= -1e-12).all()


class Liar(Bounded):
    """Its bound is the score of its own output, which it says nothing else can beat."""

    def augmented_decode_bound(self, x, y, w):
        guess = self.decode(x, w)
        return guess, self.score(x, y, guess, w)


class TellsLess(Bounded):
    def augmented_decode_bound(self, x, y, w):
        best = self.augmented_decode(x, y, w)
        return best, self.score(x, y, best, w) - 0.1


class BelowTruth(Bounded):
    def augmented_decode_bound(self, x, y, w):
        worst = min(self.outputs(x), key=lambda h: self.score(x, y, h, w))
        return worst, self.score(x, y, worst, w)


@pytest.mark.parametrize(
    ("task", "message"),
    [(TellsLess, "its own output scores"), (BelowTruth, "below the score of the true output")],
)
def test_a_lie_is_refused_before_any_work(task, message):
    X, Y = multiclass_data()
    fitted = Listed(3, 4)
    with pytest.raises(bw.OracleError, match=message):
        bw.solve(bw.Problem(task(fitted), X, Y), 0.1)


def test_a_bound_below_known_outputs_certifies_nothing():
    """Trained by an honest oracle, then asked by one that forgets the loss."""
    X, Y = multiclass_data()
    problem = bw.Problem(Listed(3, 4), X, Y)
    state = bw.solve(bw.Problem(Bounded(problem.task, 0.0, 0.0), X, Y), 0.1, tol=1e-3).state
    asked = bw.Problem(Liar(problem.task), X, Y)
    state = replace(state, fingerprint=asked.blocks.fingerprint)  # (else it would be refused)
    certificate = bw.certify(asked, state, 0.1)
    assert not certificate.valid
    assert not certificate.exact
    assert np.isnan(certificate.slack)
    assert "estimate" in certificate.kind
    with pytest.raises(bw.OracleError, match="gives a bound that .* exceeds"):
        bw.check_task(Liar(problem.task), X, Y)


@pytest.mark.parametrize("answer", [1, (0, None), (0, np.nan), (0, np.inf), (0, 1.0, 2.0)])
def test_answers_that_are_no_pair_are_refused(answer):
    class Odd(Bounded):
        def augmented_decode_bound(self, x, y, w):
            return answer

    X, Y = multiclass_data()
    fitted = Listed(3, 4)
    with pytest.raises(bw.OracleError, match=r"augmented_decode_bound\(\) for example 0"):
        bw.solve(bw.Problem(Odd(fitted), X, Y), 0.1)


def test_check_task_accepts_honest_bounds():
    problem = bounded("chain-dense", miss=0.9, excess=0.1)
    report = bw.check_task(problem.task, problem.X, problem.Y)
    assert "the bound of augmented_decode_bound holds for every output seen" in report.checks
    assert not any(check.startswith("decode") for check in report.checks)


class Half(Bounded):
    """Misses on about half of the inputs."""

    def augmented_decode_bound(self, x, y, w):
        best = self.augmented_decode(x, y, w)
        found = y if np.sum(x) > 0 else best
        return found, self.score(x, y, best, w) + 0.01


def test_processes_carry_the_bounds():
    X, Y = multiclass_data()
    fitted = Listed(3, 4)
    problem = bw.Problem(Half(fitted), X, Y)
    state = bw.solve(problem, 0.1, tol=1e-3, max_passes=5, random_state=0).state
    alone, together = (bw.certify(problem, state, 0.1, n_jobs=n) for n in (1, 2))
    assert alone.slack > 0.0
    assert (alone.primal, alone.gap, alone.slack) == (together.primal, together.gap, together.slack)
    np.testing.assert_array_equal(alone.block_gaps, together.block_gaps)
    result = bw.solve(problem, 0.1, tol=0.0, max_passes=5, random_state=0, n_jobs=2)
    assert result.certificate.valid
    assert result.certificate.slack > 0.0


def test_slack_survives_files(tmp_path):
    problem = bounded("labels", miss=0.3, excess=1e-3)
    task = problem.task
    svm = bw.StructuredSVM(task, lam=0.1, tol=0.05, random_state=0).fit(problem.X, problem.Y)
    svm.save(tmp_path / "model.npz")
    back = bw.load(tmp_path / "model.npz", task=task)
    assert back.certificate_.valid
    assert not back.certificate_.exact
    assert back.certificate_.slack == svm.certificate_.slack
    checkpoint = bw.Checkpoint(tmp_path / "run.npz")
    first = bw.solve(problem, 0.1, tol=0.0, max_passes=3, random_state=0, checkpoint=checkpoint)
    again = bw.solve(problem, 0.1, tol=0.0, max_passes=3, random_state=0, checkpoint=checkpoint)
    assert again.certificate.slack == first.certificate.slack
    np.testing.assert_array_equal(again.trace["slack"], first.trace["slack"])


def test_comparisons_count_valid_rows():
    problem = bounded("labels", miss=0.3, excess=1e-3)
    found = bw.compare(problem, 0.1, ["bcfw", "fw"], budget={"max_passes": 5})
    assert all(run.is_certified.any() for run in found.runs)
