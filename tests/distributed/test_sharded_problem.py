"""Problems that come as shards: the same optimum, the same labels and names as of one machine."""

import functools
import gc
import os
import signal

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.distributed.runners import Serial
from blockwolfe.errors import WorkerWarning
from losing import process_ids
from sharding import LAM, TOL, Failing, problem_of
from zoo import bounded

ENGINES = ["serial", "threads", "processes"]


def dealt_shards(problem, n_shards, weight=None):
    """The examples of a problem as functions that load them."""
    found = []
    for k in range(n_shards):
        data = [
            [values[i] for i in range(k, len(problem), n_shards)]
            for values in (problem.X, problem.Y)
        ]
        if weight is not None:
            data.append(weight[k::n_shards])
        found.append(functools.partial(tuple, data))
    return found


def words(seed, n=14):
    """Sequences of token dicts, with words that are rare."""
    rng = np.random.default_rng(seed)
    X = [
        [{"w": f"w{int(rng.integers(9))}", "n": float(rng.integers(2))} for _ in range(3)]
        for _ in range(n)
    ]
    return X, [
        [("A", "B", "C")[len(token["w"]) % 3 if token["n"] else 0] for token in x] for x in X
    ]


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-dense", "multiclass-python"])
def test_the_run_is_that_of_the_whole_problem(name):
    """Visits and joint steps are the same; sums over blocks are in another order."""
    problem = problem_of(name)
    given = {"tol": TOL, "random_state": 0, "max_passes": 200}
    whole = bw.solve(problem, LAM, bw.Sharded(3, "serial", "bcfw+pairwise"), **given)
    shards = bw.ShardedProblem(problem.task, dealt_shards(problem, 3), "serial")
    found = bw.solve(shards, LAM, "bcfw+pairwise", **given)
    assert whole.is_certified
    assert found.is_certified
    assert found.w == pytest.approx(whole.w, abs=1e-9)
    assert found.certificate.primal == pytest.approx(problem.primal(found.w, LAM), rel=1e-12)
    assert found.certificate.dual == pytest.approx(whole.certificate.dual, rel=1e-9)
    assert found.state is None


def test_weights_and_bounds():
    problem = problem_of("chain-dense")
    weight = np.arange(1.0, len(problem) + 1.0)
    bounds = bounded(problem)
    whole = bw.Problem(problem.task, problem.X, problem.Y, weight, bounds)
    shards = bw.ShardedProblem(
        problem.task, dealt_shards(problem, 2, weight), "serial", bounds=bounds
    )
    assert shards.n_effective == whole.n_effective
    found = bw.solve(shards, LAM, tol=TOL, random_state=0)
    best = bw.solve(whole, LAM, tol=1e-6, random_state=0).certificate
    assert found.certificate.dual <= best.primal
    assert found.certificate.primal == pytest.approx(whole.primal(found.w, LAM), rel=1e-12)
    assert found.certificate.primal >= best.dual


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_give_the_same_bits(engine):
    problem = problem_of("chain-dense")
    w = [
        bw.solve(
            bw.ShardedProblem(problem.task, dealt_shards(problem, 2), e),
            LAM,
            tol=TOL,
            random_state=1,
        ).w
        for e in ("serial", engine)
    ]
    assert w[0].tobytes() == w[1].tobytes()


@pytest.mark.parametrize("min_count", [1, 3])
def test_shards_agree_on_names_and_labels(min_count):
    X, Y = words(0)
    whole = bw.Problem(bw.tasks.Chain(min_count=min_count), X, Y)
    shards = [(X[k::5], Y[k::5]) for k in range(5)]
    problem = bw.ShardedProblem(bw.tasks.Chain(min_count=min_count), shards, "serial")
    assert problem.task.vectorizer_.feature_names_ == whole.task.vectorizer_.feature_names_
    assert problem.task.classes_.tolist() == whole.task.classes_.tolist()
    assert problem.task.groups == whole.task.groups
    found = bw.solve(problem, LAM, tol=TOL, random_state=0)
    assert whole.primal(found.w, LAM) == pytest.approx(found.certificate.primal, rel=1e-12)


def test_labels_that_only_one_shard_has():
    shards = [([[1.0], [2.0]], ["a", "b"]), ([[3.0]], ["long name"])]
    problem = bw.ShardedProblem(bw.tasks.Multiclass(), shards, "serial")
    assert problem.task.classes_.tolist() == ["a", "b", "long name"]


