"""Checkpoints: a run that was killed ends as it would have ended undisturbed, bit by bit."""

import copy
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.base.archive import read_archive, write_archive
from blockwolfe.base.records import flattened
from blockwolfe.methods.bcfw import engine as block_engine
from blockwolfe.methods.ledger import Ledger
from blockwolfe.methods.registry import as_method
from blockwolfe.running import checkpoint
from blockwolfe.running.checkpoint import Writer, read_checkpoint
from blockwolfe.running.driver import Driver
from blockwolfe.solving.setup import identity_of
from plain_tasks import Labels
from same_runs import assert_same, content
from zoo import PROBLEMS, bounded, multiclass_data

LAM = 0.05
METHODS = [
    "bcfw+gap+pairwise+cache",
    "bcfw+averaging",
    "fw",
    "bcfw+gap+blended",
    "bcfw+maxgap+away+cache+averaging",
    "bcfw+uniform+corrective",
]


def make_problem(kind, is_bounded, task=None):
    X, Y = multiclass_data(n=10)
    task = task or (bw.tasks.Multiclass(bias=False) if kind == "compiled" else Labels(3, 4))
    bounds = bounded(bw.Problem(task, X, Y)) if is_bounded else None
    return bw.Problem(task, X, Y, bounds=bounds)


# -- killed from outside -------------------------------------------------------------------------

KILLED = [
    ("bcfw+gap+pairwise+cache", "compiled", False),
    ("bcfw+gap+pairwise+cache", "python", True),
    ("bcfw+averaging", "compiled", True),
    ("fw", "python", False),
    ("bcfw+gap+blended", "compiled", True),
    ("bcfw+gap+blended", "python", False),
]
N_KILLS = 2


def case_name(case):
    method, kind, is_bounded = case
    return f"{method}-{kind}-{'bounded' if is_bounded else 'free'}"


def run_case(case, **options):
    method, kind, is_bounded = case
    problem = make_problem(kind, is_bounded)
    return bw.solve(problem, LAM, method, 1e-9, max_passes=25, random_state=0, **options)


def kill_runs(folder):
    """Of each case: an undisturbed run, and one killed several times. Runs in a process of its own.

    This process has one thread and everything compiled; the runs to be killed are its forks.
    """
    rng, n_kills = np.random.default_rng(), {}
    for case in KILLED:
        name = case_name(case)
        path = folder / f"{name}.npz"
        run_case(case)  # compiles, so that the time to kill within is that of a run
        began = time.perf_counter()
        np.savez(folder / f"{name}-whole.npz", **content(run_case(case, checkpoint=trial(path))))
        seconds = time.perf_counter() - began
        path.unlink()
        n_kills[name] = 0
        while True:
            child = os.fork()
            if not child:
                try:
                    result = run_case(case, checkpoint=trial(path))
                    np.savez(folder / f"{name}-killed.npz", **content(result))
                finally:
                    os._exit(0)
            if n_kills[name] < N_KILLS:
                time.sleep(rng.uniform(0, seconds))
                os.kill(child, signal.SIGKILL)
            _, ending = os.waitpid(child, 0)
            if os.WIFSIGNALED(ending):
                n_kills[name] += 1
            elif n_kills[name] == N_KILLS:
                break
            else:  # the run was faster than the blow: from the beginning
                path.unlink()
    print(json.dumps(n_kills))


