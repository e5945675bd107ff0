"""Approximate oracles: the theorem about them, certificates, and where they are at work."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from amount import ALL
from same_runs import assert_same, content
from zoo import PROBLEMS, chain_data, enumerated_optimum, multiclass_data

LAM = 0.1
VISITING = ["bcfw+uniform", "bcfw+gap+pairwise", "bcfw+gap+pairwise+cache", "auto"]


def chain_problem(how, certify="exact", order=1, **options):
    task = bw.tasks.Chain(3, task_loss="normalized_hamming", order=order)
    task = task if how is None else bw.tasks.Approximate(task, how, certify)
    return bw.Problem(task, *chain_data(), **options)


def multiclass_problem(how=None, certify="exact"):
    task = bw.tasks.Multiclass()
    task = task if how is None else bw.tasks.Approximate(task, how, certify)
    return bw.Problem(task, *multiclass_data(n=10))


def knapsacks(n=8, m=8, seed=0):
    """Selections under rows that leave the relaxation fractional."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        features, A = rng.normal(size=(m, 3)), rng.uniform(1.0, 5.0, size=(3, m))
        x = bw.tasks.ProgramInput(features, A, A.sum(axis=1) / 2)
        X.append(x)
        Y.append(bw.tasks.Program().random_output(x, rng))
    return X, Y


# -- the theorem -----------------------------------------------------------------------------------


class Labels:
    """One of three labels, in a few lines of numpy: thousands of calls take no time."""

    def features(self, x, y):
        phi = np.zeros((3, len(x)))
        phi[y] = x
        return phi.ravel()

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w):
        return int(np.argmax(w.reshape(3, -1) @ x))

    def augmented_decode(self, x, y, w):
        return int(np.argmax(w.reshape(3, -1) @ x + (np.arange(3) != y)))

    def outputs(self, x):
        return [0, 1, 2]


def labels_problem(how=None, certify="exact"):
    X, Y = multiclass_data(n=10)
    task = Labels() if how is None else bw.tasks.Approximate(Labels(), how, certify)
    return bw.Problem(task, list(0.3 * X), list(Y))


def curvature(problem, lam):
    """C <= 4 R^2 / (lam n), with R the length of the longest psi_i(y)."""
    R = max(
        np.linalg.norm(problem.task.features(x, y) - problem.task.features(x, z))
        for x, y in zip(problem.X, problem.Y, strict=True)
        for z in problem.task.outputs(x)
    )
    return 4.0 * R**2 / (lam * len(problem))


def errors_by_visits(how, lam, n_seeds, max_passes):
    """D* - D_k of every run after k visits, and k; a run that has stalled stays where it is."""
    optimum = bw.solve(labels_problem(), lam, "bcfw+pairwise", 1e-10).certificate.dual
    given = {"tol": 0.0, "max_passes": max_passes, "point": "last"}
    duals, k = [], 10 * np.arange(max_passes + 1)
    for seed in range(n_seeds):
        problem = labels_problem(how(seed))
        run = bw.solve(problem, lam, "bcfw+uniform", random_state=seed, **given).trace
        duals.append(run["dual"][np.searchsorted(run["visits"], k, side="right") - 1])
    return optimum - np.array(duals), k


def test_multiplicative_accuracy_slows_convergence_by_no_more_than_the_theorem_says():
    """E[D* - D_k] <= 2n / (nu k + 2n) (C / nu + D*): Lacoste-Julien et al. 2013, appendix C."""
    lam, nu, n = 1.0, 0.5, 10
    error, k = errors_by_visits(lambda seed: bw.tasks.Multiplicative(nu, seed), lam, 6, 60)
    C, h0 = curvature(labels_problem(), lam), error[0, 0]
    bound = 2 * n / (nu * k + 2 * n) * (C / nu + h0)
    assert (error.mean(axis=0) <= bound).all()
    assert bound[-1] < h0 / 2  # (so that an oracle that finds nothing would be caught)
    exact, _ = errors_by_visits(lambda seed: bw.tasks.Multiplicative(1.0, seed), lam, 6, 60)
    assert exact[:, 1:10].mean() < error[:, 1:10].mean()


