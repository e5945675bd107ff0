"""Runs that hold few rows of the kernel matrix, or rows in single precision; scores S = G A."""

import numpy as np
import pytest

import blockwolfe as bw
from at_work import engine_of
from blockwolfe.base.archive import read_archive, write_archive
from blockwolfe.running.checkpoint import CHECKPOINT
from kernel_twins import assert_within_certificates, coefficients, kernel_matrix, made
from same_runs import assert_same, content
from zoo import METHODS as ALL_METHODS

LAM = 0.3
RBF = {"kernel": "rbf", "gamma": 0.5}
N_POSITIONS = {"chain": 24, "tree": 20}
REFUSED = ("conjugate", "sharded")  # (which need w itself, and rows of other shards)
METHODS = [method for method in ALL_METHODS if not any(word in method for word in REFUSED)]
BLOCKS = [method for method in METHODS if method.startswith("bcfw")]
SINGLE = 1e-6  # of single precision, with room for the sum of a few terms


def few(n_rows, name="chain", **options):
    """A problem with room for so many rows; the longest sequence needs 5."""
    room = n_rows * 8 * N_POSITIONS[name] / 2**20
    problem = made(name, **RBF | {"kernel_cache_mb": room * (1.0 + 1e-9)} | options)
    assert problem.blocks.kernel.n_rows == n_rows
    assert not problem.blocks.kernel.has_all_rows
    return problem


@pytest.fixture(scope="module")
def whole():
    problem = made("chain", **RBF)
    return problem, bw.solve(problem, LAM, tol=1e-3, random_state=0)


def assert_scores_belong(problem, w, to=1e-12):
    """S is G A, with G straight from the kernel."""
    A, S = coefficients(problem, w)
    expected = A @ kernel_matrix(problem)
    np.testing.assert_allclose(S, expected, rtol=0.0, atol=to * np.abs(expected).max())


# -- few rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*METHODS, "cutting_plane", "bcfw+maxgap+away+cache"])
def test_few_rows_come_to_the_same_optimum(whole, method):
    problem = few(7)
    result = bw.solve(problem, LAM, method, tol=3e-2, max_passes=2000, random_state=0)
    assert result.is_certified or method.endswith("predefined")
    assert_within_certificates(result, whole[1])
    assert_scores_belong(problem, result.w)
    assert_scores_belong(problem, result.last_state.v)


@pytest.mark.parametrize("method", ["bcfw", "bcfw+pairwise", "bcfw+cache", "bcfw+gap+away+cache"])
@pytest.mark.parametrize("bounds", [None, {"transition": (-0.05, 0.02)}])
def test_steps_that_lack_rows_are_as_long_as_others(method, bounds):
    """Also where weights have bounds: a step beyond the line search would lose dual."""
    problem = few(5, bounds=bounds)
    result = bw.solve(problem, LAM, method, tol=0.0, max_passes=12, random_state=0)
    dual = result.trace["dual"][np.isfinite(result.trace["dual"])]
    assert len(dual) > 5
    assert np.diff(dual).min() > -1e-12
    assert dual.max() <= result.certificate.primal
    assert_scores_belong(problem, result.w)


