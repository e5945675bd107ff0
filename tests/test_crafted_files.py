"""Files from strangers: any value changed, the digest made to fit, and never more than a refusal."""

import io
import json
import warnings

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.base.archive import _digest
from blockwolfe.running.pairing import Pairing
from plain_tasks import Labels
from zoo import multiclass_data, token_dicts


def crafted(path, change):
    """Let `change(header, arrays)` change a file, and make its digest fit."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays.pop("header")[()]))
    change(header, arrays)
    header["digest"] = _digest(header, arrays)
    buffer = io.BytesIO()
    np.savez(buffer, header=np.array(json.dumps(header)), **arrays)
    path.write_bytes(buffer.getvalue())


def setter(where, value):
    """A change of one value: names of the header, or of an array and what becomes of it."""

    def change(header, arrays):
        *outer, last = where
        inside = header
        for name in outer:
            inside = inside[name]
        inside[last] = value

    return change


def of_array(name, change):
    def changed(header, arrays):
        arrays[name] = change(arrays[name].copy())

    return changed


def entry(at, value):
    def change(array):
        array[at] = value
        return array

    return change


def drop(array):
    return lambda header, arrays: arrays.pop(array)


def drop_value(*where):
    def change(header, arrays):
        *outer, last = where
        inside = header
        for name in outer:
            inside = inside[name]
        del inside[last]

    return change


# -- models --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models():
    X, Y = multiclass_data()
    rows = bw.StructuredSVM(bw.tasks.Multiclass(), lam=0.5, tol=0.1, random_state=0).fit(X, Y)
    tokens = bw.StructuredSVM(bw.tasks.Chain(), lam=0.5, tol=0.1, random_state=0)
    return {"rows": rows, "tokens": tokens.fit(*token_dicts())}


LAYOUT = ("task", "plain", "layout_")
OPTIONS = ("task", "task", "Multiclass")
BAD_MODELS = {
    "weights that are too few": of_array("coef", lambda w: w[:-1]),
    "weights of another type": of_array("coef", lambda w: w.astype(np.float32)),
    "weights as a table": of_array("coef", lambda w: w[None]),
    "weights that are infinite": of_array("coef", entry(0, np.inf)),
    "no weights": drop("coef"),
    "a layout of other numbers": setter(LAYOUT, [4, 3, 12, -1, -1, -1, 10**9]),
    "a layout of negative numbers": setter(LAYOUT, [-4, 3, 12, -1, -1, -1, 15]),
    "a layout of text": setter(LAYOUT, ["4"] * 7),
    "a short layout": setter(LAYOUT, [4, 3]),
    "labels that repeat": of_array("task.classes_", np.zeros_like),
    "no labels": of_array("task.classes_", lambda labels: labels[:0]),
    "more labels": of_array("task.classes_", lambda labels: np.arange(9)),
    "costs of another shape": of_array("task.cost_", lambda cost: cost[:1]),
    "costs below zero": of_array("task.cost_", lambda cost: -cost),
    "costs that are no numbers": of_array("task.cost_", lambda cost: cost * np.nan),
    "a method among what was learned": setter(("task", "plain", "predict"), 1),
    "an option among what was learned": setter(("task", "plain", "_prepared"), [1, 2]),
    "something learned that is missing": lambda header, arrays: header["task"]["arrays"].pop(),
    "a name of no array": lambda header, arrays: header["task"]["arrays"].append("x"),
    "a class that is no task": setter(("task", "task"), {"FrankWolfe": {}}),
    "a class of nobody": setter(("task", "task"), {"os.system": {}}),
    "two classes": setter(("task", "task"), {"Chain": {}, "Multiclass": {}}),
    "no class": setter(("task", "task"), 5),
    "no task": drop_value("task"),
    "a task that is a list": setter(("task",), []),
    "an option of a task that there is not": setter((*OPTIONS, "x"), 1),
    "a switch that is a text": setter((*OPTIONS, "bias"), "yes"),
    "a loss of nobody": setter((*OPTIONS, "task_loss"), "x"),
    "a loss without costs": setter((*OPTIONS, "task_loss"), {"CostMatrix": {}}),
    "an option that there is not": setter(("options", "x"), 1),
    "no options": drop_value("options"),
    "options in a list": setter(("options",), [1]),
    "lambda as text": setter(("lam",), "1"),
    "a lambda of many digits": setter(("lam",), 10**4000),
    "a certificate with more": setter(("certificate", "x"), 1.0),
    "a certificate with less": drop_value("certificate", "gap"),
    "a certificate in no unit": setter(("certificate", "unit"), 0.0),
    "a certificate of text": setter(("certificate", "gap"), "0"),
    "block gaps as text": of_array("block_gaps", lambda gaps: gaps.astype(str)),
    "a trace without rows": lambda header, arrays: arrays.update(
        {name: arrays[name][:0] for name in arrays if name.startswith("trace_")}
    ),
    "a trace of unequal columns": of_array("trace_gap", lambda gap: gap[:0]),
    "a trace of text": of_array("trace_passes", lambda passes: passes.astype(str)),
    "extra that is no object": setter(("extra",), [1]),
}


BAD_TOKENS = {
    "a vocabulary that is too short": of_array("task.vocabulary", lambda names: names[:-1]),
    "a vocabulary of numbers": of_array("task.vocabulary", lambda names: np.arange(len(names))),
    "a vocabulary with a name twice": of_array(
        "task.vocabulary", lambda names: np.repeat(names[:1], len(names))
    ),
}


@pytest.mark.parametrize(
    ("kind", "change", "named"),
    [pytest.param("rows", change, "model.npz", id=name) for name, change in BAD_MODELS.items()]
    + [
        pytest.param("tokens", change, "vocabulary", id=name) for name, change in BAD_TOKENS.items()
    ],
)
def test_crafted_models(models, tmp_path, kind, change, named):
    path = tmp_path / "model.npz"
    models[kind].save(path)
    crafted(path, change)
    with pytest.raises(bw.ModelFileError, match=named):
        bw.load(path)


def test_a_model_names_no_place_to_write_to(models, tmp_path):
    path = tmp_path / "model.npz"
    models["rows"].save(path)
    crafted(path, setter(("options", "checkpoint"), str(tmp_path / "mine")))
    assert bw.load(path).checkpoint is None


@pytest.mark.parametrize("place", ["options", "fitted"])
def test_a_task_inside_another_has_the_options_that_the_file_says(tmp_path, place):
    """Or predictions would be outputs of another task than the one that is shown."""
    X = [bw.tasks.Links([[0.0], [1.0]], [(0, 0), (0, 1)], (1, 2))] * 2
    Y = [[(0, 1)], [(0, 1)]]
    task = bw.tasks.Approximate(bw.tasks.Matching(), bw.tasks.Additive(0.1))
    path = tmp_path / "model.npz"
    bw.StructuredSVM(task, lam=0.5, tol=0.5, random_state=0).fit(X, Y).save(path)
    assert bw.load(path).task_.task_.capacity == 1
    where = {
        "options": ("task", "task", "Approximate", "task", "Matching", "capacity"),
        "fitted": ("task", "tasks", "task_", "task", "Matching", "capacity"),
    }
    crafted(path, setter(where[place], 2))
    with pytest.raises(bw.ModelFileError, match="task_ has other options"):
        bw.load(path)


def test_refusals_name_the_file_the_value_and_a_remedy(models, tmp_path):
    path = tmp_path / "model.npz"
    models["rows"].save(path)
    crafted(path, setter(("lam",), "\x1b[31m" + "x" * 1000))
    with pytest.raises(bw.ModelFileError) as error:
        bw.load(path)
    message = str(error.value)
    assert message.startswith(f"{path} is no model that blockwolfe has written: lam is '\\x1b[31mx")
    assert message.endswith("...; expected a number between 0 and inf. Save the model again.")
    assert len(message) < 300


# -- paths -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def path_of_models():
    problem = bw.Problem(bw.tasks.Multiclass(), *multiclass_data())
    return bw.solve_path(problem, 0.2, lam_min=0.05, method="bcfw+gap+pairwise", random_state=0)


BAD_PATHS = {
    "an index beyond w": of_array("weights_index", entry(-1, 2**31 - 1)),
    "an index below zero": of_array("weights_index", entry(0, -1)),
    "indices of another type": of_array("weights_index", lambda index: index.astype(float)),
    "fewer values": of_array("weights_value", lambda value: value[:-1]),
    "values that are no numbers": of_array("weights_value", entry(0, np.nan)),
    "starts that fall": of_array("weights_start", lambda start: start[::-1].copy()),
    "starts beyond the end": of_array("weights_start", entry(-1, 2**40)),
    "no starts": of_array("weights_start", lambda start: start[:0]),
    "weights of less breakpoints": lambda header, arrays: arrays.update(
        weights_start=arrays["weights_start"][[0, -1]]
    ),
    "weights of another length": setter(("n_features",), 3),
    "more weights than memory": setter(("n_features",), 10**12),
    "a start of another length": of_array("start", lambda start: start[:-1]),
    "lambdas that rise": of_array("point_lam", lambda lam: lam[::-1].copy()),
    "a lambda below zero": of_array("point_lam_end", entry(-1, -1.0)),
    "a lambda that is no number": of_array("point_lam", entry(0, np.nan)),
    "columns of unequal length": of_array("point_gap", lambda gap: gap[:-1]),
    "a column of text": of_array("point_nnz", lambda nnz: nnz.astype(str)),
    "a missing column": drop("point_dual"),
    "a status of nobody": setter(("status",), "PERFECT"),
    "a status that is a list": setter(("status",), ["CERTIFIED"]),
    "eps as text": setter(("eps",), "1"),
    "exact as a number": setter(("exact",), 1),
    "no task": drop_value("task"),
}


@pytest.mark.parametrize("name", BAD_PATHS)
def test_crafted_paths(path_of_models, tmp_path, name):
    path = tmp_path / "path.npz"
    path_of_models.save(path)
    crafted(path, BAD_PATHS[name])
    with pytest.raises(bw.ModelFileError, match="path.npz"):
        bw.load_path(path)


# -- checkpoints -----------------------------------------------------------------------------------

LAM = 0.05
CORNERS, MEANS, WHOLE = "bcfw+gap+pairwise+cache", "bcfw+averaging", "whole_blocks"
CHOOSING = "auto+averaging"


def problem_of(kind):
    X, Y = multiclass_data(n=10)
    return bw.Problem(bw.tasks.Multiclass(bias=False) if kind == "compiled" else Labels(3, 4), X, Y)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """Of every kind and method the bytes of a checkpoint after three passes."""
    made, file = {}, tmp_path_factory.mktemp("made") / "run.npz"
    for kind in ("compiled", "python"):
        own = (WHOLE,) if kind == "compiled" else ()
        for method in (CORNERS, MEANS, "fw", "auto", CHOOSING, *own):
            bw.solve(problem_of(kind), LAM, method, 1e-9, **options(file, 3))
            made[kind, method] = file.read_bytes()
            file.unlink()
    return made


def options(file, passes):
    return {"max_passes": passes, "random_state": 0, "checkpoint": file}


def go_on(checkpoints, tmp_path, kind, method, change):
    path = tmp_path / "run.npz"
    path.write_bytes(checkpoints[kind, method])
    crafted(path, change)
    return bw.solve(problem_of(kind), LAM, method, 1e-9, **options(path, 6))


def at_stock(name, change):
    return CORNERS, of_array(f"engine.point.stock.{name}", change)


def at_means(name, change):
    return MEANS, of_array(f"engine.point.means.{name}", change)


def at_ledger(name, change):
    return CORNERS, of_array(f"engine.ledger.{name}", change)


def in_engine(*where, value):
    return CORNERS, setter(("engine", *where), value)


BAD_CHECKPOINTS = {
    "rows that begin elsewhere": at_stock("start", lambda start: start + 1),
    "more rows than room": at_stock("n_rows", lambda n: n + 1000),
    "a block without rows": at_stock("n_rows", entry(0, 0)),
    "rows below zero": at_stock("n_rows", entry(0, -1)),
    "room beyond memory": at_stock("capacity", entry(0, 2**61)),
    "a dual weight below zero": at_stock("weight", entry(0, -0.5)),
    "dual weights that sum to two": at_stock("weight", lambda weight: 2 * weight),
    "a dual weight that is no number": at_stock("weight", entry(0, np.nan)),
    "a loss below zero": at_stock("loss", lambda loss: loss - 1.0),
    "a code that begins beyond the end": at_stock("begin", entry(0, 10**9)),
    "a code that begins before": at_stock("begin", entry(0, -1)),
    "a code too long": at_stock("size", entry(0, 10**6)),
    "a code of another length": at_stock("size", entry(0, 0)),
    "a label that there is not": at_stock("code", lambda code: np.full_like(code, 3)),
    "a label below zero": at_stock("code", lambda code: np.full_like(code, -1)),
    "labels of another type": at_stock("code", lambda code: code.astype(np.int64)),
    "an end beyond the end": at_stock("end", entry(0, 2**40)),
    "fewer rows than said": at_stock("loss", lambda loss: loss[:-1]),
    "rows in two dimensions": at_stock("height", lambda height: height[None]),
    "a part that there is not": at_means("part", lambda part: np.full_like(part, 3)),
    "a part below zero": at_means("part", lambda part: np.full_like(part, -1)),
    "a part twice": at_means("part", np.zeros_like),
    "parts longer than their room": at_means("length", lambda length: length + 50),
    "parts that begin elsewhere": at_means("start", lambda start: start[::-1].copy()),
    "means that are no numbers": at_means("mean", lambda mean: mean * np.nan),
    "fewer means": at_means("mean", lambda mean: mean[:-1]),
    "weights that are too few": (CORNERS, of_array("engine.point.w", lambda w: w[:-1])),
    "losses that are not of the corners": (
        CORNERS,
        of_array("engine.point.ell", lambda e: e + 1e-9),
    ),
    "losses of other blocks": (CORNERS, of_array("engine.point.ell", lambda ell: ell[:-1])),
    "gaps below zero": at_ledger("gap", lambda gap: gap - 1.0),
    "gaps of other blocks": at_ledger("gap", lambda gap: gap[:-1]),
    "a visit in the future": at_ledger("last_visit", entry(0, 10**15)),
    "counts below zero": at_ledger("counts", lambda counts: counts - 10**6),
    "fewer counts": at_ledger("counts", lambda counts: counts[:-1]),
    "a block beyond the last": at_ledger("counts", entry(6, 10)),
    "a draw beyond the last": (CORNERS, of_array("engine.draws_block", lambda block: block + 11)),
    "draws below": (CORNERS, of_array("engine.draws_block", lambda block: block - 12)),
    "fewer uniform numbers": (CORNERS, of_array("engine.draws_uniform", lambda u: u[:-1])),
    "a uniform number above one": (CORNERS, of_array("engine.draws_uniform", lambda u: u + 2.0)),
    "open blocks that are numbers": (CORNERS, of_array("engine.open", lambda o: o.astype(float))),
    "more done than drawn": in_engine("done", value=10**6),
    "a source that there is not": in_engine("source", value=7),
    "a source of its own": in_engine("source", value="oracle"),
    "planes of nothing": in_engine("planes", value=[]),
    "random numbers of nobody": in_engine("rng", value={"bit_generator": "PCG64"}),
    "random numbers of another kind": in_engine("rng", "bit_generator", value="MT19937"),
    "random numbers below zero": in_engine("rng", "state", "state", value=-1),
    "a lambda of zero": in_engine("point.lam", value=0.0),
    "another lambda": in_engine("point.lam", value=2 * LAM),
    "codes as a number": in_engine("point.is_coded", value=1),
    "an array that there is not": in_engine("point.w", value={"array of the file": "x"}),
    "an array for a number": in_engine("done", value={"array of the file": "engine.point.w"}),
    "no engine": (CORNERS, drop_value("engine")),
    "an engine in a list": (CORNERS, setter(("engine",), [])),
    "batches of none": (MEANS, setter(("engine", "batch_size"), 0)),
    "batches with a cache": (CORNERS, setter(("engine", "batch_size"), 5)),
    "draws left in a pass that has ended": in_engine("done", value=0),
    "a visit before the first": in_engine("visits_tidied", value=-2),
    "no mark": (CORNERS, drop_value("driver", "mark")),
    "no memory": (CORNERS, drop_value("driver", "memory")),
    "memory of more": (CORNERS, setter(("driver", "memory", "x"), 1)),
    "passes below zero": (CORNERS, setter(("driver", "memory", "passes"), -1)),
    "passes as text": (CORNERS, setter(("driver", "memory", "passes"), "1")),
    "no certificate": (CORNERS, setter(("driver", "certificate"), None)),
    "seconds below zero": (CORNERS, setter(("driver", "seconds"), -1.0)),
    "a trace of nothing": (CORNERS, setter(("driver", "goal", "trace"), {})),
    "a beginning that is no flag": (CORNERS, setter(("driver", "has_begun"), 1)),
    "passes of a choice as text": (CHOOSING, setter(("engine", "n_passes"), "3")),
    "a choice as a number": (CHOOSING, setter(("engine", "is_late"), 1)),
    "waiting below zero": (WHOLE, of_array("engine.waiting.left", entry(0, -1))),
    "waiting for ever": (WHOLE, of_array("engine.waiting.left", entry(0, 10**9))),
    "a wait of too few blocks": (WHOLE, of_array("engine.waiting.period", lambda wait: wait[1:])),
    "mixtures of labels": (WHOLE, setter(("engine", "point.is_coded"), False)),
    "a last visit as text": (WHOLE, setter(("engine", "last_visit"), "3")),
    "steps below zero": ("fw", setter(("engine", "n_steps"), -1)),
    "an identity in a list": ("fw", setter(("identity",), [])),
}


@pytest.mark.parametrize("name", BAD_CHECKPOINTS)
def test_crafted_checkpoints(checkpoints, tmp_path, name):
    method, change = BAD_CHECKPOINTS[name]
    with pytest.raises(bw.ModelFileError, match=r"run.npz.* to begin anew\."):
        go_on(checkpoints, tmp_path, "compiled", method, change)


# (features are the parts of a Python task, and no output is kept as labels)
BAD_PYTHON_CHECKPOINTS = {
    "a part that there is not": at_stock("code", lambda code: np.full_like(code, 12)),
    "no values": at_stock("value", lambda value: value[:0]),
    "a code too long": at_stock("size", lambda size: size + 13),
}


@pytest.mark.parametrize("name", BAD_PYTHON_CHECKPOINTS)
def test_crafted_checkpoints_of_python_tasks(checkpoints, tmp_path, name):
    method, change = BAD_PYTHON_CHECKPOINTS[name]
    with pytest.raises(bw.ModelFileError, match="is no checkpoint"):
        go_on(checkpoints, tmp_path, "python", method, change)


@pytest.mark.parametrize("method", [CORNERS, MEANS, "fw"])
@pytest.mark.parametrize("is_current", [True, False])
def test_no_file_vouches_for_a_certificate(checkpoints, tmp_path, method, is_current):
    """A certificate that is said to be of the point is made again; others are not relied on."""

    def claim(header, arrays):
        header["driver"]["memory"]["is_current"] = is_current
        header["driver"]["certificate"] |= {"gap": 0.0, "exact": True, "primal": 0.0, "dual": 0.0}
        arrays["driver.certificate.block_gaps"][:] = 0.0

    if is_current:
        with pytest.raises(bw.ModelFileError, match="is not that of the point in it"):
            go_on(checkpoints, tmp_path, "compiled", method, claim)
    else:
        result = go_on(checkpoints, tmp_path, "compiled", method, claim)
        true = problem_of("compiled").primal(result.w, LAM)
        assert result.certificate.primal == pytest.approx(true, rel=1e-12)


@pytest.mark.parametrize("method", [CORNERS, MEANS, "fw", "auto"])
@pytest.mark.parametrize("kind", ["compiled", "python"])
def test_genuine_checkpoints_go_on(checkpoints, tmp_path, kind, method):
    result = go_on(checkpoints, tmp_path, kind, method, lambda header, arrays: None)
    # (visits without an oracle call count less)
    assert result.is_certified or result.trace[-1].passes >= 6


def test_escapes_of_a_stranger_do_not_reach_the_terminal(checkpoints, tmp_path):
    change = setter(("identity", "method"), "\x1b[31m" + "x" * 10_000)
    with pytest.raises(bw.InputError, match="another method") as error:
        go_on(checkpoints, tmp_path, "compiled", CORNERS, change)
    assert "\x1b" not in str(error.value)
    assert len(str(error.value)) < 1000


def test_bounds_are_those_of_the_problem(tmp_path):
    """Whatever a file says of them."""
    X, Y = multiclass_data(n=10)
    problem = bw.Problem(bw.tasks.Multiclass(bias=False), X, Y, bounds=(-0.1, 0.1))
    path = tmp_path / "run.npz"
    bw.solve(problem, LAM, CORNERS, 1e-9, **options(path, 3))
    crafted(path, of_array("engine.point.box.upper", lambda upper: 0 * upper + 1e9))
    result = bw.solve(problem, LAM, CORNERS, 1e-9, **options(path, 30))
    assert np.abs(result.w).max() <= 0.1


WEIGHTS_OUTSIDE = {
    "of the iterate": (CORNERS, "engine.point.w"),
    "of the iterate, beside an average": (MEANS, "engine.point.w"),
    "of the average": (MEANS, "engine.average_w"),
    "to be paired": (CORNERS, "driver.pairing.average"),
    "paired": (CORNERS, "driver.pairing.best_w"),
    "without a dual point": ("subgradient", "engine.w"),
    "averaged without a dual point": ("subgradient+averaging", "engine.kept.average"),
}


@pytest.mark.parametrize("name", WEIGHTS_OUTSIDE)
def test_weights_outside_of_the_bounds_are_refused(tmp_path, name):
    """There the objective may be below the optimum, and a certificate of it false."""
    X, Y = multiclass_data(n=10)
    problem = bw.Problem(bw.tasks.Multiclass(bias=False), X, Y, bounds=(-0.1, 0.1))
    (method, array), path = WEIGHTS_OUTSIDE[name], tmp_path / "run.npz"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bw.NotCertifiedWarning)
        bw.solve(problem, LAM, method, 1e-9, **options(path, 3))
    crafted(path, of_array(array, lambda w: 1.05 * w))
    with pytest.raises(bw.ModelFileError, match="outside of the bounds"):
        bw.solve(problem, LAM, method, 1e-9, **options(path, 4))


def test_an_average_of_nothing_says_nothing(tmp_path):
    """However large it is: weights that are noted first are the average."""
    pairing = Pairing(2)
    saved = pairing.to_save() | {"average": np.full(2, 1e300)}
    pairing.restore(saved)
    pairing.note(np.array([1.0, 2.0]), 1)
    assert pairing.average.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("method", "point", "array"),
    [(MEANS, "best", "engine.average_w"), (CORNERS, "last", "engine.point.w")],
)
@pytest.mark.parametrize("tol", [0.5, 1e-9])
def test_no_file_gives_its_certificate_to_other_weights(tmp_path, method, point, array, tol):
    path, given = tmp_path / "run.npz", {"point": point, **options(tmp_path / "run.npz", 30)}
    bw.solve(problem_of("compiled"), LAM, method, tol, **given)
    crafted(path, of_array(array, lambda w: w + 1.0))
    result = bw.solve(problem_of("compiled"), LAM, method, tol, **given)
    true = problem_of("compiled").primal(result.w, LAM)
    assert result.certificate.primal == pytest.approx(true, rel=1e-12)


def test_generators_of_every_kind_keep_within_their_buffers(tmp_path):
    for kind, name in ((np.random.MT19937, "pos"), (np.random.Philox, "buffer_pos")):
        path = tmp_path / f"{name}.npz"

        def go_on(passes, path=path, kind=kind):
            rng = np.random.Generator(kind(0))
            settings = {"max_passes": passes, "random_state": rng, "checkpoint": path}
            return bw.solve(problem_of("compiled"), LAM, CORNERS, 1e-9, **settings)

        def change(header, arrays, name=name):
            state = header["engine"]["rng"]
            (state if name in state else state["state"])[name] = 10**9

        go_on(3)
        crafted(path, change)
        with pytest.raises(bw.ModelFileError, match="random numbers are not where"):
            go_on(6)


BAD_WALKS = {
    "other options": setter(("driver", "goal", "header", "eps"), 0.5),
    "another status": setter(("driver", "goal", "header", "status"), "x"),
    "another width": setter(("driver", "goal", "header", "n_features"), 10**12),
    "an index beyond w": of_array("driver.goal.arrays.weights_index", entry(0, 10**6)),
    "lambdas that rise": of_array("driver.goal.arrays.point_lam", lambda lam: -lam),
}


@pytest.mark.parametrize("name", BAD_WALKS)
def test_crafted_checkpoints_of_paths(tmp_path, name):
    path = tmp_path / "run.npz"
    given = {"lam_max": 1.0, "method": "bcfw+gap+pairwise", "random_state": 0, "checkpoint": path}
    bw.solve_path(problem_of("python"), 0.2, 0.01, max_passes=20, **given)
    crafted(path, BAD_WALKS[name])
    with pytest.raises(bw.ModelFileError, match="is no checkpoint"):
        bw.solve_path(problem_of("python"), 0.2, 0.01, max_passes=40, **given)


def test_a_path_without_breakpoints_is_kept(tmp_path):
    """It ended before the first, and its columns have no type."""
    problem, file = bw.Problem(bw.tasks.Multiclass(), *multiclass_data()), tmp_path / "path.npz"
    path = bw.solve_path(problem, 1e-9, 1e-3, "bcfw", lam_max=1.0, max_passes=1, random_state=0)
    assert len(path) == 0
    path.save(file)
    assert repr(bw.load_path(file)) == repr(path)
