"""Bad input: each a clear error before any work, naming what was found and what to do."""

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.problem.evaluate import HeldOut, predict
from blockwolfe.tasks.reading.inputs import sequence_tokens, split_masks, table_tokens
from plain_tasks import Labels
from zoo import chain_data, multiclass_data, token_dicts

NAN_X = chain_data()[0]
NAN_X[2] = NAN_X[2].copy()
NAN_X[2][1, 3] = np.nan


def chain_fit(X=None, Y=None, **options):
    default_X, default_Y = chain_data()
    svm = bw.StructuredSVM(bw.tasks.Chain(3), **{"lam": 0.5, "tol": 0.1} | options)
    return svm.fit(default_X if X is None else X, default_Y if Y is None else Y)


def changed(values, i, value):
    values = list(values)
    values[i] = value
    return values


X, Y = chain_data()

BAD = {
    "label out of range": (dict(Y=changed(Y, 1, [0, 1, 7])), r"Y\[1\]\[2\] is 7, outside .* 0\.\.2"),
    "negative label": (dict(Y=changed(Y, 1, [0, -1, 1])), r"Y\[1\]\[1\] is -1"),
    "label of wrong type": (dict(Y=changed(Y, 1, [0.5, 1.0, 2.0])), r"Y\[1\] is \[0\.5"),
    "labels mixed in one sequence": (dict(Y=changed(Y, 1, ["a", 1, 2])), r"Y\[1\].*all strings or all"),
    "labels mixed over sequences": (dict(Y=changed(Y, 1, ["a", "b", "c"])), r"Y\[1\] has labels like 'a'"),
    "label not a sequence": (dict(Y=changed(Y, 1, 3)), r"Y\[1\] is 3 of type int"),
    "label of no dimension": (dict(Y=changed(Y, 1, np.array(3))), r"Y\[1\] is array\(3\) of type ndarray"),
    "float labels": (dict(Y=changed(Y, 1, [0.0] * len(Y[1]))), r"Y\[1\] is .* of type float64; labels"),
    "ragged labels": (dict(Y=changed(Y, 1, [[0], [1, 2], [0]])), r"Y\[1\] is \[\[0\].*one per position"),
    "X longer than Y": (dict(Y=Y[:-1]), "X has 8 examples and Y has 7"),
    "sequence and labels of different length": (
        dict(Y=changed(Y, 1, [0, 1])),
        r"X\[1\] has 3 positions and Y\[1\] has 2 labels",
    ),
    "empty sequence": (dict(X=changed(X, 3, np.zeros((0, 4))), Y=changed(Y, 3, [])), r"\[3\] is empty"),
    "empty training set": (dict(X=[], Y=[]), "X is empty"),
    "NaN": (dict(X=NAN_X), r"X\[2\] has nan at position 1, feature 3"),
    "infinite": (dict(X=changed(X, 0, np.full((1, 4), np.inf))), r"X\[0\] has inf"),
    "ragged features": (dict(X=changed(X, 0, np.zeros((1, 5)))), r"features and X\[0\] has 5"),
    "features not numbers": (dict(X=changed(X, 0, np.array([["a", "b", "c", "d"]]))), r"X\[0\] has shape \(1, 4\) and type <U1"),
    "three dimensions": (dict(X=changed(X, 0, np.zeros((1, 4, 2)))), r"X\[0\] has shape \(1, 4, 2\)"),
    "X is a string": (dict(X="hello"), "X is a str"),
    "zero lam": (dict(lam=0.0), r"lam=0\.0 must be a finite number > 0"),
    "negative lam": (dict(lam=-1.0), r"lam=-1\.0 must be"),
    "lam not a number": (dict(lam="small"), "lam='small' must be"),
    "NaN lam": (dict(lam=float("nan")), "lam=nan must be"),
    "both C and lam": (dict(lam=1.0, C=1.0), "both given"),
    "negative C": (dict(lam=None, C=-1.0), r"C=-1\.0 must be"),
    "unknown method": (dict(method="sgd"), r"method='sgd' is not known; valid: 'auto', 'bcfw'"),
    "unknown option in method": (dict(method="bcfw+fast"), r"valid: 'bcfw', 'bcfw\+uniform'"),
    "method of wrong type": (dict(method=3), "neither a name nor a method object"),
    "negative tol": (dict(tol=-1), "tol=-1 must be"),
    "passes-word": (dict(max_passes="many"), "max_passes='many' must be an integer >= 0, 'auto' or"),
    "passes": (dict(max_passes=2.5), r"max_passes=2\.5 must be an integer"),
    "oracle calls": (dict(max_oracle_calls=3), "max_oracle_calls=3 is less than the number of blocks, 8"),
    "time": (dict(time_limit=0), "time_limit=0 must be seconds > 0"),
    "ragged rows": (dict(X=changed(X, 0, [[1.0, 2.0], [3.0]])), r"X\[0\] .* unequal length"),
    "huge features": (dict(X=changed(X, 0, np.full((1, 4), 1e200))), "Scale the features"),
    "seed": (dict(random_state="x"), "random_state='x'"),
    "callbacks": (dict(callbacks=[3]), "callbacks has 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_chain_refuses(case, monkeypatch):
    from blockwolfe.methods.bcfw.engine import BlockEngine

    def work(*args, **kwargs):
        raise AssertionError("work was begun before the input was checked")

    monkeypatch.setattr(BlockEngine, "advance", work)
    options, message = BAD[case]
    with pytest.raises(bw.BlockwolfeError, match=message) as caught:
        chain_fit(**options)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(("options", "message"), [
    (dict(n_labels=0), "n_labels=0 must be an integer >= 1"),
    (dict(n_labels=2, labels=["a"]), "n_labels=2 but 1 labels"),
    (dict(labels=[0, 0, 1]), "repeated"),
    (dict(task_loss="hinge"), "task_loss='hinge' is not known; valid: 'zero_one', 'hamming'"),
    (dict(task_loss="zero_one"), "not a sum over positions"),
    (dict(task_loss=[[0, 1], [1, 0]]), r"costs has shape \(2, 2\); expected \(3, 3\)"),
    (dict(task_loss=[[1, 1, 1], [1, 0, 1], [1, 1, 0]]), "zeros on the diagonal"),
    (dict(task_loss=-1 * (1 - np.eye(3))), ">= 0"),
    (dict(task_loss=bw.tasks.Hamming(class_weight={9: 1.0})), "class_weight has the label 9"),
    (dict(task_loss=bw.tasks.Hamming(class_weight="fair")), "valid: 'balanced'"),
    (dict(transition="yes"), "transition='yes' must be True, False, or a list of different orders"),
    (dict(transition=1), "transition=1 must be True, False, or a list"),
    (dict(transition=[True]), r"transition=\[True\] must be True, False, or a list"),
    (dict(transition=[1, 1]), r"transition=\[1, 1\] must be .* a list of different orders"),
    (dict(transition=[1, 2]), r"has the order 2; expected 1 to 1, as order=1. Raise order"),
    (dict(transition=(0,), order=2), r"has the order 0; expected 1 to 2"),
    (dict(order=0), "order=0 must be an integer >= 1"),
    (dict(order=-1), "order=-1 must be an integer >= 1"),
    (dict(order=True), "order=True must be an integer >= 1"),
    (dict(order=1.5), "order=1.5 must be an integer >= 1"),
    (dict(order="2"), "order='2' must be an integer >= 1"),
    (dict(order=None), "order=None must be an integer >= 1"),
    (dict(order=10**9), "order=1000000000 must be at most 30"),
    (dict(order=30), "a chain of order 30 with 3 labels has .* Use a smaller order, or fewer labels"),
    (dict(order=2, n_labels=1300), "order 2 with 1300 labels has 2,198,6.*at most 2,147,483,647"),
    (dict(task_loss=bw.tasks.Hamming(class_weight=[1.0, 2.0])), "or a dict from label to the cost"),
    (dict(task_loss=bw.tasks.Hamming(class_weight={1: "x"})), "class_weight of 1 is 'x'"),
    (dict(labels=["a", 1]), r"labels=\['a', 1\]; expected .* all strings or all integers"),
    (dict(labels=[None, "a"]), r"labels=\[None, 'a'\]; expected"),
    (dict(labels=[]), r"labels=\[\]; expected a list of at least one label"),
    (dict(labels=3), "labels=3; expected a list"),
    (dict(labels="ab"), "labels='ab'; expected a list"),
])  # fmt: skip
def test_chain_options(options, message):
    with pytest.raises(bw.BlockwolfeError, match=message):
        bw.Problem(bw.tasks.Chain(**options), *chain_data())


def test_prediction_input():
    svm = chain_fit()
    with pytest.raises(bw.InputError, match="X has 5 features, but Chain is expecting 4"):
        svm.predict([np.zeros((2, 5))])
    with pytest.raises(bw.InputError, match="X has nan|has nan at position 0"):
        svm.predict([np.full((1, 4), np.nan)])
    with pytest.raises(bw.InputError, match=r"\[1\] is empty"):
        svm.predict([np.zeros((1, 4)), np.zeros((0, 4))])
    with pytest.raises(bw.InputError, match="X is a generator; expected a list or an array"):
        svm.predict(x for x in [np.zeros((2, 4))])
    with pytest.raises(bw.InputError, match="X is a Masked; expected a list or an array"):
        svm.predict(bw.tasks.Masked(np.zeros((2, 4)), np.ones((2, 3), dtype=bool)))


def test_nothing_to_predict():
    """An empty list has no outputs, whatever the task; nothing can be scored on it."""
    path = bw.solve_path(bw.Problem(bw.tasks.Chain(3), *chain_data()), 0.5)
    models = [
        chain_fit(),
        bw.StructuredSVM(lam=0.5, tol=0.1).fit(*multiclass_data()),
        bw.StructuredSVM(Sign(), lam=0.5, tol=0.1).fit([[1.0], [-1.0]], [1, -1]),
    ]
    for svm in models:
        assert svm.predict([]) == []
        with pytest.raises(bw.InputError, match=r"X is empty \(0 samples\)"):
            svm.score([], [])
    assert chain_fit().predict(np.array([], dtype=object)) == []
    assert path.predict([], lam=0.1) == []
    with pytest.raises(ValueError, match="0 sample"):  # as scikit-learn has it for tables
        models[1].predict(np.zeros((0, 4)))


def test_rows_without_names_after_a_data_frame():
    pandas = pytest.importorskip("pandas")
    X, Y = multiclass_data()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    svm = bw.StructuredSVM(lam=0.5, tol=0.1).fit(frame, Y)
    assert svm.predict([]) == []
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        svm.predict(X[0])
    with pytest.warns(UserWarning, match="valid feature names"):
        svm.predict(X)


def test_multiclass_input():
    X, Y = multiclass_data()
    svm = bw.StructuredSVM(bw.tasks.Multiclass(n_labels=3), lam=0.5, tol=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features"):
        svm.predict(X[:, :3])
    with pytest.raises(bw.InputError, match="Y mixes strings"):
        svm.fit(X, ["a", *Y[1:]])
    with pytest.raises(bw.InputError, match=r"use task=Chain\(\)"):
        bw.StructuredSVM().fit(*token_dicts())
    with pytest.raises(bw.InputError, match=r"shape \(2,\)"):
        svm.score(X, Y, sample_weight=[1, 2])
    with pytest.raises(bw.InputError, match=r"Y\[0\] is 5, outside the labels 0\.\.2"):
        svm.fit(X, [5, *Y[1:]])
    with pytest.raises(bw.InputError, match=r"X\[0\] has nan at .*SimpleImputer"):
        svm.fit(np.where(X > 0, np.nan, X), Y)
    with pytest.raises(bw.InputError, match=r"X\[0\] is a dict; .*DictVectorizer"):
        svm.fit([{"length": 1.0}, {"length": 2.0}], ["a", "b"])
    with pytest.raises(bw.InputError, match="12 examples and Y has 11"):
        svm.fit(X, Y[1:])
    with pytest.raises(bw.OptionError, match="bias='False' must be True or False"):
        bw.Problem(bw.tasks.Multiclass(bias="False"), X, Y)


def test_sparse_rows_in_a_list():
    rows = [sp.csr_array(row[None]) for row in np.eye(3)]
    for task, Y in ((bw.tasks.Multiclass(), [0, 1, 2]), (bw.tasks.Multilabel(), np.eye(3))):
        listed, whole = (bw.Problem(task, X, Y) for X in (rows, np.eye(3)))
        w = np.arange(float(whole.n_features))
        assert listed.primal(w, 1.0) == whole.primal(w, 1.0)
        with pytest.raises(
            bw.InputError, match=r"X\[2\] is a csr_array of shape \(1, 2\); .* 3 col"
        ):
            bw.Problem(task, changed(rows, 2, sp.csr_array((1, 2))), Y)


def test_masks():
    X, Y = chain_data()
    allow_all = [np.ones((len(y), 3), dtype=bool) for y in Y]
    bad = allow_all[1].copy()
    bad[0, Y[1][0]] = False
    for mask, message in [
        (bad, r"true label of X\[1\] at position 0 is not among its allowed"),
        (np.zeros_like(bad), r"X\[1\]\.allowed forbids every label at position 0"),
        (bad[:, :2], r"X\[1\]\.allowed is bool of shape \(3, 2\)"),
        (bad.astype(int), r"X\[1\]\.allowed is int64"),
    ]:
        with pytest.raises(bw.InputError, match=message):
            bw.Problem(bw.tasks.Chain(3), changed(X, 1, bw.tasks.Masked(X[1], mask)), Y)


def test_nothing_in_the_place_of_a_sequence():
    X, Y = chain_data()
    masked = bw.tasks.Masked(None, np.ones((3, 3), dtype=bool))
    with pytest.raises(bw.InputError, match=r"X\[1\] is a NoneType; expected a sequence"):
        bw.Problem(bw.tasks.Chain(3), changed(X, 1, masked), Y)
    with pytest.raises(bw.InputError, match=r"X\[1\] is a NoneType; expected a sequence"):
        bw.Problem(bw.tasks.Chain(3, emission=False), changed(X, 1, None), Y)


def test_token_dicts():
    X, Y = token_dicts()
    for first, kind in (({"w": "the"}, "dict"), ({"w", "the"}, "set")):
        with pytest.raises(
            bw.InputError, match=rf"X\[0\] is a {kind}; expected a sequence: a list of"
        ):
            bw.Problem(bw.tasks.Chain(), changed(X, 0, first), Y)
    with pytest.raises(bw.InputError, match=r"X\[1\]\[0\]\['w'\] is None"):
        bw.Problem(bw.tasks.Chain(), changed(X, 1, [{"w": None}, {"w": "dog"}]), Y)
    with pytest.raises(bw.InputError, match=r"X\[0\] has nan"):
        bw.Problem(bw.tasks.Chain(), changed(X, 0, [{"v": float("nan")}] * 3), Y)


def test_sample_weight():
    X, Y = chain_data()
    for weight, message in [
        ([1, 2], r"shape \(2,\); expected one weight per example, \(8,\)"),
        ([-1] + [1] * 7, "negative"),
        ([np.nan] * 8, "NaN"),
        ([0] * 8, "zero for every example"),
        ([1e308] * 8, "sums to more"),
        ("balanced", "use class_weight"),
    ]:
        with pytest.raises(bw.InputError, match=message):
            bw.Problem(bw.tasks.Chain(3), X, Y, sample_weight=weight)


def test_task_without_its_methods():
    class Half:
        def features(self, x, y):
            return [0.0]

    with pytest.raises(bw.InputError, match=r"task='chain' is a string; pass an object"):
        bw.Problem("chain", [1], [1])
    with pytest.raises(bw.InputError, match="Half lacks loss, decode, augmented_decode"):
        bw.Problem(Half(), [1], [1])


class Sign:
    def features(self, x, y):
        return y * np.asarray(x, dtype=float)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w):
        return 1 if np.dot(w, x) >= 0 else -1

    def augmented_decode(self, x, y, w):
        return max((-1, 1), key=lambda h: self.loss(y, h) + h * np.dot(w, x))


@pytest.mark.parametrize(("change", "message"), [
    (dict(features=lambda s, x, y: np.full(2, np.nan)), "features.*NaN"),
    (dict(features=lambda s, x, y: np.ones((2, 2))), r"shape \(2, 2\); expected one dimension"),
    (dict(features=lambda s, x, y: np.ones(2 if y == 1 else 3)), "has length 3, but w has length 2"),
    (dict(features=lambda s, x, y: ([0, 0], [1.0, 1.0]), n_features=2), "index twice"),
    (dict(features=lambda s, x, y: ([5], [1.0]), n_features=2), "length 6, but w has length 2"),
    (dict(features=lambda s, x, y: ([0], [1.0])), "attribute n_features"),
    (dict(features=lambda s, x, y: {"a": 1.0}), r"returned a dict; expected an array .* \(indices, values\)"),
    (
        dict(loss=lambda s, y, h: -float(y != h), augmented_decode=lambda s, x, y, w: -y),
        "loss.* is -1.0",
    ),
    (dict(loss=lambda s, y, h: float("nan")), "loss.* is nan"),
    (dict(loss=lambda s, y, h: "high"), "loss.* returned 'high'"),
    (dict(loss=lambda s, y, h: 1.0), "expected 0 at the true output"),
    (dict(augmented_decode=lambda s, x, y, w: -1 if np.dot(w, x) >= 0 else 1), "does not maximise"),
])  # fmt: skip
def test_python_task_that_breaks_its_contract(change, message):
    task = type("Broken", (Sign,), change)()
    X, Y = [[1.0, 2.0], [-1.0, 0.5], [0.5, 0.5]], [1, -1, 1]
    with pytest.raises(bw.BlockwolfeError, match=message):
        bw.solve(bw.Problem(task, X, Y), 0.1)


def test_solve_wants_a_problem():
    with pytest.raises(bw.InputError, match=r"expected blockwolfe\.Problem"):
        bw.solve((1, 2), 0.1)


def test_primal_wants_a_whole_w():
    problem = bw.Problem(bw.tasks.Chain(3), *chain_data())
    with pytest.raises(bw.InputError, match=r"w has shape \(3,\)"):
        problem.primal(np.zeros(3), 0.1)


def test_sparse_duplicates_are_summed():
    duplicated = sp.csr_array(
        (np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3)
    )
    plain = np.array([[0.0, 3.0, 0.0]])
    tasks = [bw.Problem(bw.tasks.Chain(2), [x], [[1]]) for x in (duplicated, plain)]
    w = np.arange(tasks[0].n_features, dtype=float)
    assert tasks[0].primal(w, 1.0) == tasks[1].primal(w, 1.0)


def test_task_class_instead_of_object():
    with pytest.raises(bw.InputError, match=r"pass an object: Chain\(\)"):
        bw.StructuredSVM(bw.tasks.Chain).fit(*chain_data())


def test_models_without_weights():
    none = dict.fromkeys(["emission", "transition", "bias", "first", "last"], False)
    with pytest.raises(bw.OptionError, match="no weights"):
        bw.Problem(bw.tasks.Chain(3, **none), *chain_data())
    with pytest.raises(bw.OptionError, match="min_count=1000: no feature occurs"):
        bw.Problem(bw.tasks.Chain(min_count=1000), *token_dicts())


def test_jitted_oracles_that_break_their_contract():
    import numba

    toy = bw.datasets.toy_problem(4, 3)

    def solve_with(function):
        toy.task.compiled = lambda X, Y: bw.tasks.CompiledOracle(function, (np.zeros(1),), 1)
        return bw.solve(bw.Problem(toy.task, toy.X, toy.Y), toy.lam)

    @numba.njit
    def index_outside(data, i, w, index, value):
        index[0], value[0] = 77, -1.0
        return 1, 1.0

    @numba.njit
    def negative_size(data, i, w, index, value):
        return -1, 1.0

    @numba.njit
    def wrong_return(data, i, w, index, value):
        return 1, "loss"

    with pytest.raises(bw.InputError, match=r"@numba\.njit"):
        solve_with(index_outside.py_func)
    with pytest.raises(bw.OracleError, match=r"index 77 .* 0\.\.3"):
        solve_with(index_outside)
    with pytest.raises(bw.OracleError, match="size -1 on example 0"):
        solve_with(negative_size)
    with pytest.raises(bw.OracleError, match="does not compile"):
        solve_with(wrong_return)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ((np.zeros(1), [1.0, 2.0]), r"data\[1\] of the CompiledOracle is of type list"),
        ((np.zeros(1), (0, {"a": 1})), r"data\[1\]\[1\] of the CompiledOracle is of type dict"),
        ((np.zeros(3, dtype=np.float16),), r"data\[0\] .* is an array of float16"),
        (np.array([None]), "data of .* is an array of object"),
        ((object(),), r"data\[0\] .* is of type object"),
    ],
)
def test_data_that_jitted_code_does_not_take(data, found):
    import numba

    @numba.njit
    def oracle(data, i, w, index, value):
        return 0, 0.0

    toy = bw.datasets.toy_problem(10, 3)
    toy.task.compiled = lambda X, Y: bw.tasks.CompiledOracle(oracle, data, 1)
    with pytest.raises(bw.InputError, match=f"{found}.*expected a tuple of arrays and numbers"):
        bw.solve(bw.Problem(toy.task, toy.X, toy.Y), toy.lam)