def test_scores_that_are_rounding_alone_are_those_of_their_coefficients():
    """With nearly equal rows, coefficients whose sum is zero cancel in every score."""
    kernel = made("chain", **RBF | {"gamma": 1e-12}).blocks.kernel
    w = np.zeros(kernel._data.begin + 2 * kernel.size)
    A = np.random.default_rng(0).normal(size=(kernel.size // 24, 24))
    A -= A.mean(axis=1, keepdims=True)
    w[kernel._data.begin :][: kernel.size] = A.ravel()
    kernel.complete(w)
    assert np.abs(w[-kernel.size :]).max() < 1e-9
    w[-kernel.size :] += 1e-15
    assert kernel.is_complete(w)
    w[-kernel.size :] += 1e-9
    assert not kernel.is_complete(w)


@pytest.mark.parametrize("n_rows", [5, 6, 13, 23])
def test_any_number_of_rows_that_hold_a_block_is_enough(whole, n_rows):
    result = bw.solve(few(n_rows), LAM, "bcfw+gap+pairwise", tol=1e-2, random_state=0)
    assert result.is_certified
    assert_within_certificates(result, whole[1])


def test_a_batch_of_oracle_calls_with_few_rows(whole):
    result = bw.solve(few(5), LAM, bw.BCFW(batch_size=4), tol=2e-2, random_state=0)
    assert result.is_certified
    assert_within_certificates(result, whole[1])


def test_graphs_with_few_rows():
    expected = bw.solve(made("tree", **RBF), LAM, tol=1e-2, random_state=0)
    problem = few(5, "tree")
    result = bw.solve(problem, LAM, tol=1e-2, random_state=0)
    assert_within_certificates(result, expected)
    assert_scores_belong(problem, result.w)


def test_bounds_and_few_rows():
    bounds = {"transition": (-0.05, 0.02)}
    expected = bw.solve(made("chain", bounds=bounds, **RBF), LAM, tol=1e-2, random_state=0)
    result = bw.solve(few(6, bounds=bounds), LAM, tol=1e-2, random_state=0)
    assert_within_certificates(result, expected)


@pytest.mark.parametrize("method", BLOCKS)
def test_scores_are_complete_after_every_visit(method, monkeypatch):
    """The w at work, not one rebuilt for a certificate; visits find most of their rows missing."""
    problem = few(5)
    engine = engine_of(problem, method, LAM)
    dual = 0.0
    for _ in range(4):
        engine.advance(10**9, lambda: True)
        assert problem.blocks.halt[0] == 0
        assert_scores_belong(problem, engine.point.arrays.w)
        if engine.method.step.line_search:
            assert engine.dual() >= dual - 1e-12
        dual = engine.dual()
        engine.certify()


def test_a_path_with_few_rows():
    path = bw.solve_path(problem := few(6), 0.3, 0.5, "bcfw", random_state=0, keep_states=True)
    assert path.status is bw.Status.CERTIFIED
    for point in path.breakpoints:
        found = bw.certify(problem, path.state(problem, point.lam), point.lam)
        assert found.gap <= path.eps
        assert found.gap == pytest.approx(path.gap(point.lam), abs=1e-9)


# -- single precision ------------------------------------------------------------------------------


def test_single_precision_says_how_far_it_may_be_off(whole):
    problem, expected = whole
    single = made("chain", **RBF, kernel_dtype="float32")
    assert single.blocks.kernel._store.rows.dtype == np.float32
    result = bw.solve(single, LAM, tol=1e-3, random_state=0)
    assert result.is_certified
    assert_within_certificates(result, expected)
    assert expected.certificate.resolution < result.certificate.resolution < 1e-3
    # the very same w has the objective of double precision, within what was said
    size = problem.blocks.kernel.size
    for w in (result.w, result.last_state.v / LAM):
        in_double = problem.primal(w[:-size], LAM)
        off = abs(single.primal(w[:-size], LAM) - in_double)
        assert 0.0 < off <= result.certificate.resolution
    assert_scores_belong(problem, result.w, to=SINGLE)


def test_single_precision_of_weights_that_are_no_mean_of_corners():
    """A perceptron's w is no v / lam: with a large lambda, |w|^2 has most of the rounding."""
    problem, single = (made("chain", **RBF, kernel_dtype=dtype) for dtype in ("float64", "float32"))
    lam, size = 1e6, problem.blocks.kernel.size
    result = bw.solve(single, lam, "perceptron", max_passes=5, random_state=0)
    off = abs(result.certificate.primal - problem.primal(result.w[:-size], lam))
    assert 0.0 < off <= result.certificate.resolution


def test_single_precision_and_few_rows(whole):
    room = 6 * 4 * N_POSITIONS["chain"] / 2**20 * (1.0 + 1e-9)
    problem = made("chain", **RBF, kernel_dtype="float32", kernel_cache_mb=room)
    assert problem.blocks.kernel.n_rows == 6
    result = bw.solve(problem, LAM, tol=1e-2, random_state=0)
    assert_within_certificates(result, whole[1])


# -- scores that belong to coefficients --------------------------------------------------------------


@pytest.mark.parametrize("name", ["chain", "cut", "multilabel"])
@pytest.mark.parametrize("method", ["bcfw+gap+pairwise+cache", "bcfw+averaging", "fw", "ssg"])
def test_scores_belong_to_coefficients_after_any_run(name, method):
    problem = made(name, **RBF)
    result = bw.solve(problem, LAM, method, tol=1e-12, max_passes=15, random_state=0)
    assert_scores_belong(problem, result.w)
    if result.last_state is not None:
        assert_scores_belong(problem, result.last_state.v)


def test_forged_scores_change_no_value(whole):
    problem, result = whole
    size = problem.blocks.kernel.size
    forged = result.w.copy()
    forged[-size:] += 7.0
    assert problem.primal(forged, LAM) == problem.primal(result.w, LAM)
    honest = bw.certify(problem, result.last_state, LAM, w=result.w)
    found = bw.certify(problem, result.last_state, LAM, w=forged)
    assert (found.primal, found.dual) == (honest.primal, honest.dual)
    assert bw.certify(problem, result.last_state, LAM, w=result.w[:-size]).primal == honest.primal
    np.testing.assert_array_equal(forged[-size:], result.w[-size:] + 7.0)  # (the user's own stays)
    with pytest.raises(bw.InputError, match=r"w has shape .* expected"):
        problem.primal(result.w[: -2 * size], LAM)


# -- checkpoints -------------------------------------------------------------------------------------


class CrashError(Exception):
    pass


def crash_at(n_passes):
    def callback(event):
        if event.row.passes == n_passes:
            raise CrashError

    return callback


def crashed(problem, path, method, n_passes=3):
    """A file of a run that broke off, and the options of that run."""
    options = {"tol": 1e-9, "max_passes": 8, "checkpoint": bw.Checkpoint(path, every=0)}
    with pytest.raises(CrashError):
        bw.solve(problem, LAM, method, random_state=0, callbacks=[crash_at(n_passes)], **options)
    return options


@pytest.mark.parametrize("method", ["bcfw+gap+pairwise+cache", "bcfw+averaging", "fw", "ssg"])
def test_a_run_with_all_rows_goes_on_to_the_bit(whole, method, tmp_path):
    problem = whole[0]
    expected = bw.solve(problem, LAM, method, tol=1e-9, max_passes=8, random_state=0)
    options = crashed(problem, tmp_path / "run.npz", method)
    again = made("chain", **RBF)
    assert_same(content(bw.solve(again, LAM, method, **options)), content(expected))


def test_a_run_with_few_rows_goes_on_to_the_same_optimum(whole, tmp_path):
    options = crashed(few(6), tmp_path / "run.npz", "bcfw") | {"tol": 2e-2, "max_passes": 500}
    result = bw.solve(few(6), LAM, "bcfw", **options)
    assert result.is_certified
    assert_within_certificates(result, whole[1])


@pytest.mark.parametrize("method", ["bcfw", "bcfw+averaging", "fw", "ssg", "subgradient"])
def test_a_checkpoint_with_forged_scores_is_refused(whole, method, tmp_path):
    problem, path = whole[0], tmp_path / "run.npz"
    options = crashed(problem, path, method)
    header, arrays = read_archive(path, CHECKPOINT)
    d, size = problem.n_features, problem.blocks.kernel.size
    found = [name for name, array in arrays.items() if array.shape == (d,) and array.any()]
    # (the average of a run without averaging is never asked for)
    found = [name for name in found if method == "bcfw+averaging" or name != "engine.average_w"]
    assert len(found) >= 2
    for name in found:
        forged = arrays[name].copy()
        forged[-size] += 1.0
        named = {n: v for n, v in header.items() if n not in ("format", "version", "digest")}
        write_archive(path, CHECKPOINT, named, arrays | {name: forged})
        with pytest.raises(bw.ModelFileError, match=r"contradict|scores that are not"):
            bw.solve(problem, LAM, method, **options)
