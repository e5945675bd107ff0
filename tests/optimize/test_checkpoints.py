"""Checkpoints of the general form: killed runs end as undisturbed ones, and files are not trusted."""

import os

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe import optimize as bo
from blockwolfe.base.archive import read_archive, write_archive
from blockwolfe.running.checkpoint import CHECKPOINT, Writer
from general_runs import BALL, BLOCKS, METHODS, Interrupting, assert_same, name_of
from optimum import objectives


class CrashError(Exception):
    pass


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch):
    """Files need not survive the machine here: many of them are written."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def log_cosh(x):
    return float(np.log(np.cosh(x - 0.3 * np.arange(11))).sum())


def of_log_cosh(x):
    return np.tanh(x - 0.3 * np.arange(11))


def objective(kind):
    """(A function of a module: those made in functions cannot be told from others.)"""
    return bo.Function(log_cosh, of_log_cosh) if kind == "function" else objectives(11)[kind]


def trial(path):
    return bw.Checkpoint(path, every=0)


@pytest.mark.parametrize("kind", ["least squares", "logistic", "function"])
@pytest.mark.parametrize("case", METHODS, ids=name_of)
def test_a_crash_after_any_pass(case, kind, tmp_path):
    method, domain = case
    f, options = objective(kind), {"tol": 0.0, "max_passes": 13, "random_state": 0}
    expected = bo.minimize(f, domain, method, **options)
    for n_passes in (4, 11):

        def crash(event, n_passes=n_passes):
            if event.row.passes == n_passes:
                raise CrashError

        checkpoint = trial(tmp_path / f"{n_passes}.npz")
        with pytest.raises(CrashError):
            bo.minimize(f, domain, method, callbacks=crash, checkpoint=checkpoint, **options)
        seen = []
        resumed = bo.minimize(
            f,
            domain,
            method,
            checkpoint=checkpoint,
            callbacks=lambda event, seen=seen: seen.append(event.row.passes),
            **options | {"random_state": None},  # (the seed is in the file)
        )
        assert_same(resumed, expected)
        assert seen == list(range(n_passes, 14))


@pytest.mark.parametrize("kind", ["quadratic", "logistic"])
@pytest.mark.parametrize("method", ["bcfw+gap+pairwise", "bcfw+uniform+corrective", "projected"])
def test_a_crash_within_a_pass(method, kind, tmp_path, monkeypatch):
    """After some of its checkpoints, the first of which are one visit apart."""
    f, options = objective(kind), {"tol": 0.0, "max_passes": 6, "random_state": 0}
    expected = bo.minimize(f, BLOCKS, method, **options)
    written, write, stop = [], Writer.write, []

    def write_and_crash(writer, driver, engine):
        write(writer, driver, engine)
        written.append(engine.passes.done)
        if len(written) in stop:
            raise CrashError

    monkeypatch.setattr(Writer, "write", write_and_crash)
    monkeypatch.setattr("blockwolfe.base.pace.GROWTH", 1)  # (slices stay one visit long)
    for after in (1, 3, 6, 14):
        written.clear()
        stop[:] = [after]
        checkpoint = trial(tmp_path / f"{after}.npz")
        with pytest.raises(CrashError):
            bo.minimize(f, BLOCKS, method, checkpoint=checkpoint, **options)
        stop.clear()
        resumed = bo.minimize(f, BLOCKS, method, checkpoint=checkpoint, **options)
        assert_same(resumed, expected)
    assert {0, 1, 2, 3} <= set(written)


@pytest.mark.parametrize("case", METHODS, ids=name_of)
def test_a_run_that_has_ended_is_not_run_again(case, tmp_path):
    method, domain = case
    f, path = objective("logistic"), tmp_path / "run.npz"
    ended = bo.minimize(f, domain, method, 1e-2, random_state=0, checkpoint=path)
    rows = []
    again = bo.minimize(f, domain, method, 1e-2, checkpoint=path, callbacks=rows.append)
    assert not rows
    assert_same(again, ended)
    tol = 0.8 * ended.certificate.gap
    further = bo.minimize(f, domain, method, tol, checkpoint=path, max_passes=3000)
    assert further.is_certified
    assert further.counts.visits > ended.counts.visits
    assert further.trace[len(ended.trace) - 1].gap == ended.certificate.gap


class Paused(bo.Simplex):
    """A simplex whose oracle may be interrupted; that is no part of what it is."""

    def __init__(self, when):
        super().__init__(11)
        self.when = when

    def minimize(self, gradient):
        self.when.tick()
        return super().minimize(gradient)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "when"}


@pytest.mark.parametrize("at", [2, 8, 12, 13])
def test_after_ctrl_c_the_same_call_goes_on(at, tmp_path):
    f, never = objective("least squares"), Paused(Interrupting(0))
    options = {"tol": 0.0, "max_passes": 15, "random_state": 0}
    expected = bo.minimize(f, never, "pairwise", **options)
    options["checkpoint"] = tmp_path / "run.npz"
    first = bo.minimize(f, Paused(Interrupting(at)), "pairwise", **options)
    assert first.status is bw.Status.INTERRUPTED
    assert first.certificate.exact
    resumed = bo.minimize(f, never, "pairwise", **options)
    assert_same(resumed, expected)


# -- files that are refused ------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "run.npz"
    bo.minimize(
        objective("quadratic"),
        BALL,
        "pairwise",
        0.0,
        max_passes=14,
        random_state=0,
        checkpoint=path,
    )
    return path


def resume(path, **changed):
    given = {"objective": objective("quadratic"), "domain": BALL, "method": "pairwise"} | changed
    return bo.minimize(**given, tol=0.0, max_passes=20, random_state=0, checkpoint=path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"objective": objective("least squares")}, "another problem.*differ in: objective"),
        ({"objective": objectives(11, seed=1)["quadratic"]}, "another problem.*objective"),
        ({"domain": bo.L1Ball(11, 1.5)}, "another problem.*differ in: domain"),
        ({"domain": bo.Simplex(11)}, "another problem.*differ in: domain"),
        ({"method": "away"}, "another method"),
        ({"method": bo.FrankWolfe(bw.Pairwise(), bo.Adaptive())}, "another method"),
    ],
)
def test_a_file_of_another_run_is_refused(written, changed, message):
    before = written.read_bytes()
    with pytest.raises(bw.InputError, match=message):
        resume(written, **changed)
    assert written.read_bytes() == before


def test_another_start_is_refused(written):
    start = bo.minimize(objective("quadratic"), BALL, "pairwise", max_passes=1)
    with pytest.raises(bw.InputError, match="differ in: start"):
        bo.minimize(objective("quadratic"), BALL, "pairwise", start=start, checkpoint=written)


def test_what_cannot_be_told_from_others_has_no_checkpoint(tmp_path):
    f = objective("quadratic")
    domain = bo.Oracle(
        lambda gradient: np.eye(11)[np.argmin(gradient)], (x for x in [11]).__next__()
    )
    stream = (k for k in range(3))
    domain.f.stream = stream
    with pytest.raises(bw.InputError, match="checkpoint: no later run could be known"):
        bo.minimize(f, domain, "fw", max_passes=2, checkpoint=tmp_path / "run.npz")


def altered(path, change):
    """The file with other arrays."""
    header, arrays = read_archive(path, CHECKPOINT)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    inside = {name: header[name] for name in ("identity", "driver", "engine")}
    write_archive(path, CHECKPOINT, inside, arrays)


def heavier(header, arrays):
    arrays["engine.active_sets.0.weights"][0] += 0.1


def negative(header, arrays):
    weights = arrays["engine.active_sets.0.weights"]
    weights[0], weights[1] = weights[0] + weights[1] + 0.1, -0.1


def outside(header, arrays):
    arrays["engine.follower.x"][:] = 1.0


def elsewhere(header, arrays):
    arrays["engine.follower.x"][:] = 0.0


def twice(header, arrays):
    index, value = (arrays[f"engine.active_sets.0.{n}"] for n in ("index", "value"))
    index[1], value[1] = index[0], value[0]


def atom_outside(header, arrays):
    """One atom twice as long, at half its weight; the mean is the same."""
    value, weights = (arrays[f"engine.active_sets.0.{n}"] for n in ("value", "weights"))
    moved = 0.5 * weights[1]
    value[0] *= weights[0] / (weights[0] + moved)
    value[1] *= 2.0
    weights[0], weights[1] = weights[0] + moved, moved


def no_number(header, arrays):
    arrays["engine.follower.x"][0] = np.nan


def too_short(header, arrays):
    arrays["engine.follower.x"] = arrays["engine.follower.x"][:-1]


def coordinate_outside(header, arrays):
    arrays["engine.active_sets.0.index"][0] = 11


def better_certificate(header, arrays):
    known = header["driver"]["certificate"]
    known["primal"], known["dual"] = known["primal"] - 1.0, known["dual"] - 1.0


def negative_visits(header, arrays):
    header["engine"]["counted"]["visits"] = -1


def unknown_gaps(header, arrays):
    """Blocks are to be drawn from gaps that are not known."""
    arrays["engine.passes.gap"][:] = np.inf
    header["engine"]["passes.has_tree"] = True


@pytest.mark.parametrize(
    "change",
    [
        unknown_gaps, heavier, negative, outside, elsewhere, twice, atom_outside, no_number, too_short,
        coordinate_outside, better_certificate, negative_visits,
    ],
    ids=lambda change: change.__name__,
)  # fmt: skip
def test_a_crafted_file_is_refused(written, change):
    altered(written, lambda header, arrays: None)
    assert resume(written).counts.visits == 20  # (as it is, it is gone on from)
    altered(written, change)
    with pytest.raises(bw.errors.ModelFileError, match="begin anew"):
        resume(written)