def test_jitted_oracle_that_breaks_its_contract_late():
    """Beyond the examples that are tried beforehand: an error, not an endless loop or a crash."""
    import numba

    @numba.njit
    def late(data, i, w, index, value):
        index[0], value[0] = 0, -1.0
        if i == 30:
            if data[0] != 1:
                return data[0], 1.0
            index[0] = 5000
        return 1, 1.0

    for size in (4, -1, 1):
        toy = bw.datasets.toy_problem(40, 3)
        oracle = bw.tasks.CompiledOracle(late, (size, 0), 3)
        toy.task.compiled = lambda X, Y, oracle=oracle: oracle
        for method in ("bcfw", "fw"):
            with pytest.raises(bw.OracleError, match="example 30 returned more than max_size=3"):
                bw.solve(bw.Problem(toy.task, toy.X, toy.Y), 0.1, method)


@pytest.mark.parametrize("kind", [sp.coo_matrix, sp.dia_array, sp.bsr_array])
def test_sparse_formats_without_rows(kind):
    X, Y = multiclass_data()
    task = bw.tasks.SlackRescaling(bw.tasks.Multiclass())
    w = bw.solve(bw.Problem(task, X, Y), 0.1, "bcfw", random_state=0).w
    found = bw.solve(bw.Problem(task, kind(X), Y), 0.1, "bcfw", random_state=0).w
    np.testing.assert_allclose(found, w, atol=1e-12)
    assert bw.check_task(bw.tasks.Multiclass(), kind(X), Y).n_enumerated == 12