def test_a_sample_is_learned_from():
    problem = problem_of("cut")
    shards = dealt_shards(problem, 2)
    with pytest.raises(bw.OptionError, match="sample="):
        bw.ShardedProblem(bw.tasks.Cut(), shards, "serial")
    found = bw.ShardedProblem(bw.tasks.Cut(), shards, "serial", sample=(problem.X, problem.Y))
    assert bw.solve(found, LAM, tol=0.05, random_state=0).is_certified


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    problem, path = problem_of("chain-dense"), tmp_path / "run.npz"
    given = {"tol": TOL, "random_state": 4, "method": "bcfw+pairwise"}

    def made():
        return bw.ShardedProblem(problem.task, dealt_shards(problem, 2), "serial")

    def interrupt(event):
        if event.row.passes == 3:
            raise KeyboardInterrupt

    whole = bw.solve(made(), LAM, **given)
    assert whole.trace[-1].passes > 3
    bw.solve(made(), LAM, **given, callbacks=[interrupt], checkpoint=path)
    again = bw.solve(made(), LAM, **given, checkpoint=path)
    assert again.w.tobytes() == whole.w.tobytes()


def test_what_fails_in_a_shard_arrives():
    shards = [([1, 2], [1, -1]), ([4, 3], [1, -1])]
    with pytest.raises(Exception, match="no such thing"):
        bw.ShardedProblem(Failing(), shards, "processes")


@pytest.mark.parametrize(
    ("shards", "named"),
    [
        ([], "at least one"),
        ("part", "at least one"),
        (None, "shards is a NoneType"),
        ([3], r"shards\[0\] is a int"),
        ([([[1.0]],)], r"shards\[0\] is a tuple"),
        ([lambda: 3], r"shards\[0\] gives a int"),
        ([([[1.0]], [0, 1])], "X has 1 examples and Y has 2"),
        ([([[1.0]], [0]), ([[1.0, 2.0]], [1])], "1 and 2 columns"),
        ([([[1.0]], [0]), ([[1.0]], ["b"])], "strings as labels"),
        ([([], []), ([[1.0]], [1])], "empty"),
        ([([[1.0]], [0], [-1.0])], "weight"),
        ([([[np.nan]], [0]), ([[1.0]], [1])], "NaN|not finite|nan"),
    ],
)
def test_shards_that_make_no_sense(shards, named):
    with pytest.raises(bw.InputError, match=named):
        bw.ShardedProblem(bw.tasks.Multiclass(), shards, "serial")


def test_what_needs_the_whole_problem_is_refused():
    problem = problem_of("multiclass-dense")
    shards = bw.ShardedProblem(problem.task, dealt_shards(problem, 2), "serial")
    with pytest.raises(bw.InputError, match="by bw.solve"):
        bw.compare(shards, LAM, ["bcfw"], budget={"max_passes": 2})
    with pytest.raises(bw.OptionError, match="n_shards=3"):
        bw.solve(shards, LAM, bw.Sharded(3))
    with pytest.raises(bw.OptionError, match="engine='threads'"):
        bw.solve(shards, LAM, bw.Sharded(2, rounds=1))
    with pytest.raises(bw.OptionError, match="block-coordinate"):
        bw.solve(shards, LAM, "fw")
    task = bw.tasks.Multiclass(task_loss=bw.tasks.Hamming(class_weight="balanced"))
    with pytest.raises(bw.OptionError, match="balanced"):
        bw.ShardedProblem(task, dealt_shards(problem, 2), "serial")


class Locked(Failing):
    """A task that cannot be told from another."""

    def __init__(self):
        self.lock = (k for k in ())

    def augmented_decode(self, x, y, w):
        return max((-1, 1), key=lambda h: (h != y) + h * x * w[0])


def test_a_checkpoint_that_could_not_be_read_again_is_refused(tmp_path):
    shards = bw.ShardedProblem(Locked(), [([1, 2], [1, -1]), ([4, 3], [1, -1])], "serial")
    assert bw.solve(shards, LAM, tol=0.1).is_certified
    with pytest.raises(bw.InputError, match="no later run"):
        bw.solve(shards, LAM, checkpoint=tmp_path / "run.npz")


class Changing:
    """A function that gives other examples each time."""

    def __init__(self):
        self.n_calls = 0

    def __call__(self):
        self.n_calls += 1
        return [[1.0], [2.0 + self.n_calls]], [0, 1]


