"""Certificates that certify nothing: numbers that are not finite, wherever they are shown."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.results.certificate import Certificate
from plain_tasks import Labels

NAN, INF = float("nan"), float("inf")
X, Y = [np.array([1.0]), np.array([2.0])], [0, 1]


def certificate(primal, dual, gap, **options):
    return Certificate(primal, dual, gap, np.zeros(1), 1.0, exact=True, slack=0.0, **options)


@pytest.mark.parametrize(
    ("primal", "dual", "gap"),
    [(INF, -INF, INF), (INF, 0.5, INF), (INF, NAN, NAN), (1.0, 0.5, NAN), (1.0, -INF, INF)],
)
def test_numbers_that_are_not_finite_certify_nothing(primal, dual, gap):
    found = certificate(primal, dual, gap)
    assert not found.exact
    assert not found.valid
    assert not found.is_primal_only
    assert np.isnan(found.slack)
    assert "overflow" in found.kind
    assert found.bounds == "not known"


def test_finite_numbers_do():
    assert certificate(1.0, 0.5, 0.5).valid
    alone = Certificate.primal_only(1.0, 1, 1.0, exact=True, slack=0.0)
    assert alone.valid
    assert alone.is_primal_only
    assert not Certificate.primal_only(INF, 1, 1.0, exact=True, slack=0.0).valid
    assert Certificate.unknown(1, 1.0).kind == "no full pass was made"


def overflowing():
    """Weights that must be 1e300: their square is no number."""
    return bw.Problem(Labels(2, 1), X, Y, bounds=(1e300, None))


@pytest.mark.parametrize("method", ["bcfw", "fw", "auto", "bcfw+averaging", "fw+predefined"])
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_a_run_that_overflows_ends_and_says_so(method):
    result = bw.solve(overflowing(), 0.1, method, tol=1e-3, random_state=0)
    assert result.status is bw.Status.STALLED
    assert not result.certificate.valid
    assert not any(row.valid for row in result.trace)
    assert "overflow" in result.message
    assert "scale them" in result.remedy
    assert ("optimum", "not known") in result.rows()


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_models_paths_and_comparisons_of_it_certify_nothing(tmp_path):
    svm = bw.StructuredSVM(Labels(2, 1), lam=0.1, bounds=(1e300, None), random_state=0)
    with pytest.warns(bw.NotCertifiedWarning):
        svm.fit(X, Y)
    svm.save(tmp_path / "model.npz")
    assert not bw.load(tmp_path / "model.npz", task=Labels(2, 1)).certificate_.valid
    found = bw.compare(overflowing(), 0.1, ["bcfw", "fw"], budget={"max_passes": 5})
    assert not any(run.is_certified.any() for run in found.runs)
    path = bw.solve_path(overflowing(), 0.1, 0.01, lam_max=1.0, random_state=0)
    assert path.status is not bw.Status.CERTIFIED
    assert not path.breakpoints