@pytest.mark.parametrize("kind", ["csc", "coo", "lil", "dok", "dia", "bsr"])
def test_sequences_of_every_sparse_format(kind):
    X, Y = chain_data()
    given = [sp.csr_array(x).asformat(kind) for x in X]
    w = np.random.default_rng(0).normal(size=30)
    problem = bw.Problem(bw.tasks.Chain(3), given, Y)
    assert problem.primal(w, 0.1) == bw.Problem(bw.tasks.Chain(3), X, Y).primal(w, 0.1)


def test_the_users_sparse_matrix_is_not_changed():
    data, indices, indptr = np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 2, 3])
    matrix = sp.csr_array((data, indices, indptr), shape=(2, 2))
    bw.Problem(bw.tasks.Multiclass(), matrix, [0, 1]).blocks
    assert matrix.nnz == 3
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    bw.Problem(bw.tasks.Multiclass(), matrix, [0, 1]).blocks


def csr(data, indices, indptr, shape):
    return sp.csr_array((np.array(data), np.array(indices), np.array(indptr)), shape=shape)


@pytest.mark.parametrize(("matrix", "message"), [
    (csr([1.0, 1.0], [0, 90], [0, 1, 2], (2, 3)), "of 3 columns with column indices 0..90; it is damaged"),
    (csr([1.0, 1.0], [0, -5], [0, 1, 2], (2, 3)), r"column indices -5\.\.0"),
    (csr([1.0, 1.0], [0, 1], [0, 9, 2], (2, 3)), "indptr that decreases or goes beyond its 2 entries"),
    (csr([1.0, 1.0], [0, 90], [0, 1, 2, 2], (3, 2)).T, "of 2 rows with row indices 0..90"),
])  # fmt: skip
def test_damaged_sparse_matrices(matrix, message):
    """Compiled code, which does not check, would write where it must not."""
    T, good = bw.tasks, np.ones((2, 3))
    for task, name, wrap, y in [
        (T.Multiclass(), "X", lambda x: x, [0, 1]),
        (T.Chain(2), r"X\[0\]", lambda x: [x], [[0, 1]]),
        (T.Tree(2), r"X\[0\].nodes", lambda x: [T.Graph(x, [[0, 1]])], [[0, 1]]),
        (T.Tree(2), r"X\[0\].edge_features", lambda x: [T.Graph(good, [[0, 1]] * 2, x)], [[0, 1]]),
        (T.Matching(), r"X\[0\].features", lambda x: [T.Links(x, shape=(1, 2))], [[]]),
    ]:
        with pytest.raises(bw.InputError, match=rf"^{name} is a sparse matrix .*{message}"):
            bw.Problem(task, wrap(matrix), y)
    with pytest.raises(bw.InputError, match=f"ProgramInput: features is a sparse .*{message}"):
        T.ProgramInput(matrix)