def test_additive_accuracy_costs_no_more_than_itself():
    """E[D* - D_k] <= 2n / (k + 2n) (C + D*) + delta: what delta hides of gaps is all that it costs.

    (An output that lacks delta lacks delta / n of the gap of its block, and all blocks delta.)
    """
    lam, n, delta = 0.3, 10, 0.2
    error, k = errors_by_visits(lambda _: bw.tasks.Additive(delta), lam, 6, 60)
    C, h0 = curvature(labels_problem(), lam), error[0, 0]
    bound = 2 * n / (k + 2 * n) * (C + h0) + delta
    assert (error.mean(axis=0) <= bound).all()
    assert bound[-1] < h0
    finer, _ = errors_by_visits(lambda _: bw.tasks.Additive(delta / 10), lam, 6, 60)
    assert finer[:, -1].mean() < error[:, -1].mean()


# -- certificates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", VISITING)
@pytest.mark.parametrize("how", [bw.tasks.Beam(2), bw.tasks.Greedy()])
def test_certificates_by_the_exact_oracle(how, method):
    """Honest rough answers are no reason for doubt, and gaps are those of the task itself."""
    problem, plain = chain_problem(how), chain_problem(None)
    result = bw.solve(problem, LAM, method, 1e-3, max_passes=100, random_state=0)
    optimum, _ = enumerated_optimum(plain, LAM)
    assert result.certificate.exact
    assert result.certificate.dual - 1e-7 <= optimum <= result.certificate.primal + 1e-7
    again = bw.certify(plain, result.state, LAM)  # (a mixture of outputs of the same problem)
    other = bw.certify(problem, result.state, LAM)
    assert (again.gap, again.exact) == (other.gap, True)


@pytest.mark.parametrize("order", [1, 2])
def test_a_beam_of_all_states_is_the_exact_run(order):
    wide = chain_problem(bw.tasks.Beam(1000), order=order)
    given = {"tol": 1e-4, "random_state": 0, "max_passes": 30}
    runs = [bw.solve(p, LAM, "bcfw+gap", **given) for p in (wide, chain_problem(None, order=order))]
    np.testing.assert_allclose(runs[0].w, runs[1].w, atol=1e-9)


def test_a_narrow_beam_misses_outputs_and_says_so():
    rng = np.random.default_rng(0)
    problem, plain = (chain_problem(how) for how in (bw.tasks.Greedy(), None))
    blocks = problem.blocks
    missed = 0.0
    for _, i in itertools.product(range(20), range(len(problem))):
        w = rng.normal(size=problem.n_features)
        x, y = problem.X[i], problem.Y[i]

        def height(y_hat, x=x, y=y, w=w):
            return plain.task.loss(y, y_hat) + w @ plain.task.features(x, y_hat)

        rough, best = problem.task.rough_decode(x, y, w), problem.task.augmented_decode(x, y, w)
        missed += height(best) - height(rough)
        assert height(rough) <= height(best) + 1e-12
        theta, code = np.zeros(blocks.n_parts), np.zeros(len(y), dtype=np.int32)
        blocks.features.score(blocks.data, i, w, 1.0, theta)
        scratch = blocks.scratch()
        size, loss, _ = blocks.visited.oracles.maximize(
            blocks.data, i, theta, scratch, code, np.zeros(0)
        )
        np.testing.assert_array_equal(problem.task.classes_[code[:size]], rough)
        assert loss == pytest.approx(plain.task.loss(y, rough))
    assert missed > 0.0
    result = bw.solve(chain_problem(bw.tasks.Greedy(), "estimate"), LAM, tol=0.5, max_passes=20)
    assert not result.certificate.valid
    assert result.status is bw.Status.INEXACT_ORACLE