def test_a_shard_that_changes_is_refused():
    shards = [([[1.0], [3.0]], [0, 1]), Changing()]
    problem = bw.ShardedProblem(bw.tasks.Multiclass(), shards, "serial")
    with pytest.raises(bw.InputError, match=r"shards\[1\] gives other examples"):
        bw.solve(problem, LAM)


class Signed(Failing):
    """One whose oracle is right only where w is not negative."""

    def augmented_decode(self, x, y, w):
        return max((-1, 1), key=lambda h: (h != y) + h * x * abs(w[0]))


def test_bounds_hold_where_the_oracle_is_tried():
    shards, given = [([1, 2], [1, -1]), ([4, 3], [1, -1])], {"bounds": (0.0, None)}
    problem = bw.ShardedProblem(Signed(), shards, "serial", **given)
    whole = bw.Problem(Signed(), [1, 2, 4, 3], [1, -1, 1, -1], **given)
    found, known = (bw.solve(one, LAM, tol=1e-3).certificate for one in (problem, whole))
    assert found.dual <= known.primal
    assert known.dual <= found.primal
    with pytest.raises(bw.InputError, match="bounds"):
        bw.ShardedProblem(Signed(), shards, "serial", bounds="x")


class Counted:
    """A shard that counts how often it is loaded: by lines of a file."""

    def __init__(self, folder, k):
        self.file, self.k = folder / f"{k}.log", k

    def __call__(self):
        with self.file.open("a") as file:
            file.write("loaded\n")
        x = np.random.default_rng(self.k).normal(size=6)
        return x.tolist(), np.where(x > 0.2, 1, -1)

    @property
    def n_loads(self):
        return len(self.file.read_text().splitlines())


class Sign(Failing):
    """One that never fails."""

    def augmented_decode(self, x, y, w):
        return max((-1, 1), key=lambda h: (h != y) + h * x * w[0])


@pytest.mark.parametrize("engine", ENGINES)
def test_workers_that_stay_load_once(engine, tmp_path):
    """Runs are those of new workers, whatever ran before; paths as well."""
    shards = [Counted(tmp_path, k) for k in range(2)]
    given = {"tol": 1e-3, "random_state": 2}
    with bw.ShardedProblem(Sign(), shards, engine, keep=True) as problem:
        first = bw.solve(problem, LAM, **given)
        path = bw.solve_path(problem, 0.1, 0.3, random_state=0)
        again = bw.solve(problem, LAM, **given)
        assert first.w.tobytes() == again.w.tobytes()
        assert path.status is bw.Status.CERTIFIED
        assert [shard.n_loads for shard in shards] == [1, 1]
    fresh = bw.solve(problem, LAM, **given)
    assert [shard.n_loads for shard in shards] == [2, 2]
    assert fresh.w.tobytes() == first.w.tobytes()
    problem.close()


def test_a_lost_worker_that_was_kept_loads_again(tmp_path):
    shards = [Counted(tmp_path, k) for k in range(2)]
    with bw.ShardedProblem(Sign(), shards, "processes", keep=True) as problem:
        first = bw.solve(problem, LAM, tol=1e-3, random_state=2)
        os.kill(process_ids("processes")[0], signal.SIGKILL)
        with pytest.warns(WorkerWarning, match="a new one goes on"):
            again = bw.solve(problem, LAM, tol=1e-3, random_state=2)
    assert sorted(shard.n_loads for shard in shards) == [1, 2]
    assert again.w.tobytes() == first.w.tobytes()


def test_kept_workers_are_for_one_run_at_a_time():
    problem = bw.ShardedProblem(Sign(), [([1, 2], [1, -1]), ([4, 3], [1, -1])], "serial", keep=True)

    def another(event):
        bw.solve(problem, LAM, tol=0.1)

    with pytest.raises(bw.OptionError, match="at work with its workers already"):
        bw.solve(problem, LAM, tol=1e-9, callbacks=[another])
    assert bw.solve(problem, LAM, tol=0.1).is_certified


def test_kept_workers_end_with_the_problem(monkeypatch):
    ended = []

    def end(self):
        ended.append(self)

    monkeypatch.setattr(Serial, "end", end)
    problem = bw.ShardedProblem(Sign(), [([1, 2], [1, -1]), ([4, 3], [1, -1])], "serial", keep=True)
    bw.solve(problem, LAM, tol=0.1)
    assert not ended
    del problem
    gc.collect()
    assert len(ended) == 1
    with pytest.raises(bw.OptionError, match="keep"):
        bw.ShardedProblem(Sign(), [([1, 2], [1, -1])], "serial", keep=1)