@pytest.mark.parametrize("kind", [np.int8, bool])
def test_duplicates_of_small_integers_are_summed_as_floats(kind):
    x = csr(np.array([100, 100]).astype(kind), [1, 1], [0, 2], (1, 3))
    expected = 2.0 * float(kind(100))
    assert sequence_tokens([x])[0].values.tolist() == [expected]
    tasks = bw.tasks
    links = tasks.Matching(bias=False)
    X = [tasks.Links(x, shape=(1, 1))]
    assert links.fit(X, [[(0, 0)]]).features(X[0], [(0, 0)])[1] == expected
    graph = tasks.Graph(np.ones((2, 1)), [[0, 1]], x)
    tree = tasks.Tree(2).fit([graph], [[0, 1]])
    assert tree._read([graph]).edge.values.tolist() == [expected]


def test_arrays_of_compiled_code_have_one_layout():
    """Read-only ones, or others in order, would have everything compiled anew."""
    matrix = sp.csr_array(np.eye(3))
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    dense = np.asfortranarray(np.ones((3, 2), dtype=np.float32))
    dense.flags.writeable = False
    read = [table_tokens(x)[0] for x in (matrix, dense)]
    read += [sequence_tokens([x])[0] for x in (matrix, dense)]
    for *arrays, _ in read:  # (all but `products`)
        for array in arrays:
            assert array.flags.writeable
            assert array.flags.c_contiguous
    mask = bw.tasks.Masked(np.zeros((2, 1)), np.ones((3, 2), dtype=bool).T)
    assert split_masks([mask, mask], 3)[1].flags.c_contiguous