def trial(path):
    return bw.Checkpoint(path, every=0)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    places = [str(Path(bw.__file__).parents[1]), str(Path(__file__).parents[1])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, __file__, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs to be killed are forks")
@pytest.mark.parametrize("case", KILLED, ids=case_name)
def test_killed_at_random_moments_it_ends_as_if_undisturbed(killed, case):
    folder, n_kills = killed
    name = case_name(case)
    assert n_kills[name] == N_KILLS
    whole, resumed = (np.load(folder / f"{name}-{which}.npz") for which in ("whole", "killed"))
    with whole, resumed:
        assert_same(dict(resumed), dict(whole))


# -- crashes at chosen moments ---------------------------------------------------------------------


class CrashError(Exception):
    pass


@pytest.fixture
def in_memory(monkeypatch):
    """Files need not survive the machine here: many of them are written."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture(scope="module")
def problems():
    return {(k, b): make_problem(k, b) for k in ("compiled", "python") for b in (False, True)}


def crash_at(n_passes):
    def callback(event):
        if event.row.passes == n_passes:
            raise CrashError

    return callback


@pytest.mark.parametrize(
    ("kind", "is_bounded"), [("compiled", False), ("compiled", True), ("python", True)]
)
@pytest.mark.parametrize("method", METHODS)
def test_a_crash_after_any_pass(problems, method, kind, is_bounded, tmp_path, in_memory):
    problem = problems[kind, is_bounded]
    options = {"tol": 1e-9, "max_passes": 13, "random_state": 0}
    expected = content(bw.solve(problem, LAM, method, **options))
    for n_passes in (1, 6, 11):
        checkpoint = trial(tmp_path / f"{n_passes}.npz")
        with pytest.raises(CrashError):
            bw.solve(
                problem,
                LAM,
                method,
                checkpoint=checkpoint,
                callbacks=[crash_at(n_passes)],
                **options,
            )
        seen = []
        resumed = bw.solve(
            problem,
            LAM,
            method,
            checkpoint=checkpoint,
            callbacks=[lambda event, seen=seen: seen.append(event.row.passes)],
            **options | {"random_state": None},  # (the seed is in the file)
        )
        assert_same(content(resumed), expected)
        last = resumed.trace[-1].passes
        assert seen == list(
            range(n_passes, last + 1)
        )  # only the pass that was under way is repeated
        assert (np.diff(resumed.trace["seconds"]) >= 0).all()


@pytest.mark.parametrize("method", ["bcfw+gap+pairwise+cache", "bcfw+averaging", "bcfw+maxgap"])
def test_a_crash_within_a_pass(problems, method, tmp_path, in_memory, monkeypatch):
    """After each of its checkpoints in turn; a chunk is one visit."""
    monkeypatch.setattr(block_engine, "CHUNK_SECONDS", 0.0)
    problem = problems["python", False]
    options = {"tol": 1e-9, "max_passes": 4, "random_state": 0}
    expected = content(bw.solve(problem, LAM, method, **options))
    written = []
    write = Writer.write

    def write_and_crash(writer, solver, engine):
        write(writer, solver, engine)
        written.append(engine._done)
        if len(written) == n_left[0]:
            raise CrashError

    n_left = [0]
    monkeypatch.setattr(Writer, "write", write_and_crash)
    for crash_after in (1, 2, 7, 13, 20, 31, 39):
        written.clear()
        n_left[0] = crash_after
        checkpoint = trial(tmp_path / f"{crash_after}.npz")
        with pytest.raises(CrashError):
            bw.solve(problem, LAM, method, checkpoint=checkpoint, **options)
        assert written[-1] == (crash_after - 1) % len(problem)
        n_left[0] = -1
        resumed = bw.solve(problem, LAM, method, checkpoint=checkpoint, **options)
        assert_same(content(resumed), expected)


@pytest.mark.parametrize("method", METHODS)
def test_a_crash_soon_after_another(problems, method, tmp_path, in_memory, monkeypatch):
    """The resumed run has written a checkpoint, and nothing more, when it crashes again."""
    problem = problems["compiled", False]
    options = {"tol": 1e-9, "max_passes": 8, "random_state": 0}
    expected = content(bw.solve(problem, LAM, method, **options))
    options["checkpoint"] = trial(tmp_path / "run.npz")
    write = Writer.write

    def write_and_crash(writer, solver, engine):
        write(writer, solver, engine)
        raise CrashError

    with pytest.raises(CrashError):
        bw.solve(problem, LAM, method, callbacks=[crash_at(5)], **options)
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(Writer, "write", write_and_crash)
            with pytest.raises(CrashError):
                bw.solve(problem, LAM, method, **options)
    assert_same(content(bw.solve(problem, LAM, method, **options)), expected)


def contents_of(thing, left_out):
    """Attributes by name, those of parts with names of their own."""
    found = {}
    for name, value in vars(thing).items():
        if name in left_out:
            continue
        if hasattr(value, "_asdict"):  # arrays of the point, notes, draws
            found |= {f"{name}.{field}": part for field, part in flattened(value).items()}
        elif hasattr(value, "bit_generator"):
            found[name] = str(value.bit_generator.state)
        elif hasattr(value, "to_save"):
            found |= {f"{name}.{field}": part for field, part in vars(value).items()}
        else:
            found[name] = value
    return found


@pytest.mark.parametrize("is_bounded", [False, True], ids=["free", "bounded"])
@pytest.mark.parametrize("method", [*METHODS, "bcfw+multiplane", "auto"])
def test_a_file_holds_all_that_an_engine_has(problems, method, is_bounded, tmp_path):
    """Written in the middle of a pass and read into a fresh engine, attribute by attribute."""
    problem = problems["python", is_bounded]
    engine = engine_of(problem, method, LAM, seed=0)
    for _ in range(3):
        engine.advance(len(problem), lambda: True)
    engine.certify()
    engine._chunk, left = 1, iter([True] * 4)
    engine.advance(len(problem), lambda: next(left, False))
    identity = identity_of(problem.blocks, as_method(method))
    checkpoint = trial(tmp_path / "run.npz")
    Writer(checkpoint, identity).write({"has_begun": True}, engine)
    twin = engine_of(problem, method, LAM, seed=1)
    twin.restore(read_checkpoint(checkpoint, identity).engine)
    of_point = {"blocks", "work", "_adders"}  # the problem itself, and scratch
    of_engine = {"blocks", "point", "ledger", "own", "scratch", "workers", "_chunk", "_found"}
    of_engine |= {"_of_blocks", "_of_run"}  # (the same once more, packed)
    pairs = (
        (engine.point, twin.point, of_point),
        (engine.ledger, twin.ledger, set()),
        (engine, twin, of_engine),  # (chunks go by the clock)
    )
    for one, other, left_out in pairs:
        expected, found = contents_of(one, left_out), contents_of(other, left_out)
        assert set(expected) == set(found)
        if not getattr(engine, "_is_open", True):  # (a tree is planted anew when a pass begins)
            expected.pop("notes.tree", None)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize(
    "method",
    [
        bw.BCFW(bw.GapSampling(), bw.Pairwise(), certify_every=1),
        bw.BCFW(bw.MaxGap(), bw.FW(), averaging=True, certify_every=1),
        bw.BCFW(bw.Uniform(), bw.Corrective(), certify_every=1),
        bw.FrankWolfe(),
        bw.FrankWolfe(line_search=False),
    ],
    ids=["gap", "averaging", "corrective", "fw", "fw-predefined"],
)
def test_more_passes_later_are_the_passes_that_would_have_followed(
    problems, method, tmp_path, in_memory
):
    problem = problems["compiled", False]
    # (of the best point this is not so: the shorter run has looked at an average at its end)
    options = {"tol": 0.0, "random_state": 0, "point": "last"}
    expected = content(bw.solve(problem, LAM, method, max_passes=12, **options))
    for n_passes in range(1, 12):
        path = tmp_path / f"{n_passes}.npz"
        for limit in (n_passes, 12):
            result = bw.solve(problem, LAM, method, max_passes=limit, checkpoint=path, **options)
            assert result.trace[-1].passes == limit
        assert_same(content(result), expected)


def test_a_budget_of_oracle_calls_holds_across_a_crash(problems, tmp_path, in_memory):
    problem = problems["python", False]
    method = bw.BCFW(bw.GapSampling(), certify_every=2)
    options = {"tol": 0.0, "max_oracle_calls": 200, "random_state": 0}
    expected = bw.solve(problem, LAM, method, **options)
    checkpoint = trial(tmp_path / "run.npz")
    with pytest.raises(CrashError):
        bw.solve(problem, LAM, method, checkpoint=checkpoint, callbacks=[crash_at(6)], **options)
    resumed = bw.solve(problem, LAM, method, checkpoint=checkpoint, **options)
    assert resumed.counts.oracle_calls + resumed.counts.certificate_calls <= 200
    assert_same(content(resumed), content(expected))


# -- runs that had ended -----------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_finished_run_is_not_run_again(problems, method, tmp_path):
    problem = problems["python", False]
    path = tmp_path / "run.npz"
    for options in ({"tol": 0.1}, {"tol": 0.0, "max_passes": 40}):
        ended = bw.solve(problem, LAM, method, random_state=0, checkpoint=path, **options)
        for _ in range(2):
            rows = []
            again = bw.solve(
                problem, LAM, method, checkpoint=path, callbacks=[rows.append], **options
            )
            assert not rows  # not one pass
            assert_same(content(again), content(ended))


def test_a_smaller_tolerance_goes_on(problems, tmp_path):
    problem, path = problems["compiled", False], tmp_path / "run.npz"
    results = [
        bw.solve(problem, LAM, "bcfw+gap+pairwise", tol, random_state=0, checkpoint=path)
        for tol in (0.1, 1e-2, 1e-4)
    ]
    for before, after in itertools.pairwise(results):
        assert after.is_certified
        assert after.counts.visits > before.counts.visits
        rows = len(before.trace)
        for column in ("visits", "dual", "gap", "seconds"):
            np.testing.assert_array_equal(after.trace[column][:rows], before.trace[column])
    fresh = bw.solve(problem, LAM, "bcfw+gap+pairwise", 1e-4, random_state=0)
    assert results[-1].counts.visits <= 2 * fresh.counts.visits  # the work was not begun anew
    assert abs(results[-1].certificate.primal - fresh.certificate.primal) <= 1e-4


def test_after_ctrl_c_the_same_call_goes_on(tmp_path):
    class Interrupting(Labels):
        calls, at = 0, 50

        def augmented_decode(self, x, y, w):
            Interrupting.calls += 1
            if Interrupting.calls == self.at:
                raise KeyboardInterrupt
            return super().augmented_decode(x, y, w)

    problem = make_problem("python", False, Interrupting(3, 4))
    path = tmp_path / "run.npz"
    first = bw.solve(problem, LAM, "bcfw+gap+pairwise", 1e-2, random_state=0, checkpoint=path)
    assert first.status is bw.Status.INTERRUPTED
    rest = bw.solve(problem, LAM, "bcfw+gap+pairwise", 1e-2, random_state=0, checkpoint=path)
    assert rest.is_certified
    assert rest.counts.visits > first.counts.visits
    assert (np.diff(rest.trace["dual"]) >= -1e-14).all()


def test_what_auto_chose_is_kept(tmp_path):
    problem = make_problem("python", False)
    options = {"tol": 1e-6, "max_passes": 12, "random_state": 0}
    options["checkpoint"] = trial(tmp_path / "run.npz")
    whole = bw.solve(problem, LAM, "auto", **options | {"checkpoint": None})
    with pytest.raises(CrashError):
        bw.solve(problem, LAM, "auto", callbacks=[crash_at(2)], **options)
    resumed = bw.solve(problem, LAM, "auto", **options)
    assert resumed.method.cache is not None
    assert resumed.method == whole.method
    assert "cache" in resumed.note
    assert_same(content(resumed), content(whole))


def test_fit_goes_on_from_its_checkpoint(tmp_path):
    X, Y = multiclass_data()
    path = tmp_path / "run.npz"
    svm = bw.StructuredSVM(
        lam=LAM, tol=1e-3, method="bcfw+gap+pairwise", random_state=0, checkpoint=path
    )
    first = svm.fit(X, Y).result_
    rows = []
    again = svm.set_params(callbacks=[rows.append]).fit(X, Y).result_
    assert not rows
    assert_same(content(again), content(first))


# -- files that are refused ----------------------------------------------------------------------


@pytest.fixture
def written(problems, tmp_path):
    path = tmp_path / "run.npz"
    bw.solve(problems["compiled", False], LAM, "bcfw", 0.1, random_state=0, checkpoint=path)
    return path


def test_another_problem_is_refused(problems, written):
    problem = problems["compiled", False]
    weights = np.ones(len(problem))
    weights[0] = 2.0
    others = [
        problems["python", False],
        bw.Problem(problem.task, problem.X, problem.Y, sample_weight=weights),
        bw.Problem(problem.task, 2 * problem.X, problem.Y),
    ]
    content_before = written.read_bytes()
    for other in others:
        with pytest.raises(bw.InputError, match="another problem; give another path, or remove"):
            bw.solve(other, LAM, "bcfw", 0.1, checkpoint=written)
    assert written.read_bytes() == content_before


@pytest.mark.parametrize(
    ("lam", "method", "message"),
    [
        (2 * LAM, "bcfw", rf"another lam \({LAM} there, {2 * LAM} here\)"),
        (LAM, "bcfw+gap", "another method .*Permutation.* there, .*GapSampling"),
        (LAM, bw.BCFW(certify_every=5), "another method"),
        (LAM, "fw", "another method"),
    ],
)
def test_another_lambda_or_method_is_refused(problems, written, lam, method, message):
    with pytest.raises(bw.InputError, match=message):
        bw.solve(problems["compiled", False], lam, method, 0.1, checkpoint=written)


def test_other_bounds_are_refused(problems, written):
    with pytest.raises(bw.InputError, match="another bounds"):
        bw.solve(problems["compiled", True], LAM, "bcfw", 0.1, checkpoint=written)


@pytest.mark.parametrize("side", [0, 1], ids=["lower", "upper"])
def test_each_side_of_the_bounds_counts(side, tmp_path):
    X, Y = multiclass_data(n=10)
    path, sides = tmp_path / "run.npz", []
    for bound in (0.1, 0.2):
        pair = [-1.0, 1.0]
        pair[side] *= bound
        sides.append(bw.Problem(bw.tasks.Multiclass(bias=False), X, Y, bounds=tuple(pair)))
    bw.solve(sides[0], LAM, "bcfw", 0.1, checkpoint=path)
    with pytest.raises(bw.InputError, match="another bounds"):
        bw.solve(sides[1], LAM, "bcfw", 1e-3, checkpoint=path)


def test_another_seed_is_refused(problems, written):
    problem, before = problems["compiled", False], written.read_bytes()
    message = r"another seed \(0 there, {} here\).* \(With random_state=None it goes on"
    for seed, shown in [(1, "1"), (np.random.default_rng(1), "generator [0-9a-f]{8}")]:
        with pytest.raises(bw.InputError, match=message.replace("{}", shown)):
            bw.solve(problem, LAM, "bcfw", 0.01, random_state=seed, checkpoint=written)
    with pytest.raises(bw.InputError, match="another seed"):
        bw.solve_path(problem, 0.1, 0.1, "bcfw", random_state=1, checkpoint=path_of(written))
    assert written.read_bytes() == before


def path_of(written):
    """A checkpoint of a path with seed 0, beside that of a run."""
    path = written.with_name("path.npz")
    bw.solve_path(
        make_problem("compiled", False), 0.1, 0.1, "bcfw", random_state=0, checkpoint=path
    )
    return path


def test_without_a_seed_a_run_goes_on_and_keeps_its_own(problems, written):
    """The file says the seed that the run began with, whoever went on with it."""
    problem = problems["compiled", False]
    options = {"method": "bcfw", "checkpoint": written}
    further = bw.solve(problem, LAM, tol=1e-3, **options)
    whole = bw.solve(problem, LAM, "bcfw", 1e-3, random_state=0)
    assert abs(further.certificate.primal - whole.certificate.primal) <= 1e-3
    again = bw.solve(problem, LAM, tol=1e-3, random_state=0, **options)
    assert again.counts == further.counts
    with pytest.raises(bw.InputError, match="another seed"):
        bw.solve(problem, LAM, tol=1e-3, random_state=1, **options)


def test_a_run_whose_seed_was_drawn_goes_on_without_one(problems, tmp_path, in_memory):
    problem, path = problems["compiled", False], tmp_path / "run.npz"
    ended = bw.solve(problem, LAM, "bcfw", 0.1, checkpoint=path)
    again = bw.solve(problem, LAM, "bcfw", 0.1, checkpoint=path)
    assert_same(content(again), content(ended))
    with pytest.raises(bw.InputError, match=r"another seed \(None there, 0 here\)"):
        bw.solve(problem, LAM, "bcfw", 0.1, random_state=0, checkpoint=path)


@pytest.mark.parametrize("make_seed", [np.random.default_rng, np.random.RandomState])
def test_a_generator_is_known_by_where_it_stands(problems, make_seed, tmp_path):
    problem, path = problems["compiled", False], tmp_path / "run.npz"
    first = bw.solve(problem, LAM, "bcfw", 0.1, random_state=make_seed(5), checkpoint=path)
    again = bw.solve(problem, LAM, "bcfw", 0.1, random_state=make_seed(5), checkpoint=path)
    assert_same(content(again), content(first))
    with pytest.raises(bw.InputError, match="another seed"):
        bw.solve(problem, LAM, "bcfw", 0.1, random_state=make_seed(6), checkpoint=path)


def test_a_file_of_a_run_that_had_not_begun_takes_the_seed_of_the_next(problems, written):
    """It holds nothing to go on from, so that what follows is another run."""
    header, arrays = read_archive(written, checkpoint.CHECKPOINT)
    named = {n: v for n, v in header.items() if n not in ("format", "version", "digest")}
    named["driver"]["has_begun"] = False
    write_archive(written, checkpoint.CHECKPOINT, named, arrays)
    problem = problems["compiled", False]
    bw.solve(problem, LAM, "bcfw", 0.1, checkpoint=written)
    with pytest.raises(bw.InputError, match=r"another seed \(None there, 0 here\)"):
        bw.solve(problem, LAM, "bcfw", 0.1, random_state=0, checkpoint=written)


@pytest.mark.parametrize("said", ["", "nonsense", "X=1=2;;", 7, None, ["X"]])
def test_whatever_a_file_says_of_its_problem_is_another_problem(problems, written, said):
    header, arrays = read_archive(written, checkpoint.CHECKPOINT)
    named = {n: v for n, v in header.items() if n not in ("format", "version", "digest")}
    named["identity"]["problem"] = said
    write_archive(written, checkpoint.CHECKPOINT, named, arrays)
    with pytest.raises(bw.InputError, match="another problem; give another path"):
        bw.solve(problems["compiled", False], LAM, "bcfw", 0.1, checkpoint=written)


def test_another_start_is_refused(problems, tmp_path):
    problem, path = problems["compiled", False], tmp_path / "run.npz"
    states = [
        bw.solve(problem, 2 * LAM, "bcfw+pairwise", 0.0, max_passes=n, random_state=0).last_state
        for n in (1, 2)
    ]
    options = {"tol": 0.1, "random_state": 0, "checkpoint": path}
    first = bw.solve(problem, LAM, "bcfw", start=states[0], **options)
    again = bw.solve(problem, LAM, "bcfw", start=copy.deepcopy(states[0]), **options)
    assert_same(content(again), content(first))
    with pytest.raises(bw.InputError, match="another start; give another path"):
        bw.solve(problem, LAM, "bcfw", start=states[1], **options)
    with pytest.raises(
        bw.InputError, match=r"another start;.* \(There, a state was given to start"
    ):
        bw.solve(problem, LAM, "bcfw", **options)
    options["checkpoint"] = tmp_path / "cold.npz"
    bw.solve(problem, LAM, "bcfw", **options)
    with pytest.raises(bw.InputError, match=r"another start;.* \(There, no state was given"):
        bw.solve(problem, LAM, "bcfw", start=states[0], **options)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(problems, written, share):
    whole = written.read_bytes()
    written.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(bw.ModelFileError, match="not a blockwolfe checkpoint, or it is truncated"):
        bw.solve(problems["compiled", False], LAM, "bcfw", 0.1, checkpoint=written)


def test_an_altered_file_is_refused(problems, written):
    with np.load(written) as archive:
        arrays = dict(archive)
    arrays["engine.point.w"] = arrays["engine.point.w"] + 1e-9
    np.savez(written, **arrays)
    with pytest.raises(bw.ModelFileError, match="altered"):
        bw.solve(problems["compiled", False], LAM, "bcfw", 0.1, checkpoint=written)


@pytest.mark.parametrize("version", [1, 5])
def test_a_file_of_an_earlier_version_is_refused_with_what_to_do(problems, written, version):
    earlier = checkpoint.CHECKPOINT._replace(version=version)
    header, arrays = read_archive(written, checkpoint.CHECKPOINT)
    named = {n: v for n, v in header.items() if n not in ("format", "version", "digest")}
    named["engine"] = {n: v for n, v in named["engine"].items() if n != "rounds"}
    write_archive(written, earlier, named, arrays)
    message = f"version {version}, of an earlier blockwolfe.* Remove the file or give another path"
    with pytest.raises(bw.ModelFileError, match=message):
        bw.solve(problems["compiled", False], LAM, "bcfw", 0.1, checkpoint=written)


def test_a_model_is_no_checkpoint_and_a_checkpoint_no_model(problems, written, tmp_path):
    X, Y = multiclass_data()
    bw.StructuredSVM(lam=LAM, tol=0.1).fit(X, Y).save(tmp_path / "model.npz")
    with pytest.raises(bw.ModelFileError, match="is a blockwolfe model, not a checkpoint"):
        bw.solve(problems["compiled", False], LAM, "bcfw", 0.1, checkpoint=tmp_path / "model.npz")
    with pytest.raises(bw.ModelFileError, match="is a blockwolfe checkpoint, not a model"):
        bw.load(written)


def test_a_missing_folder_is_refused_before_any_work(tmp_path):
    class Untouched(Labels):
        def augmented_decode(self, x, y, w):
            raise AssertionError("the oracle was called")

    problem = make_problem("python", False, Untouched(3, 4))
    with pytest.raises(bw.InputError, match="folder .*nowhere does not exist"):
        bw.solve(problem, LAM, checkpoint=tmp_path / "nowhere" / "run.npz")


@pytest.mark.parametrize("every", [-1, np.nan, np.inf, "60", None, True])
def test_bad_intervals(every):
    with pytest.raises(bw.OptionError, match="^every="):
        bw.Checkpoint("run.npz", every=every)


def test_checkpoint_must_be_a_path_or_a_checkpoint(problems):
    with pytest.raises(bw.OptionError, match="^checkpoint=60 "):
        bw.solve(problems["compiled", False], LAM, checkpoint=60)


def test_only_whole_files_are_left_behind(problems, tmp_path):
    checkpoint = trial(tmp_path / "run.npz")
    with pytest.raises(CrashError):
        bw.solve(
            problems["compiled", False],
            LAM,
            "bcfw",
            0.0,
            checkpoint=checkpoint,
            callbacks=[crash_at(3)],
        )
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


if __name__ == "__main__":
    kill_runs(Path(sys.argv[1]))


def test_a_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(bw.InputError, match="it is a folder"):
        bw.solve(PROBLEMS["multiclass-dense"](), 0.1, checkpoint=tmp_path)


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_run(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    problem, given = PROBLEMS["multiclass-dense"](), {"random_state": 0, "tol": 0.01}
    with pytest.warns(
        RuntimeWarning, match="goes on without: .*No space left on device; make room"
    ):
        result = bw.solve(problem, 0.1, checkpoint=tmp_path / "run.npz", **given)
    assert result.certificate.gap == bw.solve(problem, 0.1, **given).certificate.gap


def test_promises_that_are_broken_in_every_pass_leave_a_file_to_go_on_from(tmp_path, monkeypatch):
    """The passes to wait were doubled every time, to numbers that no file can hold."""
    monkeypatch.setattr(Driver, "_is_promising", lambda self: True)
    problem, path = PROBLEMS["chain-dense"](), tmp_path / "run.npz"
    method = bw.FrankWolfe(line_search=False)
    bw.solve(problem, LAM, method, 0.0, max_passes=100, checkpoint=path)
    again = bw.solve(problem, LAM, method, 0.0, max_passes=110, checkpoint=path)
    assert again.trace[-1].passes == 110


def test_a_total_gap_just_below_zero_leaves_a_file_to_go_on_from(tmp_path, monkeypatch):
    """At the optimum gaps are rounding noise around zero, of which a cache takes its share."""
    below = property(lambda self: -1e-19, lambda self, value: None)
    monkeypatch.setattr(Ledger, "total_gap", below, raising=False)
    problem, path = PROBLEMS["chain-dense"](), tmp_path / "run.npz"
    for passes in (3, 6):
        result = bw.solve(problem, LAM, "bcfw+cache", 0.0, max_passes=passes, checkpoint=path)
    assert result.status is bw.Status.MAX_PASSES
