"""Steps that are written down and added up later: the same averages, to the bit where they must."""

import copy
import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.methods.subgradient import log as log_file
from blockwolfe.methods.subgradient.log import Log, Merging, add_up, note_step
from same_runs import assert_same, content
from test_crafted_files import crafted, entry, of_array
from zoo import PROBLEMS, chain_data

LAM = 0.1
TASKS = ["chain-dense", "chain-sparse", "tree", "matching"]


@pytest.fixture(params=[1, 1000], ids=["short", "long"])
def logged(request, monkeypatch):
    """Logs of every w, however short; a short log is full after a step or two."""
    monkeypatch.setattr(log_file, "FAR", 0)
    monkeypatch.setattr(log_file, "ENTRIES", request.param)


@pytest.fixture
def long_log(monkeypatch):
    """A log that is not full before it is added up at a certificate."""
    monkeypatch.setattr(log_file, "FAR", 0)
    monkeypatch.setattr(log_file, "ENTRIES", 1000)


def passes(engine, n_passes):
    for _ in range(n_passes):
        engine.advance(engine.n_blocks, lambda: True)


def bits(engine):
    return engine.total.tobytes(), engine.average_w().tobytes()


# -- averages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("method", ["ssg", "perceptron", "ssg+uniform"])
def test_a_log_changes_roundings_alone(name, method, monkeypatch):
    problem, averages = PROBLEMS[name](), []
    for far, entries in [(10**9, 1), (0, 1), (0, 1000)]:
        monkeypatch.setattr(log_file, "FAR", far)
        monkeypatch.setattr(log_file, "ENTRIES", entries)
        engine = engine_of(problem, method, LAM)
        for _ in range(12):
            passes(engine, 1)
        averages.append(engine.average_w())
        assert (len(engine._log.block) > 0) == (far == 0)
    assert np.abs(averages[0]).max() > 0
    scale = np.abs(averages[0]).max()
    for average in averages[1:]:
        np.testing.assert_allclose(average, averages[0], rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("name", TASKS)
def test_interpreted_equals_compiled_bit_by_bit(name, logged):
    found = []
    for is_compiled in (True, False):
        problem = PROBLEMS[name]()
        problem.__dict__["blocks"] = replace(problem.blocks, is_compiled=is_compiled)
        engine = engine_of(problem, "ssg", LAM)
        passes(engine, 3)
        found.append(bits(engine))
    assert found[0] == found[1]


def test_a_log_of_steps_is_their_sum():
    """Against steps that are added one by one; some parts cancel, and one block has none."""
    X, Y = chain_data()
    blocks = bw.Problem(bw.tasks.Chain(3), [sp.csr_array(x) for x in X], Y).blocks
    rng, log = np.random.default_rng(0), Log.empty(40, 1000)
    wanted, late = rng.normal(size=(2, blocks.n_features))
    late[:] = wanted
    for s in range(40):
        i, size = int(rng.integers(1, len(blocks))), int(rng.integers(0, 9))
        part = rng.integers(blocks.parts_of[i], size=size).astype(np.int32)
        delta, factor = rng.choice([-1.0, 1.0], size=size), float(rng.normal())
        note_step(log, i, factor, part, delta, size)
        blocks.features.add(blocks.data, i, part, delta, size, factor, wanted)
        assert log.n_steps == s + 1
    before = copy.deepcopy(log.to_save())
    add_up(log, blocks, Merging.of(blocks.n_parts), late)
    np.testing.assert_allclose(late, wanted, rtol=0, atol=1e-12)
    assert_same(log.to_save(), before)


def test_logs_are_kept_where_they_are_of_use():
    problem = PROBLEMS["chain-sparse"]()
    assert not len(engine_of(problem, "ssg", LAM)._log.moved)  # (w is short)
    rng, n = np.random.default_rng(0), 30_000
    X = [sp.random_array((4, n), density=1e-3, format="csr", rng=rng) for _ in range(5)]
    long = bw.Problem(bw.tasks.Chain(3), X, [rng.integers(3, size=4) for _ in X])
    assert len(engine_of(long, "ssg", LAM)._log.moved) == long.n_features
    assert not len(engine_of(long, "ssg+last", LAM)._log.moved)
    bounded = bw.Problem(bw.tasks.Chain(3), X, long.Y, bounds=(-1.0, 1.0))
    assert not len(engine_of(bounded, "ssg", LAM)._log.moved)


# -- runs that are cut into pieces -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["chain-dense", "matching"])
def test_who_asks_for_averages_changes_nothing(name, logged):
    problem = PROBLEMS[name]()
    asked, left_alone = (engine_of(problem, "ssg", LAM) for _ in range(2))
    for _ in range(13):
        passes(asked, 1)
        asked.average_w()
    passes(left_alone, 13)
    assert bits(asked) == bits(left_alone)
    assert asked.late.tobytes() == left_alone.late.tobytes()


@pytest.mark.parametrize("size", [1, 3, 7])
def test_slices_change_nothing(size, logged):
    """Also where certificates are due within a pass, here since the first one was cut short."""
    problem = PROBLEMS["chain-dense"]()
    whole, parted = (engine_of(problem, "ssg", LAM) for _ in range(2))
    parted.passes._pace.until = lambda begin, end: min(begin + size, end)
    for engine in (whole, parted):
        engine.advance(3, lambda: True)
        passes(engine, 12)
    assert bits(parted) == bits(whole)
    assert parted.late.tobytes() == whole.late.tobytes()


def test_the_log_is_added_up_when_a_certificate_is_due(long_log):
    """So that the certificate itself has nothing to add up."""
    problem = PROBLEMS["chain-dense"]()
    engine, sizes = engine_of(problem, bw.StochasticSubgradient(certify_every=3), LAM), []
    for _ in range(6):
        passes(engine, 1)
        sizes.append(engine._log.n_steps)
    assert sizes[2] == sizes[5] == 0
    assert 0 < sizes[0] < sizes[1]
    assert engine.sums.late is engine.late


def test_a_run_goes_on_from_a_checkpoint_with_a_log(logged, tmp_path):
    problem, path = PROBLEMS["chain-sparse"](), tmp_path / "run.npz"
    given = {"random_state": 0, "checkpoint": bw.Checkpoint(path, every=0.0)}
    whole = bw.solve(problem, LAM, "ssg", max_passes=13, random_state=0)
    n_asked = itertools.count()

    def crash(event):
        if next(n_asked) == 4:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        bw.solve(problem, LAM, "ssg", max_passes=13, callbacks=crash, **given)
    rest = bw.solve(problem, LAM, "ssg", max_passes=13, **given)
    assert_same(content(rest), content(whole))


def test_a_log_is_part_of_what_is_saved(long_log):
    problem = PROBLEMS["chain-sparse"]()
    engine, other = (engine_of(problem, "ssg", LAM) for _ in range(2))
    passes(engine, 4)
    saved = copy.deepcopy(engine.to_save())
    assert len(saved["log.block"]) > 0
    other.restore(saved)
    assert bits(other) == bits(engine)
    for each in (engine, other):
        passes(each, 9)
    assert bits(other) == bits(engine)


# -- files of strangers ----------------------------------------------------------------------------


REFUSED = {
    "a block that there is not": ("block", entry(0, 10**6), "log.block has entries above"),
    "a negative block": ("block", entry(0, -1), "log.block has entries below"),
    "a part of another block": ("moved", entry(0, 10**6), "an entry that its block has not"),
    "a part taken away of another block": ("moved", entry(0, -(10**6)), "its block has not"),
    "entries beyond the end": ("start", entry(-1, 10**12), "log.start has entries above"),
    "steps that overlap": ("start", entry(1, 10**3), "log.start does not go up"),
    "no beginning": ("start", entry(0, 1), "log.start does not go up"),
    "fewer entries": ("moved", lambda moved: moved[:-1], "log.moved has shape"),
    "no factor": ("coefficient", entry(0, np.inf), "log.coefficient has NaN or infinite"),
    "steps without end": ("block", lambda block: np.tile(block, 10**4), "more steps than there is"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_log_is_refused(name, long_log, tmp_path):
    problem, path = PROBLEMS["chain-sparse"](), tmp_path / "run.npz"
    array, change, message = REFUSED[name]
    bw.solve(problem, LAM, "ssg", max_passes=2, random_state=0, checkpoint=path)
    crafted(path, of_array(f"engine.log.{array}", change))
    with pytest.raises(bw.ModelFileError, match=message):
        bw.solve(problem, LAM, "ssg", max_passes=4, random_state=0, checkpoint=path)