def test_predictions_are_of_x_as_it_is_now():
    """Not as it was when the task was fitted."""
    X = [np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])]
    task = bw.tasks.Chain().fit(X, [["a"], ["b"]])
    w = np.zeros(task.n_features)
    w[0] = w[3] = 1.0  # the first feature says a, the second b
    X[0][:] = X[1]
    assert [y.tolist() for y in task.predict(X, w)] == [["b"], ["b"]]


@pytest.mark.parametrize("w", [np.zeros(2), np.zeros(50), np.zeros((30, 1)), None])
def test_predictions_want_a_whole_w(w):
    X, Y = chain_data()
    chain = bw.tasks.Chain(3).fit(X, Y)
    rows, labels = multiclass_data()
    multiclass = bw.tasks.Multiclass().fit(rows, labels)
    for ask in (
        lambda: chain.predict(X, w),
        lambda: chain.augmented_decode(X[0], Y[0], w),
        lambda: multiclass.predict(rows, w),
        lambda: multiclass.decode(rows[0], w),
        lambda: multiclass.scores(rows, w),
    ):
        with pytest.raises(bw.InputError, match="w has shape"):
            ask()


def test_data_frames_for_tasks_in_python():
    pandas = pytest.importorskip("pandas")
    X, Y = multiclass_data()
    w = np.random.default_rng(0).normal(size=12)
    task, frame = Labels(3, 4), pandas.DataFrame(X)
    assert predict(task, frame, w) == predict(task, X, w)
    expected = HeldOut(task, (X, Y))(w)
    assert HeldOut(task, (frame, pandas.Series(Y, index=range(5, 5 + len(Y)))))(w) == expected


