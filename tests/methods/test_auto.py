"""The automatic method: it chooses, says what it chose, and is certified like any other."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.methods import auto
from blockwolfe.methods.bcfw import batches
from blockwolfe.methods.bcfw.sparing import SparingEngine
from plain_tasks import Labels
from zoo import PROBLEMS, multiclass_data

LAM = 0.05


@pytest.fixture
def problem(monkeypatch):
    """Single labels, to be found as in blocks of any other kind."""
    monkeypatch.setattr(auto, "takes_whole_blocks", lambda blocks: False)
    return PROBLEMS["multiclass-dense"]()


def assert_explained(result):
    """Every row says what is being used, and the result names it."""
    assert isinstance(result.method, bw.BCFW)
    assert isinstance(result.method.sampling, bw.GapSampling | bw.MaxGap)
    assert all(row.note for row in result.trace)
    assert result.note == result.trace[-1].note
    assert result.note.startswith(f"{result.method.words}; the oracle is ")
    assert dict(result.rows())["method"] == f"auto: {result.note}"


def test_a_python_oracle_gets_few_calls():
    problem = bw.Problem(Labels(3, 4), *multiclass_data(n=8))
    result = bw.solve(problem, LAM, "auto", 0.05, random_state=0)
    assert result.is_certified
    assert_explained(result)
    assert result.method.cache is not None
    assert result.counts.cache_hits == 0
    assert result.counts.visits == result.counts.oracle_calls
    averaged = bw.solve(problem, LAM, "auto+averaging", 0.05, random_state=0)
    assert_explained(averaged)
    assert averaged.counts.cache_hits > 0


@pytest.mark.parametrize(
    ("expensive", "long", "first_with_cache"),
    [(0.0, 0.0, 1), (0.0, np.inf, 4), (np.inf, 0.0, None)],
    ids=["long", "expensive", "cheap"],
)
def test_the_choice_follows_the_steps_of_the_oracle(
    problem, monkeypatch, expensive, long, first_with_cache
):
    """A single label is cheap to find, unless the labels are many; then, stored corners stand in.

    Where every call counts corners are stored from the beginning, but none stands in.
    """
    monkeypatch.setattr(auto, "EXPENSIVE_STEPS", expensive)
    monkeypatch.setattr(auto, "LONG_STEPS", long)
    monkeypatch.setattr(auto, "LONG_LOOKS", 0.0)
    result = bw.solve(problem, LAM, "auto", 1e-6, random_state=0)
    assert result.is_certified
    assert_explained(result)
    assert isinstance(result.method.step, bw.Pairwise)
    assert "pairwise steps" in result.note
    cached = [row.passes + 1 for row in result.trace if "cache" in row.note]
    assert (cached[0] if cached else None) == first_with_cache
    assert (result.counts.cache_hits > 0) == (first_with_cache == 4)


@pytest.mark.parametrize(("n_labels", "is_sparing"), [(3, False), (60, True)])
def test_a_long_sequence_of_few_labels_gets_no_rounds_after_every_call(
    n_labels, is_sparing, monkeypatch
):
    """Its oracle takes long, but no longer than a few looks at what it found."""
    monkeypatch.setattr(auto, "LONG_STEPS", 1e4)
    monkeypatch.setattr(auto, "EXPENSIVE_STEPS", 0.0)
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(3000, 2)), rng.normal(size=(5, 2))]
    Y = [rng.integers(n_labels, size=len(x)) for x in X]
    engine = engine_of(bw.Problem(bw.tasks.Chain(n_labels), X, Y), "auto", LAM)
    assert engine.blocks.n_steps >= auto.LONG_STEPS
    assert isinstance(engine, SparingEngine) == is_sparing


@pytest.mark.parametrize("name", ["chain-dense", "toy-jitted", "chain-weighted"])
@pytest.mark.parametrize("method", ["auto", "auto+averaging", bw.Auto(averaging=True)])
def test_it_is_certified_and_agrees_with_a_named_method(name, method):
    problem = PROBLEMS[name]()
    result = bw.solve(problem, LAM, method, 1e-2, random_state=0)
    reference = bw.solve(problem, LAM, "bcfw", 1e-2, random_state=0)
    assert result.is_certified
    assert_explained(result)
    assert result.method.averaging == (method != "auto")
    gap = max(result.certificate.gap, reference.certificate.gap)
    assert abs(result.certificate.primal - reference.certificate.primal) <= gap
    distance = np.linalg.norm(result.w - reference.w)
    gaps = (result.certificate.gap, reference.certificate.gap)
    assert distance <= sum(np.sqrt(2 * g / LAM) for g in gaps)


def test_the_dual_never_decreases_through_its_choices(problem, monkeypatch):
    monkeypatch.setattr(auto, "CATALYST", None)  # (with which it may)
    result = bw.solve(problem, LAM, "auto", 1e-6, random_state=0)
    assert result.is_certified
    assert len({row.note for row in result.trace}) > 1  # it has chosen on the way
    assert (np.diff(result.trace["dual"]) >= -1e-14).all()


def test_it_chooses_after_a_warm_start_with_batches_too(problem, monkeypatch):
    """Blocks drawn twice for one batch are visited once: a pass may have fewer than n visits."""
    monkeypatch.setattr(batches, "EXPENSIVE_STEPS", 0.0)
    start = bw.solve(problem, LAM, "bcfw", 0.1, random_state=0).state
    result = bw.solve(
        problem, LAM, "auto", 0.0, start=start, max_passes=10, n_jobs=2, random_state=0
    )
    assert result.trace[0].note != result.note
    assert_explained(result)


def test_the_default_of_fit_is_certified():
    X, y = load_digits(return_X_y=True)
    svm = bw.StructuredSVM(bw.tasks.Multiclass(), lam=0.1, tol=1e-2, random_state=0)
    svm.fit(X[:300] / 16, y[:300])
    assert svm.result_.is_certified
    assert svm.certificate_.exact
    assert svm.certificate_.gap <= 1e-2
    result = svm.result_
    assert isinstance(result.method, bw.WholeBlocks)
    assert result.note == f"{result.method.words}; blocks are simplices of labels"
    assert all(row.note == result.note for row in result.trace)
    assert dict(result.rows())["method"] == f"auto: {result.note}"


def test_a_wrong_word_is_refused():
    with pytest.raises(bw.OptionError, match="valid: 'auto', 'auto\\+averaging'"):
        bw.solve(PROBLEMS["toy-jitted"](), LAM, "auto+cache")
    with pytest.raises(bw.OptionError, match="^averaging="):
        bw.Auto(averaging=1)
