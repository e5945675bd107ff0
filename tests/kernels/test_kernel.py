"""Values of kernels against scikit-learn, and everything that is refused."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from blockwolfe.base.schema import Misfit
from blockwolfe.errors import InputError, OptionError
from blockwolfe.kernels import values
from blockwolfe.kernels.kernel import FittedKernel, Kernel

RNG = np.random.default_rng(0)
OWN, GIVEN = RNG.normal(size=(11, 4)), RNG.normal(size=(5, 4))
OWN[OWN < 0.3], GIVEN[GIVEN < 0.3] = 0.0, 0.0
OWN[3] = 0.0

KERNELS = {
    "linear": (Kernel("linear"), pairwise.linear_kernel),
    "poly": (
        Kernel("poly", gamma=0.7, degree=2, coef0=0.5),
        lambda A, B: (0.7 * A @ B.T + 0.5) ** 2,
    ),
    "rbf": (
        Kernel("rbf", gamma=0.3),
        lambda A, B: np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2)),
    ),
    "sigmoid": (Kernel("sigmoid", gamma=0.2, coef0=-1), lambda A, B: np.tanh(0.2 * A @ B.T - 1)),
    "laplacian": (
        Kernel("laplacian", gamma=0.4),
        lambda A, B: np.exp(-0.4 * abs(A[:, None] - B[None]).sum(axis=2)),
    ),
    "cosine": (Kernel("cosine"), pairwise.cosine_similarity),
    "function": (Kernel(lambda A, B: 2.0 * pairwise.linear_kernel(A, B)), lambda A, B: 2 * A @ B.T),
}


def n_grams(A, B):
    """Letters and pairs of letters that two words have in common."""

    def parts(word):
        return {*word, *(word[i : i + 2] for i in range(len(word) - 1))}

    return [[len(parts(a) & parts(b)) for b in B] for a in A]


@pytest.fixture(params=[2**25, 8 * 11 * 2, 1], ids=["whole", "two rows", "a row"])
def piece(request, monkeypatch):
    """Matrices computed at once, two rows at a time, and row by row."""
    monkeypatch.setattr(values, "PIECE", request.param)


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_array, sp.coo_array], ids=["dense", "csr", "coo"]
)
@pytest.mark.parametrize("name", KERNELS)
def test_values_are_those_of_the_formula(name, form, piece):
    kernel, formula = KERNELS[name]
    fitted = kernel.fit(form(OWN))
    assert (fitted.n, fitted.width, fitted.columns) == (11, 4, None)
    found = fitted.compare(form(GIVEN))
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    expected, own = formula(GIVEN, OWN), formula(OWN, OWN)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_allclose(fitted.compare(form(GIVEN), [7, 2]), expected[:, [7, 2]], atol=1e-13)
    np.testing.assert_allclose(fitted.own_rows([9, 0, 3]), own[[9, 0, 3]], atol=1e-13)
    np.testing.assert_allclose(fitted.diagonal(), np.diagonal(own), atol=1e-13)
    single = fitted.own_rows(np.array([1, 10]), np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, own[[1, 10]], atol=1e-5)
    few = fitted.taken(np.array([4, 1]))
    np.testing.assert_allclose(few.compare(form(GIVEN)), expected[:, [4, 1]], atol=1e-13)
    np.testing.assert_allclose(few.own_rows([0]), own[[4]][:, [4, 1]], atol=1e-13)
    assert fitted.compare(form(GIVEN), []).shape == (5, 0)
    assert fitted.compare(form(GIVEN[:0])).shape == (0, 11)


def test_sparse_rows_are_compared_with_dense_ones():
    for name in ("linear", "rbf", "laplacian", "cosine", "poly"):
        kernel, formula = KERNELS[name]
        mixed = kernel.fit(sp.csr_array(OWN)).compare(GIVEN)
        np.testing.assert_allclose(mixed, formula(GIVEN, OWN), atol=1e-13)


def test_precomputed_values_are_looked_up():
    among, given = OWN @ OWN.T, GIVEN @ OWN.T
    fitted = Kernel("precomputed").fit(among)
    assert (fitted.n, fitted.width, fitted.columns.tolist()) == (11, 11, list(range(11)))
    np.testing.assert_array_equal(fitted.compare(given), given)
    np.testing.assert_array_equal(fitted.compare(given, [3, 1]), given[:, [3, 1]])
    np.testing.assert_array_equal(fitted.own_rows([5, 2]), among[[5, 2]])
    np.testing.assert_array_equal(fitted.diagonal(), np.diagonal(among))
    assert fitted.own_rows([5], np.float32).dtype == np.float32
    few = fitted.taken(np.array([8, 6, 1])).taken(np.array([2, 0]))
    assert few.columns.tolist() == [1, 8]
    np.testing.assert_array_equal(few.compare(given), given[:, [1, 8]])
    np.testing.assert_array_equal(few.own_rows([1]), among[[8]][:, [1, 8]])
    assert few.compare(given).flags.c_contiguous
    with pytest.raises(
        InputError, match="X has 2 features, but kernel='precomputed' is expecting 11"
    ):
        few.compare(given[:, :2])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_gamma_is_that_of_scikit_learn(form):
    svc = SVC(kernel="rbf", gamma="scale").fit(form(OWN), np.arange(11) % 2)
    assert Kernel("rbf", gamma="scale").fit(form(OWN)).gamma == pytest.approx(svc._gamma, rel=1e-13)
    fitted = Kernel("rbf").fit(form(OWN))
    assert fitted.gamma == 0.25
    np.testing.assert_allclose(
        fitted.compare(form(GIVEN)), pairwise.rbf_kernel(GIVEN, OWN), atol=1e-14
    )
    assert Kernel("poly", gamma="scale").fit(np.ones((3, 4))).gamma == 1.0  # (as SVC)
    assert Kernel("linear", gamma="scale").fit(form(OWN)).gamma is None
    with pytest.raises(InputError, match="gamma='scale' is no finite number"):
        Kernel("rbf", gamma="scale").fit(1e200 * OWN)


def test_a_kernel_of_strings():
    words, others = ["the", "cat", "hat", "a"], ["that", "at"]
    fitted = Kernel(n_grams).fit(words)
    assert fitted.width is None
    np.testing.assert_array_equal(fitted.compare(others), n_grams(others, words))
    np.testing.assert_array_equal(fitted.compare(others, [2]), n_grams(others, ["hat"]))
    np.testing.assert_array_equal(fitted.own_rows([3, 1], np.float32), n_grams(["a", "cat"], words))
    np.testing.assert_array_equal(fitted.diagonal(), [5, 5, 5, 1])
    assert fitted.taken(np.array([1, 0])).inputs == ["cat", "the"]
    with pytest.raises(
        InputError, match="X is an array; expected a list of objects, as in training"
    ):
        fitted.compare(GIVEN)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "rbff"}, "kernel='rbff' is not known; did you mean 'rbf'"),
        ({"name": None}, "kernel=None is not known"),
        ({"name": np.eye(2)}, "is not known"),
        ({"name": ["rbf"]}, "is not known"),
        ({"gamma": 0}, "gamma=0 must be a finite number > 0"),
        ({"gamma": -1.0}, "gamma=-1.0 must be"),
        ({"gamma": np.nan}, "gamma=nan must be"),
        ({"gamma": np.inf}, "gamma=inf must be"),
        ({"gamma": True}, "gamma=True must be"),
        ({"gamma": [1.0]}, "must be a finite number > 0"),
        ({"gamma": "auto"}, "gamma='auto' is not known; valid: 'scale'"),
        ({"degree": -1}, "degree=-1 must be a finite number >= 0"),
        ({"degree": np.nan}, "degree=nan"),
        ({"degree": "3"}, "degree='3'"),
        ({"degree": True}, "degree=True"),
        ({"coef0": np.inf}, "coef0=inf must be a finite number"),
        ({"coef0": None}, "coef0=None"),
        ({"coef0": 10**400}, "must be a finite number"),
        ({"coef0": False}, "coef0=False"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        Kernel(**{"name": "rbf", **options}).check()
    with pytest.raises(OptionError, match=message):
        Kernel(**{"name": "rbf", **options}).fit(OWN)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["a", "b"], "the first is a str.*kernel='rbf' cannot compare"),
        ([], "X is empty"),
        (OWN[:0], "X is empty"),
        (OWN[:, :0], "with at least one feature"),
        (OWN[0], r"X has shape \(4,\)"),
        (OWN.astype(object), "type object"),
        (OWN.astype(str), "expected a numeric"),
        (OWN + 1j, "type complex128"),
        (np.full((2, 2), np.nan), r"X\[0\] has nan at position 0, feature 0"),
        (sp.csr_array([[0.0, np.inf]]), r"X\[0\] has inf at position 0, feature 1"),
        (np.ma.masked_equal(OWN, 0.0), "masked"),
    ],
)
def test_bad_inputs_are_refused(inputs, message):
    with pytest.raises(InputError, match=message):
        Kernel("rbf").fit(inputs)


def test_precomputed_values_must_be_square_and_dense():
    with pytest.raises(InputError, match="11 positions in all and 4 columns"):
        Kernel("precomputed").fit(OWN)
    with pytest.raises(InputError, match="X is sparse"):
        Kernel("precomputed").fit(sp.csr_array(OWN @ OWN.T))
    with pytest.raises(InputError, match="X is sparse"):
        Kernel("precomputed").fit(OWN @ OWN.T).compare(sp.csr_array(GIVEN @ OWN.T))


@pytest.mark.parametrize("name", ["linear", "rbf", "cosine", "function"])
def test_another_number_of_features_is_refused(name):
    with pytest.raises(InputError, match="X has 3 features, but kernel=.* is expecting 4 features"):
        KERNELS[name][0].fit(OWN).compare(GIVEN[:, :3])
    with pytest.raises(InputError, match="X is a list of objects; expected an array"):
        KERNELS[name][0].fit(OWN).compare(["a"])


def test_values_that_are_not_finite_are_told_with_their_place(piece):
    own = np.array([[1.0], [-1.0], [2.0]])
    roots = Kernel("poly", gamma=1.0, degree=0.5, coef0=0.0).fit(own)
    with pytest.raises(
        InputError, match="kernel='poly' is nan between row 1 of X and position 0 of"
    ):
        roots.compare(np.array([[0.0], [-1.0]]))
    with pytest.raises(InputError, match="is nan between row 1 of X and position 2 of training"):
        roots.compare(np.array([[0.0], [-1.0]]), [1, 2])
    with pytest.raises(
        InputError, match="between position 2 of training and position 1 of training"
    ):
        roots.own_rows([2, 1])
    large = Kernel("poly", gamma=1.0, degree=3).fit(np.array([[1e7], [1e50]]))
    assert np.isfinite(large.own_rows([0])).all()
    with pytest.raises(InputError, match="is inf between position 1 of training and position 1"):
        Kernel("poly", gamma=1.0, degree=4).fit(large.inputs).own_rows([0, 1])
    with pytest.raises(InputError, match="is inf between position 0 of training and position 0"):
        large.own_rows([0], np.float32)
    with pytest.raises(InputError, match="is inf between position 0 of training"):
        Kernel("poly", gamma=1.0, degree=3).fit(np.array([[1e7]])).own_rows([0], np.float32)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (
            np.ones((5, 10)),
            r"returned an array of float64 of shape \(5, 10\); expected .* \(5, 11\)",
        ),
        (np.ones((11, 5)), r"of shape \(11, 5\)"),
        (1.0, r"of shape \(\)"),
        (np.full((5, 11), "a"), "array of <U1"),
        (np.ones((5, 11), dtype=complex), "array of complex128"),
        (np.ones((5, 11), dtype=object), "array of object"),
        (sp.csr_array(np.ones((5, 11))), "returned a csr_array"),
        ([[1.0], [1.0, 2.0]], "returned a list"),
        (None, "array of object"),
        (np.full((5, 11), np.nan), "is nan between row 0 of X and position 0"),
    ],
)
def test_what_a_function_returns_is_checked(result, message):
    fitted = Kernel(lambda A, B: result).fit(OWN)
    with pytest.raises(InputError, match=message):
        fitted.compare(GIVEN)


def test_errors_of_a_function_pass_through():
    def broken(A, B):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Kernel(broken).fit(OWN).compare(GIVEN)


# -- files -----------------------------------------------------------------------------------------


def fitted_by(name):
    if name == "precomputed":
        return Kernel("precomputed").fit(OWN @ OWN.T).taken(np.array([7, 2, 4])), GIVEN @ OWN.T
    form = sp.csr_array if name == "sparse" else np.asarray
    kernel = Kernel("rbf", gamma="scale") if name == "sparse" else KERNELS[name][0]
    return kernel.fit(form(OWN)).taken(np.array([1, 3, 8])), form(GIVEN)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "cosine", "sparse", "precomputed"])
def test_a_kernel_comes_back_from_a_file(name):
    import json

    fitted, given = fitted_by(name)
    plain, arrays = fitted.packed()
    again = FittedKernel.unpacked(json.loads(json.dumps(plain)), arrays)
    assert (again.kernel, again.gamma, again.n, again.width) == (
        fitted.kernel, fitted.gamma, 3, fitted.width,
    )  # fmt: skip
    np.testing.assert_array_equal(again.compare(given), fitted.compare(given))
    few = again.taken(np.array([2]))
    np.testing.assert_array_equal(few.compare(given), fitted.compare(given, [2]))
    nothing = FittedKernel.unpacked(*fitted.taken(np.zeros(0, dtype=np.int64)).packed())
    assert nothing.compare(given).shape == (5, 0)
    picked = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(picked.compare(given), fitted.compare(given))


def test_what_rows_are_made_of_is_not_pickled():
    fitted = Kernel("rbf").fit(OWN)
    size = len(pickle.dumps(fitted))
    fitted.own_rows([0], np.float32)
    assert len(pickle.dumps(fitted)) == size


def test_functions_are_not_in_files():
    with pytest.raises(OptionError, match="kernel=n_grams is a function.*pickle or joblib"):
        Kernel(n_grams).fit(["a"]).packed()


def test_values_among_training_are_not_in_files():
    again = FittedKernel.unpacked(*fitted_by("precomputed")[0].packed())
    with pytest.raises(ValueError, match="a model file does not keep the values"):
        again.own_rows([0])
    with pytest.raises(ValueError, match="a model file does not keep the values"):
        again.diagonal()


HOSTILE = {
    "no name": ("rbf", lambda plain, arrays: plain.pop("name")),
    "an unknown name": ("rbf", lambda plain, arrays: plain.update(name="rbff")),
    "a name that is no text": ("rbf", lambda plain, arrays: plain.update(name=["rbf"])),
    "another value": ("rbf", lambda plain, arrays: plain.update(other=1)),
    "no gamma": ("rbf", lambda plain, arrays: plain.pop("gamma")),
    "a gamma of zero": ("rbf", lambda plain, arrays: plain.update(gamma=0, fitted_gamma=0)),
    "a gamma that is NaN": ("rbf", lambda plain, arrays: plain.update(fitted_gamma=np.nan)),
    "a gamma that is infinite": ("sparse", lambda plain, arrays: plain.update(fitted_gamma=np.inf)),
    "a gamma below zero": ("sparse", lambda plain, arrays: plain.update(fitted_gamma=-1.0)),
    "another gamma": ("rbf", lambda plain, arrays: plain.update(fitted_gamma=0.31)),
    "a gamma for none": ("linear", lambda plain, arrays: plain.update(fitted_gamma=0.31)),
    "no fitted gamma": ("rbf", lambda plain, arrays: plain.update(fitted_gamma=None)),
    "degree as text": ("poly", lambda plain, arrays: plain.update(degree="2")),
    "coef0 as NaN": ("poly", lambda plain, arrays: plain.update(coef0=np.nan)),
    "no width": ("linear", lambda plain, arrays: plain.update(width=None)),
    "another width": ("linear", lambda plain, arrays: plain.update(width=5)),
    "a width of zero": ("linear", lambda plain, arrays: plain.update(width=0)),
    "a huge width": ("sparse", lambda plain, arrays: plain.update(width=2**40)),
    "no inputs": ("linear", lambda plain, arrays: arrays.pop("inputs")),
    "other inputs too": ("linear", lambda plain, arrays: arrays.update(columns=np.arange(3))),
    "inputs of one dimension": (
        "linear", lambda plain, arrays: arrays.update(inputs=arrays["inputs"][0])
    ),
    "inputs in single precision": (
        "linear", lambda plain, arrays: arrays.update(inputs=arrays["inputs"].astype(np.float32))
    ),
    "inputs as objects": (
        "linear", lambda plain, arrays: arrays.update(inputs=arrays["inputs"].astype(object))
    ),
    "inputs with NaN": ("linear", lambda plain, arrays: arrays["inputs"].fill(np.nan)),
    "columns beyond": ("sparse", lambda plain, arrays: arrays["indices"].fill(4)),
    "columns below zero": ("sparse", lambda plain, arrays: arrays["indices"].fill(-1)),
    "values with NaN": ("sparse", lambda plain, arrays: arrays["values"].fill(np.nan)),
    "fewer values": ("sparse", lambda plain, arrays: arrays.update(values=arrays["values"][:-1])),
    "rows that end late": ("sparse", lambda plain, arrays: arrays["indptr"].__setitem__(-1, 99)),
    "rows that begin late": ("sparse", lambda plain, arrays: arrays["indptr"].__setitem__(0, 1)),
    "rows that fall": ("sparse", lambda plain, arrays: arrays["indptr"].__setitem__(1, 99)),
    "no rows": ("sparse", lambda plain, arrays: arrays.update(indptr=np.zeros(0, dtype=np.int64))),
    "a position twice": ("precomputed", lambda plain, arrays: arrays["columns"].fill(1)),
    "a position beyond": ("precomputed", lambda plain, arrays: arrays["columns"].fill(11)),
    "a position below zero": ("precomputed", lambda plain, arrays: arrays["columns"].fill(-1)),
    "no positions": ("precomputed", lambda plain, arrays: arrays.clear()),
}  # fmt: skip


@pytest.mark.parametrize("change", HOSTILE)
def test_hostile_files_are_refused(change):
    name, spoil = HOSTILE[change]
    plain, arrays = fitted_by(name)[0].packed()
    arrays = {key: array.copy() for key, array in arrays.items()}
    FittedKernel.unpacked(dict(plain), dict(arrays))
    spoil(plain, arrays)
    with pytest.raises((Misfit, OptionError)):
        FittedKernel.unpacked(plain, arrays)


@pytest.mark.parametrize(
    ("plain", "arrays"), [(None, {}), ([], {}), ({}, {}), ({"name": "rbf"}, None)]
)
def test_files_of_no_form_are_refused(plain, arrays):
    with pytest.raises(Misfit):
        FittedKernel.unpacked(plain, arrays)


@pytest.mark.parametrize("width", [np.int32, np.int64])
@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine"])
def test_sparse_rows_with_indices_of_any_width(name, width):
    """(scikit-learn's laplacian kernel takes those of 32 bits alone)"""
    X = np.random.default_rng(0).normal(size=(7, 3)) * [1.0, 0.0, 1.0]
    rows = sp.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(width), rows.indptr.astype(width)
    dense, sparse = (Kernel(name, gamma=0.5).fit(given) for given in (X, rows))
    expected = dense.own_rows(np.arange(7))
    np.testing.assert_allclose(sparse.own_rows(np.arange(7)), expected, rtol=1e-12)
    np.testing.assert_allclose(sparse.compare(rows[2:4]), expected[2:4], rtol=1e-12)