@pytest.mark.parametrize("kind", ["datetime64[s]", "complex128"])
def test_sparse_features_that_are_no_numbers(kind):
    data = np.ones(2, dtype=int).astype(kind)
    X = sp.csr_array((data, [0, 1], [0, 1, 2]), shape=(2, 2))
    with pytest.raises(bw.InputError, match="sparse matrix of .*; expected numbers"):
        bw.Problem(bw.tasks.Multiclass(), X, [0, 1])


def test_masked_entries_and_dates_are_no_numbers():
    X = np.ma.masked_array(np.arange(6.0).reshape(3, 2), mask=[[0, 0], [0, 1], [0, 0]])
    with pytest.raises(bw.InputError, match=r"X has masked entries"):
        bw.Problem(bw.tasks.Multiclass(), X, [0, 1, 1])
    with pytest.raises(bw.InputError, match=r"X\[0\] has masked entries"):
        bw.Problem(bw.tasks.Chain(2), [X], [[0, 1, 1]])
    bw.Problem(bw.tasks.Multiclass(), np.ma.masked_array(X.data), [0, 1, 1])
    with pytest.raises(bw.InputError, match="dates or times"):
        bw.Problem(bw.tasks.Multiclass(), np.array([["2020-01-01"], ["NaT"]], "M8[D]"), [0, 1])