@pytest.mark.parametrize("certify", ["exact", "bound"])
def test_additive_certificates_bracket_the_optimum(certify):
    plain = labels_problem()
    result = bw.solve(
        labels_problem(bw.tasks.Additive(0.05), certify), LAM, tol=0.01, max_passes=200,
        random_state=0,
    )  # fmt: skip
    optimum, _ = enumerated_optimum(plain, LAM)
    certificate = result.certificate
    assert certificate.valid
    assert certificate.exact == (certify == "exact")
    assert certificate.dual - 1e-7 <= optimum <= certificate.primal + 1e-7
    if certify == "bound":
        assert certificate.slack == pytest.approx(0.05)


def test_gaps_are_not_those_of_the_rough_oracle():
    """One that answers with true outputs alone sees no gap at all; the certificate does."""
    problem = labels_problem(bw.tasks.Additive(1e9))
    result = bw.solve(problem, LAM, "bcfw+uniform", max_passes=30, random_state=0)
    assert result.certificate.gap == pytest.approx(problem.unit)
    assert not result.is_certified


# -- programs --------------------------------------------------------------------------------------


def test_truncated_search_bounds_what_it_left():
    X, Y = knapsacks()
    task, rough = bw.tasks.Program().fit(X, Y), bw.tasks.Truncated(1)
    rng = np.random.default_rng(0)
    for x, y in zip(X, Y, strict=True):
        for _ in range(5):
            w = rng.normal(size=3)
            found, upper = rough.answer(task, x, y, w)
            heights = [task.loss(y, z) + w @ task.features(x, z) for z in task.outputs(x)]
            own = task.loss(y, found) + w @ task.features(x, found)
            assert any(np.array_equal(found, z) for z in task.outputs(x))
            assert w @ task.features(x, y) - 1e-9 <= own <= max(heights) + 1e-9
            assert upper >= max(heights) - 1e-9


@pytest.mark.parametrize("certify", ["exact", "bound"])
def test_truncated_programs(certify):
    X, Y = knapsacks()
    task = bw.tasks.Approximate(bw.tasks.Program(), bw.tasks.Truncated(1), certify)
    given = {"max_passes": 30, "random_state": 0}
    result = bw.solve(bw.Problem(task, X, Y), LAM, tol=0.05, **given)
    exact = bw.solve(bw.Problem(bw.tasks.Program(), X, Y), LAM, tol=0.05, **given)
    assert result.certificate.valid
    assert result.certificate.dual <= exact.certificate.primal + 1e-9
    assert exact.certificate.dual <= result.certificate.primal + 1e-9


# -- where rough oracles are asked -----------------------------------------------------------------


class Counting(Labels):
    """A task in Python with two oracles, which counts how often each is asked."""

    n_rough = n_exact = 0

    def __getstate__(self):
        return {}

    def augmented_decode(self, x, y, w):
        self.n_exact += 1
        return super().augmented_decode(x, y, w)

    def rough_decode(self, x, y, w):
        self.n_rough += 1
        best = super().augmented_decode(x, y, w)
        return best if w @ self.features(x, best) < w.sum() else y


def counting_problem():
    return bw.Problem(Counting(), *multiclass_data(n=10))


@pytest.mark.parametrize("method", ["bcfw+uniform", "bcfw+gap+pairwise", "ssg", "perceptron"])
def test_visits_ask_the_rough_oracle_and_full_passes_the_exact_one(method):
    problem = counting_problem()
    result = bw.solve(problem, LAM, method, 1e-9, max_passes=5, random_state=0)
    counts, task = result.counts, problem.task
    assert task.n_rough == counts.oracle_calls
    assert task.n_exact >= counts.certificate_calls > 0  # (and the first look at an oracle)


