"""Slack rescaling: the optimum of the rescaled program, and margin rescaling where they agree."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from plain_tasks import Labels
from zoo import chain_data, enumerated_optimum, hinge_terms, multiclass_data

METHODS = ["bcfw", "fw", "auto", "bcfw+gap+pairwise+cache"]
COSTS = [[0, 1, 2], [3, 0, 0.5], [1, 0.2, 0]]


def rescaled_terms(problem, i):
    return [(loss * psi, loss) for psi, loss in hinge_terms(problem, i)]


def tree_data():
    rng = np.random.default_rng(0)
    Y = [rng.integers(2, size=3) for _ in range(5)]
    X = [bw.tasks.Graph(rng.normal(size=(3, 2)), [[0, 1], [2, 1]]) for _ in Y]
    return X, Y


PROBLEMS = {
    "multiclass": lambda: (bw.tasks.Multiclass(task_loss=COSTS), *multiclass_data()),
    "chain": lambda: (bw.tasks.Chain(3), *chain_data(n=5, longest=3)),
    "tree": lambda: (bw.tasks.Tree(2), *tree_data()),
}


def slack_problem(name, **options):
    task, X, Y = PROBLEMS[name]()
    return bw.Problem(bw.tasks.SlackRescaling(task), X, Y, **options)


@pytest.mark.parametrize("name", PROBLEMS)
def test_contract(name):
    task, X, Y = PROBLEMS[name]()
    report = bw.check_task(bw.tasks.SlackRescaling(task), X, Y)
    assert report.n_enumerated == len(Y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum_equals_the_rescaled_program(name, method):
    problem, lam = slack_problem(name), 0.1
    optimum, _ = enumerated_optimum(problem, lam, terms_of=rescaled_terms)
    margin, _ = enumerated_optimum(problem, lam)
    assert abs(optimum - margin) > 1e-3  # another problem than that of the task itself
    result = bw.solve(problem, lam, method, tol=1e-3, max_passes=300, random_state=0)
    certificate = result.certificate
    assert certificate.exact
    assert certificate.dual - 1e-7 <= optimum <= certificate.primal + 1e-7
    assert certificate.relative_gap <= (0.1 if method == "fw" else 0.02)


def test_primal_is_the_rescaled_hinge():
    problem = slack_problem("chain")
    for seed in range(3):
        w = np.random.default_rng(seed).normal(size=problem.n_features)
        hinges = [
            max(loss - np.dot(w, psi) for psi, loss in rescaled_terms(problem, i))
            for i in range(len(problem))
        ]
        expected = 0.15 * np.dot(w, w) + np.mean(hinges)
        assert problem.primal(w, 0.3) == pytest.approx(expected, rel=1e-10)


def test_zero_one_losses_make_it_margin_rescaling():
    X, Y = multiclass_data()
    slack = bw.Problem(bw.tasks.SlackRescaling(bw.tasks.Multiclass()), X, Y)
    margin = bw.Problem(bw.tasks.Multiclass(), X, Y)
    w = np.random.default_rng(0).normal(size=margin.n_features)
    assert slack.primal(w, 0.1) == pytest.approx(margin.primal(w, 0.1), rel=1e-12)
    a, b = (bw.solve(p, 0.1, tol=1e-6, random_state=0) for p in (slack, margin))
    assert a.certificate.primal == pytest.approx(b.certificate.primal, abs=2e-6)
    np.testing.assert_allclose(a.w, b.w, atol=2 * np.sqrt(2e-6 / 0.1))


def test_under_bounds():
    bounds = {"transition": (0, None)}
    problem = slack_problem("chain", bounds=bounds)
    box = np.full(problem.n_features, -np.inf), np.full(problem.n_features, np.inf)
    box[0][problem.task.groups["transition"]] = 0.0
    optimum, _ = enumerated_optimum(problem, 0.1, box, terms_of=rescaled_terms)
    result = bw.solve(problem, 0.1, tol=1e-3, random_state=0)
    assert result.is_certified
    assert result.certificate.dual - 1e-7 <= optimum <= result.certificate.primal + 1e-7


def test_two_threads_give_the_same_certificate():
    problem = slack_problem("chain")
    state = bw.solve(problem, 0.1, tol=0.05, random_state=0).state
    alone, together = (bw.certify(problem, state, 0.1, n_jobs=n) for n in (1, 2))
    assert (alone.primal, alone.gap) == (together.primal, together.gap)


@pytest.mark.parametrize("name", PROBLEMS)
def test_files(tmp_path, name):
    task, X, Y = PROBLEMS[name]()
    svm = bw.StructuredSVM(bw.tasks.SlackRescaling(task, 500), lam=0.1, tol=0.05).fit(X, Y)
    svm.save(tmp_path / "model.npz")
    back = bw.load(tmp_path / "model.npz")
    assert back.task_.max_outputs == 500
    for a, b in zip(svm.predict(X), back.predict(X), strict=True):
        np.testing.assert_array_equal(a, b)


class Listed(Labels):
    def outputs(self, x):
        return range(self.n_labels)


def test_a_task_of_the_users_own():
    X, Y = multiclass_data()
    own = bw.Problem(bw.tasks.SlackRescaling(Listed(3, 4)), X, Y)
    built_in = bw.Problem(bw.tasks.SlackRescaling(bw.tasks.Multiclass(bias=False)), X, Y)
    w = np.random.default_rng(0).normal(size=12)
    assert own.primal(w, 0.1) == pytest.approx(built_in.primal(w, 0.1), rel=1e-12)


def test_too_many_outputs_are_refused_before_any_work():
    X, Y = chain_data(n=5, longest=5)
    X[3], Y[3] = np.zeros((30, 4)), np.zeros(30, dtype=int)
    with pytest.raises(bw.InputError, match=r"X\[2\] has more than 100 outputs.*max_outputs=100"):
        bw.Problem(bw.tasks.SlackRescaling(bw.tasks.Chain(3), max_outputs=100), X, Y)
    with pytest.raises(bw.InputError, match=r"X\[3\] has more than 1,000 outputs"):
        bw.Problem(bw.tasks.SlackRescaling(bw.tasks.Chain(3)), X, Y)
    with pytest.raises(bw.InputError, match=r"X\[0\] has 3 outputs"):
        bw.Problem(bw.tasks.SlackRescaling(Listed(3, 4), max_outputs=2), *multiclass_data())


def test_tasks_that_list_nothing_are_refused():
    with pytest.raises(bw.InputError, match=r"no method outputs\(x\)"):
        bw.Problem(bw.tasks.SlackRescaling(Labels(3, 4)), *multiclass_data())
    with pytest.raises(bw.OptionError, match="max_outputs=0"):
        bw.Problem(bw.tasks.SlackRescaling(Listed(3, 4), 0), *multiclass_data())


def test_examples_are_counted_as_elsewhere():
    Y = sp.csr_array(np.eye(3, dtype=int))  # (has no len)
    task = bw.tasks.SlackRescaling(bw.tasks.Multilabel()).fit(np.eye(3), Y)
    assert task.n_features == 12
    with pytest.raises(bw.InputError, match="3 examples and Y has 2"):
        bw.tasks.SlackRescaling(Listed(3, 4)).fit(np.eye(3), [0, 1])


ARCS = [(head, child) for child in (1, 2, 3) for head in range(4) if head != child]


def exact_primal(X, Y, w, lam):
    """P(w) of slack rescaling over trees of three words, in fractions."""
    task, total = bw.tasks.SpanningTree().fit(X, Y), Fraction(0)
    for x, y in zip(X, Y, strict=True):

        def score(heads, x=x):
            rows = [x.features[ARCS.index((head, c))] for c, head in enumerate(heads, start=1)]
            phi = [sum(Fraction(row[f]) for row in rows) for f in range(len(w))]
            return sum(Fraction(a) * b for a, b in zip(w, phi, strict=True))

        def hinge(heads, y=y, score=score):
            loss = Fraction(sum(a != b for a, b in zip(y, heads, strict=True)), len(y))
            return loss * (1 - score(y) + score(heads))

        total += max(hinge(heads.tolist()) for heads in task.outputs(x)) / len(X)
    return Fraction(lam) / 2 * sum(Fraction(a) ** 2 for a in w) + total


def test_resolution_counts_terms_that_cancel_in_psi():
    """Rows are small differences of sums of large features, and have the errors of these."""
    rng = np.random.default_rng(1)
    X = [bw.tasks.Arcs(rng.normal(size=(9, 2)) + 1e8, ARCS, 3) for _ in range(3)]
    Y = [[0, 1, 2], [2, 0, 2], [3, 1, 0]]
    task = bw.tasks.SlackRescaling(bw.tasks.SpanningTree(task_loss="normalized_hamming"))
    problem = bw.Problem(task, X, Y)
    result = bw.solve(problem, 0.01, "bcfw", max_passes=20, random_state=0)
    exact, certificate = exact_primal(X, Y, result.w, 0.01), result.certificate
    error = abs(float(Fraction(certificate.primal) - exact))
    assert 1e-12 < error <= certificate.resolution
