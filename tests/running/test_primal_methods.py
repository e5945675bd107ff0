"""A method without a dual point, written outside the package: everything around it works."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.methods.base import Method
from blockwolfe.problem.certificate import primal_value
from blockwolfe.problem.state import initial_state
from blockwolfe.problem.sweep import sweep
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.counts import Counts
from blockwolfe.results.summary import summary_rows
from blockwolfe.running.engine import Engine
from plain_tasks import Labels
from zoo import multiclass_data

LAM = 0.1


@dataclass(frozen=True)
class Shrinking(Method):
    """Random weights that shrink towards zero: no good, but a method."""

    name: ClassVar[str] = "shrinking"
    has_dual: ClassVar[bool] = False

    factor: float = 0.5

    @property
    def words(self):
        return "shrinking weights"

    @property
    def full_pass_every(self):
        return 2.0

    def start(self, setup):
        return ShrinkingEngine(self, setup)


class ShrinkingEngine(Engine):
    def __init__(self, method, setup):
        self.method, self.blocks, self.lam = method, setup.blocks, setup.lam
        self.n_blocks = len(setup.blocks)
        self.own = setup.blocks.own()
        self._w = setup.rng.normal(size=setup.blocks.n_features)
        self._counts = Counts(self.n_blocks)

    def advance(self, max_visits, may_go_on):
        if may_go_on():
            self._w = self.method.factor * self._w
            self._add(visits=max_visits, oracle_calls=max_visits)

    def certify(self):
        blocks = self.blocks
        found = sweep(blocks, initial_state(blocks).store(), self._w, *self.own)
        self._add(certificate_calls=self.n_blocks)
        primal = primal_value(blocks, found, self.lam)
        return Certificate.primal_only(primal, self.n_blocks, self.lam, found.is_exact)

    def _add(self, **more):
        self._counts = replace(
            self._counts, **{name: getattr(self._counts, name) + n for name, n in more.items()}
        )

    @property
    def w(self):
        return self._w

    @property
    def counts(self):
        return self._counts

    def to_save(self):
        return {"w": self._w, "counts": vars(self._counts)}

    def restore(self, saved):
        self._w, self._counts = saved["w"], Counts(**saved["counts"])


@dataclass(frozen=True)
class Marginal(Shrinking):
    name: ClassVar[str] = "marginal"
    needs: ClassVar[tuple[str, ...]] = ("maximize", "marginals")


@pytest.fixture(scope="module")
def problem():
    X, Y = multiclass_data(n=8)
    return bw.Problem(Labels(3, 4), X, Y)


def test_it_ends_by_a_budget_and_claims_no_gap(problem):
    result = bw.solve(problem, LAM, Shrinking(), max_passes=7, random_state=0)
    assert result.status is bw.Status.MAX_PASSES
    assert not result.is_certified
    assert result.state is None
    assert result.last_state is None
    certificate = result.certificate
    assert certificate.primal == pytest.approx(problem.primal(result.w, LAM))
    assert np.isnan([certificate.dual, certificate.gap, *certificate.block_gaps]).all()
    assert certificate.exact
    assert "primal only: the method has no dual point" in certificate.kind
    assert f"primal {certificate.primal:.3g}, primal only" in result.message
    assert "nan" not in result.message
    assert "dual point" in result.remedy


def test_its_trace_has_primals_where_it_was_certified(problem):
    result = bw.solve(
        problem, LAM, Shrinking(), max_passes=5, random_state=0, held_out=(problem.X, problem.Y)
    )
    trace = result.trace
    assert list(trace["passes"]) == [0, 1, 2, 3, 4, 5]
    is_certified = ~np.isnan(trace["primal"])
    assert list(is_certified) == [False, False, True, False, True, True]
    np.testing.assert_array_equal(~np.isnan(trace["held_out_loss"]), is_certified)
    assert np.isnan(trace["gap"]).all()
    assert np.isnan(trace["dual"]).all()
    assert trace[-1].primal == result.certificate.primal


def test_its_summary(problem):
    result = bw.solve(problem, LAM, Shrinking(), max_passes=3, random_state=0)
    rows = dict(summary_rows(result, problem.task, problem.n_effective))
    assert rows["method"] == "shrinking weights"
    assert rows["gap"] == "not known   (primal only: the method has no dual point)"
    assert rows["optimum"] == f"at most {result.certificate.primal:.8g} (primal)"
    for shown in (repr(result), result._repr_html_(), result.certificate._repr_html_()):
        assert "nan" not in shown


@pytest.mark.parametrize(
    "budget", [{"max_oracle_calls": 40}, {"time_limit": 0.05}, {"callbacks": lambda e: True}]
)
def test_other_ways_to_end(problem, budget):
    result = bw.solve(problem, LAM, Shrinking(), tol=1e-3, random_state=0, **budget)
    assert np.isfinite(result.certificate.primal)
    counts = result.counts
    assert counts.oracle_calls + counts.certificate_calls <= budget.get("max_oracle_calls", np.inf)


def test_ctrl_c(problem):
    def interrupt(event):
        if event.row.passes == 3:
            raise KeyboardInterrupt

    result = bw.solve(problem, LAM, Shrinking(), callbacks=interrupt, random_state=0)
    assert result.status is bw.Status.INTERRUPTED
    assert np.isfinite(result.certificate.primal)


def test_a_run_without_an_end_is_refused(problem):
    with pytest.raises(bw.OptionError, match="'shrinking' has no dual point, .* give max_passes"):
        bw.solve(problem, LAM, Shrinking())


def test_a_start_is_refused(problem):
    with pytest.raises(bw.OptionError, match="start: the method 'shrinking' has no dual point"):
        bw.solve(problem, LAM, Shrinking(), max_passes=3, start=problem.initial_state())


def test_a_path_is_refused_and_a_grid_is_not(problem):
    with pytest.raises(bw.OptionError, match="'shrinking' has no dual point to take from one"):
        bw.solve_path(problem, 0.1, 0.1, Shrinking())
    results = bw.solve_grid(problem, [0.1, 1.0], method=Shrinking(), max_passes=2)
    assert [result.lam for result in results] == [0.1, 1.0]


def test_a_checkpoint_of_it(problem, tmp_path):
    def crash(event):
        if event.row.passes == 4:
            raise ArithmeticError

    given = {"max_passes": 9, "random_state": 0}
    whole = bw.solve(problem, LAM, Shrinking(), **given)
    keeping = bw.Checkpoint(tmp_path / "run.npz", every=0.0)
    with pytest.raises(ArithmeticError):
        bw.solve(problem, LAM, Shrinking(), checkpoint=keeping, callbacks=crash, **given)
    rest = bw.solve(problem, LAM, Shrinking(), checkpoint=keeping, **given | {"random_state": None})
    np.testing.assert_array_equal(rest.w, whole.w)
    np.testing.assert_array_equal(rest.trace["primal"], whole.trace["primal"])
    assert rest.counts == whole.counts


def test_beside_other_methods(problem):
    methods = {"shrinking": Shrinking(), "bcfw": "bcfw"}
    found = bw.compare(problem, LAM, methods, budget={"max_passes": 60}, targets=[0.1], seeds=[0])
    shrinking, bcfw = found.rows()
    assert np.isnan(shrinking["gap"])
    assert shrinking["suboptimality"] > 0.0  # by the dual that the other has found
    assert bcfw["status"] == "CERTIFIED"
    assert "shrinking" in repr(found)
    alone = bw.compare(problem, LAM, [Shrinking()], budget={"max_passes": 4}, targets=[0.1])
    assert "optimum at most" in repr(alone)
    assert alone.best_primal == alone.runs[0].trace[-1].primal


def test_an_estimator_and_its_report(problem, tmp_path):
    svm = bw.StructuredSVM(Labels(3, 4), lam=LAM, method=Shrinking(), max_passes=3, random_state=0)
    with pytest.warns(bw.NotCertifiedWarning, match="primal only"):
        svm.fit(problem.X, problem.Y)
    page = bw.write_report(tmp_path / "report.html", svm, train=(problem.X, problem.Y))
    assert "method has no dual point" in page.read_text()


def test_a_missing_oracle_is_named(problem):
    with pytest.raises(bw.OptionError, match="'marginal' needs the oracle 'marginals', which Lab"):
        bw.solve(problem, LAM, Marginal(), max_passes=1)
    with pytest.raises(bw.OptionError, match="no task here has it|tasks that have it: "):
        bw.compare(problem, LAM, [Marginal()])


def test_an_oracle_that_a_task_offers_is_enough():
    class Both(Labels):
        oracles = ("maximize", "marginals")

    X, Y = multiclass_data(n=8)
    result = bw.solve(bw.Problem(Both(3, 4), X, Y), LAM, Marginal(), max_passes=1)
    assert np.isfinite(result.certificate.primal)