@pytest.mark.parametrize("method", ["fw", "cutting_plane", "cutting_plane+n", "subgradient"])
def test_methods_of_full_passes_ask_the_exact_one_alone(method):
    problem = counting_problem()
    bw.solve(problem, LAM, method, 1e-9, max_passes=5, random_state=0)
    assert problem.task.n_rough == 0


def test_rough_answers_of_other_processes():
    """Batches get rough answers and certificates exact ones, as without processes."""
    method = bw.BCFW(batch_size=3)
    given = {"tol": 1e-9, "max_passes": 4, "random_state": 0}
    alone, shared = (bw.solve(counting_problem(), LAM, method, n_jobs=n, **given) for n in (1, 2))
    assert_same(content(shared), content(alone))
    X, Y = multiclass_data(n=10)
    plain = bw.solve(bw.Problem(Labels(), X, Y), LAM, method, **given)
    assert (plain.w != alone.w).any()


@pytest.mark.parametrize("method", ["bcfw+gap+pairwise+cache", "auto", "ssg"])
@pytest.mark.parametrize("make", [
    lambda: chain_problem(bw.tasks.Beam(2)),
    lambda: labels_problem(bw.tasks.Multiplicative(0.5)),
])  # fmt: skip
def test_a_run_that_goes_on_is_the_undisturbed_one(tmp_path, make, method):
    given = {"max_passes": 6, "random_state": 0, "tol": 0.0}
    whole = bw.solve(make(), LAM, method, **given)
    keeping = bw.Checkpoint(tmp_path / "run.npz", every=0.0)

    def crash(event):
        if event.row.passes == 3:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        bw.solve(make(), LAM, method, checkpoint=keeping, callbacks=crash, **given)
    rest = bw.solve(make(), LAM, method, checkpoint=keeping, **given)
    assert_same(content(rest), content(whole))


def test_bounds_and_sample_weights():
    problem = chain_problem(bw.tasks.Beam(2), bounds=(-0.1, 0.2), sample_weight=np.arange(1, 9))
    result = bw.solve(problem, LAM, "bcfw+gap+pairwise", 1e-3, max_passes=200, random_state=0)
    plain = chain_problem(None, bounds=(-0.1, 0.2), sample_weight=np.arange(1, 9))
    other = bw.solve(plain, LAM, "bcfw+gap+pairwise", 1e-3, max_passes=200, random_state=0)
    assert result.certificate.dual <= other.certificate.primal + 1e-12
    assert other.certificate.dual <= result.certificate.primal + 1e-12
    assert result.w.min() >= -0.1
    assert result.w.max() <= 0.2


def test_the_expectation_oracle_stays():
    result = bw.solve(chain_problem(bw.tasks.Beam(2)), LAM, "online_eg", 0.05, random_state=0)
    assert result.is_certified
    with pytest.raises(bw.OptionError, match="marginals"):
        bw.solve(multiclass_problem(bw.tasks.Multiplicative(0.5)), LAM, "online_eg")


# -- options and files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bw.tasks.Beam(0), "width=0"),
        (lambda: bw.tasks.Additive(0.0), "delta=0"),
        (lambda: bw.tasks.Multiplicative(0.0), "nu=0"),
        (lambda: bw.tasks.Multiplicative(1.5), "nu=1.5"),
        (lambda: bw.tasks.Truncated(0), "max_nodes=0"),
        (lambda: multiclass_problem("Beam"), "how='Beam' is no rough oracle; expected an object"),
        (lambda: multiclass_problem(bw.tasks.Additive(1.0), "sure"), "certify='sure'"),
        (lambda: chain_problem(bw.tasks.Beam(2), "bound"), "proves no bound"),
        (lambda: multiclass_problem(bw.tasks.Beam(2)), "works on Chain, not on Multiclass"),
        (lambda: multiclass_problem(bw.tasks.Truncated()), "works on Program"),
    ],
)
def test_options_are_checked_before_any_work(make, message):
    with pytest.raises((bw.OptionError, bw.InputError), match=message):
        make()