MEANT = {
    "words": (["the", "cat"], r"X\[0\] has shape \(2,\).*\{'word': word\} for word in x\]"),
    "a text": ("the cat", r"X\[0\] is a str; .*\{'word': word\} for word in x\.split\(\)\]"),
    "a generator": (iter([[0.0]]), r"X\[0\] is a list_iterator; expected a numeric"),
    "one sequence": (np.zeros(2), r"X\[0\] has shape \(2,\).*x\.reshape\(-1, 1\); .* \[x\]\."),
}


@pytest.mark.parametrize("name", MEANT)
def test_what_is_meant_by_no_rows_of_numbers(name):
    x, match = MEANT[name]
    with pytest.raises(bw.InputError, match=match):
        bw.Problem(bw.tasks.Chain(), [x], [["a", "b"]])


def test_a_frame_of_strings_is_told_how_to_become_token_dicts():
    pd = pytest.importorskip("pandas")
    with pytest.raises(bw.InputError, match=r"x\.to_dict\('records'\) makes token dicts"):
        bw.Problem(bw.tasks.Chain(), [pd.DataFrame({"w": ["the", "cat"]})], [["a", "b"]])


def test_a_picture_of_labels_is_told_to_be_ravelled():
    grids = bw.datasets.synthetic_grids(2, height=3, width=4)
    with pytest.raises(bw.InputError, match=r"Y\[0\] has shape \(3, 4\).*y\.ravel\(\)"):
        bw.Problem(bw.tasks.Cut(), grids.X, [y.reshape(3, 4) for y in grids.Y])