def test_tasks_that_rough_oracles_do_not_serve():
    X, Y = multiclass_data()
    slack = bw.tasks.SlackRescaling(bw.tasks.Multiclass())
    with pytest.raises(bw.InputError, match="hinge of its own"):
        bw.Problem(bw.tasks.Approximate(slack, bw.tasks.Additive(1.0)), X, Y)
    bare = bw.tasks.Chain(3, transition=False)
    with pytest.raises(bw.InputError, match="no transitions"):
        bw.Problem(bw.tasks.Approximate(bare, bw.tasks.Beam(2)), *chain_data())
    graph = bw.tasks.PairwiseGraph()
    data = ([bw.tasks.Graph([[1.0], [0.0]], [[0, 1]])], [["a", "b"]])
    for certify in ("exact", "bound"):
        task = bw.tasks.Approximate(graph, bw.tasks.Additive(1.0), certify)
        with pytest.raises(bw.OptionError, match=f"certify='{certify}': .* approximate itself"):
            bw.Problem(task, *data)


@pytest.mark.parametrize(("certify", "has_it"), [("exact", True), ("estimate", False)])
def test_a_rough_maximum_projects_nothing(certify, has_it):
    problem = chain_problem(bw.tasks.Beam(2), certify)
    assert ("project" in problem.task.oracles) == has_it
    if not has_it:
        with pytest.raises(bw.OptionError, match="needs the oracle 'project', which Approximate"):
            bw.solve(problem, LAM, "extragradient")


@pytest.mark.parametrize(
    "how", [bw.tasks.Beam(2), bw.tasks.Greedy(), bw.tasks.Additive(0.1), bw.tasks.Multiplicative(1)]
)
def test_model_files(tmp_path, how):
    X, Y = chain_data()
    task = bw.tasks.Approximate(bw.tasks.Chain(), how)
    svm = bw.StructuredSVM(task, lam=LAM, tol=0.1, random_state=0).fit(X, Y)
    svm.save(tmp_path / "model.npz")
    again = bw.load(tmp_path / "model.npz")
    assert again.task.how == how
    for y, z in zip(svm.predict(X), again.predict(X), strict=True):
        np.testing.assert_array_equal(y, z)


def test_the_task_passes_its_check():
    X, Y = chain_data()
    for how in (bw.tasks.Beam(2), bw.tasks.Additive(0.5)):
        report = bw.check_task(bw.tasks.Approximate(bw.tasks.Chain(), how), X, Y)
        assert report.n_enumerated > 0


def test_rows_of_a_sparse_matrix():
    X, Y = multiclass_data(n=10)
    task = bw.tasks.Approximate(bw.tasks.Multiclass(), bw.tasks.Multiplicative(0.5))
    given = {"max_passes": 3, "random_state": 0}
    dense, sparse = (
        bw.solve(bw.Problem(task, x, Y), LAM, "bcfw", **given) for x in (X, sp.csr_array(X))
    )
    np.testing.assert_allclose(dense.w, sparse.w, atol=1e-12)


def test_every_problem_of_the_zoo_can_be_made_worse():
    for name in ("chain-dense", "matching", *(("multiclass-dense", "tree") if ALL else ())):
        problem = PROBLEMS[name]()
        task = bw.tasks.Approximate(problem.task, bw.tasks.Multiplicative(0.7))
        result = bw.solve(bw.Problem(task, problem.X, problem.Y), LAM, "bcfw+pairwise", 1e-3,
                          max_passes=500, random_state=0)  # fmt: skip
        other = bw.solve(problem, LAM, "bcfw+pairwise", 1e-3, random_state=0)
        assert result.is_certified
        assert result.certificate.dual <= other.certificate.primal
        assert other.certificate.dual <= result.certificate.primal