@pytest.mark.parametrize("of_strings", [True, False])
@pytest.mark.parametrize("is_list", [True, False])
def test_missing_labels_are_named(of_strings, is_list):
    pd = pytest.importorskip("pandas")
    kind, labels = ("string", ["a", None, "b"]) if of_strings else ("Int64", [1, None, 2])
    y = labels if is_list else pd.Series(labels, dtype=kind, index=[5, 6, 7])
    found = "None" if is_list else "(<NA>|nan)"  # (versions of pandas differ)
    with pytest.raises(bw.InputError, match=rf"Y\[1\] is {found}: the label is missing"):
        bw.Problem(bw.tasks.Multiclass(), np.eye(3), y)
    with pytest.raises(bw.InputError, match=rf"Y\[0\]\[1\] is {found}: the label is missing"):
        bw.Problem(bw.tasks.Chain(), [np.eye(3)], [y])


def test_missing_numbers_of_a_frame_are_found_as_nan_is():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": [1.0, None, 2.0], "b": [0.0, 1.0, 1.0]}, dtype="Float64")
    with pytest.raises(bw.InputError, match=r"X\[1\] has nan at position 0, feature 0"):
        bw.Problem(bw.tasks.Multiclass(), X, [0, 1, 1])


def test_a_column_that_a_trace_does_not_have():
    trace = bw.solve(bw.Problem(bw.tasks.Chain(3), X, Y), 0.5, "fw", tol=0.5).trace
    assert len(trace["hit_rate"]) == len(trace["gap"]) == len(trace)
    with pytest.raises(bw.OptionError, match="column='gaps' is not known; did you mean 'gap'"):
        trace["gaps"]
