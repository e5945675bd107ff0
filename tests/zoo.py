"""Small problems of every kind, shared by the tests, and answers found by other means."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace

import numpy as np
import scipy.optimize
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.methods.registry import as_method
from blockwolfe.problem.bounds import box_of
from blockwolfe.rules.registry import known, words_of
from blockwolfe.tasks.reading.vectors import dense_features
from blockwolfe.tasks.toy import toy_problem
from plain_tasks import ListedLabels, Tags


class PlainTask:
    """Any task seen only through its four methods: what a user writes in Python."""

    def __init__(self, task):
        self.task = task
        self.n_features = task.n_features

    def features(self, x, y):
        return self.task.features(x, y)

    def loss(self, y, y_hat):
        return self.task.loss(y, y_hat)

    def decode(self, x, w):
        return self.task.decode(x, w)

    def augmented_decode(self, x, y, w):
        return self.task.augmented_decode(x, y, w)

    def outputs(self, x):
        return self.task.outputs(x)


def multiclass_data(n=12, n_labels=3, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    Y = np.concatenate([np.arange(n_labels), rng.integers(n_labels, size=n - n_labels)])
    X = rng.normal(size=(n_labels, n_features))[Y] + rng.normal(size=(n, n_features))
    X[rng.random(X.shape) < 0.3] = 0.0
    return X, Y


def chain_data(n=8, n_labels=3, n_features=4, longest=5, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_labels, n_features))
    X, Y = [], []
    for i in range(n):
        y = rng.integers(n_labels, size=1 + (i * 7) % longest)
        x = means[y] + rng.normal(size=(len(y), n_features))
        x[rng.random(x.shape) < 0.3] = 0.0
        X.append(x)
        Y.append(y)
    return X, Y


def token_dicts():
    words = [["the", "cat", "sat"], ["a", "dog"], ["cat"], ["the", "dog", "sat", "down"]]
    tags = [["D", "N", "V"], ["D", "N"], ["N"], ["D", "N", "V", "P"]]
    X = [[{"w": w, "len": len(w) / 5, "end": w[-1:]} for w in sentence] for sentence in words]
    return X, tags


def masked_chain_data():
    X, Y = chain_data()
    rng = np.random.default_rng(1)
    masks = [(rng.random((len(y), 3)) < 0.6) | np.eye(3, dtype=bool)[y] for y in Y]
    return [bw.tasks.Masked(x, mask) for x, mask in zip(X, masks, strict=True)], Y


def plain(problem):
    """The same problem through the four Python methods only."""
    return bw.Problem(PlainTask(problem.task), problem.X, problem.Y)


SHARE = "normalized_hamming"  # losses of at most 1, so that tolerances are gaps


def _chain(**options):
    return bw.tasks.Chain(3, **{"task_loss": SHARE} | options)


def _toy():
    toy = toy_problem(n=6, n_labels=4)
    return bw.Problem(toy.task, toy.X, toy.Y)


def _long_chain():
    """Sequences long enough to do without a Gram matrix."""
    X, Y = chain_data(n=3, n_features=1, longest=2)
    rng = np.random.default_rng(3)
    Y.append(rng.integers(3, size=60))
    X.append(rng.normal(size=(60, 1)))
    return bw.Problem(_chain(), X, Y)


def _weighted():
    X, Y = chain_data()
    return bw.Problem(_chain(), X, Y, sample_weight=[1, 2, 0, 3, 1, 1, 5, 1])


def _sparse_chain():
    X, Y = chain_data()
    return bw.Problem(_chain(), [sp.csr_array(x) for x in X], Y)


def _labels_python():
    """The same problem as multiclass-dense, by a task that takes no time."""
    X, Y = multiclass_data()
    return bw.Problem(ListedLabels(3, 5), [np.append(x, 1.0) for x in X], Y.tolist())


def tree_data(n=8, n_labels=3, n_features=3, largest=4, seed=0):
    """Trees and forests with edge features."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_labels, n_features))
    X, Y = [], []
    for i in range(n):
        y = rng.integers(n_labels, size=1 + i % largest)
        edges = [(int(rng.integers(t)), t) for t in range(1, len(y)) if rng.random() < 0.8]
        edges = np.array(edges, dtype=int).reshape(-1, 2)
        nodes = means[y] + rng.normal(size=(len(y), n_features))
        X.append(bw.tasks.Graph(nodes, edges, rng.normal(size=(len(edges), 2))))
        Y.append(y)
    return X, Y


def matching_data(n=8, largest=3, seed=0):
    """All links between two small sides; the truth is a matching of some of them."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for i in range(n):
        shape = (1 + i % largest, 1 + (i // 2) % largest)
        size = int(rng.integers(0, min(shape) + 1))
        links = np.stack([rng.permutation(side)[:size] for side in shape], axis=1)
        features = rng.normal(size=(shape[0] * shape[1], 3))
        features[links[:, 0] * shape[1] + links[:, 1]] += 1.0
        X.append(bw.tasks.Links(features, None, shape))
        Y.append(links)
    return X, Y


LOOPS = [
    (1, []),
    (3, [(0, 1), (1, 2), (2, 0)]),
    (4, [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (0, 2)]),
    (5, [(4, 0), (0, 1), (2, 1), (2, 3), (3, 4)]),  # (a ring, edges both ways)
    (5, [(3, 1)]),
]


def grid(height, width):
    node = np.arange(height * width).reshape(height, width)
    beside = np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()], axis=1)
    below = np.stack([node[:-1].ravel(), node[1:].ravel()], axis=1)
    return height * width, np.concatenate([beside, below]).tolist()


def graphs(task, shapes, n_labels, is_masked=False):
    """Graphs with cycles, and edge features >= 0, as cuts need them."""
    rng = np.random.default_rng(6)
    X, Y = [], []
    for n, edges in shapes:
        y = rng.integers(n_labels, size=n)
        allowed = (rng.random((n, n_labels)) < 0.6) | np.eye(n_labels, dtype=bool)[y]
        ends, features = np.array(edges, dtype=int).reshape(-1, 2), rng.random((len(edges), 2))
        nodes = rng.normal(size=(n, 3))
        X.append(bw.tasks.Graph(nodes, ends, features, allowed=allowed if is_masked else None))
        Y.append(y)
    return bw.Problem(task, X, Y)


PROBLEMS = {
    "multiclass-dense": lambda: bw.Problem(bw.tasks.Multiclass(), *multiclass_data()),
    "multiclass-sparse": lambda: bw.Problem(
        bw.tasks.Multiclass(bias=False),
        sp.csr_array(multiclass_data()[0]),
        multiclass_data()[1],
    ),
    "multiclass-costs": lambda: bw.Problem(
        bw.tasks.Multiclass(task_loss=[[0, 1, 2], [3, 0, 1], [1, 1, 0]]), *multiclass_data()
    ),
    "chain-dense": lambda: bw.Problem(_chain(), *chain_data()),
    "chain-sparse": _sparse_chain,
    "chain-dicts": lambda: bw.Problem(bw.tasks.Chain(), *token_dicts()),
    "chain-masked": lambda: bw.Problem(_chain(), *masked_chain_data()),
    "chain-weighted": _weighted,
    "chain-long": _long_chain,
    "chain-bare": lambda: bw.Problem(
        _chain(transition=False, first=False, last=False, bias=False), *chain_data()
    ),
    "chain-second-order": lambda: bw.Problem(_chain(order=2), *masked_chain_data()),
    "chain-unnormalised": lambda: bw.Problem(
        _chain(task_loss=bw.tasks.Hamming(normalize=False, class_weight={0: 2.0})), *chain_data()
    ),
    "tree": lambda: bw.Problem(bw.tasks.Tree(3, task_loss=SHARE), *tree_data()),
    "matching": lambda: bw.Problem(bw.tasks.Matching(normalize=True), *matching_data()),
    "toy-jitted": _toy,
    "multiclass-python": _labels_python,
    "chain-python": lambda: bw.Problem(Tags(3, 4), *chain_data()),
    "toy-python": lambda: plain(_toy()),
}


def bounded(problem):
    """Bounds of every kind for a problem: two-sided, one-sided, none, and one that excludes zero."""
    rng = np.random.default_rng(5)
    d = problem.n_features
    lower = rng.choice([-np.inf, -0.3, 0.0], size=d)
    upper = rng.choice([np.inf, 0.2, 0.0], size=d)
    lower[0], upper[0] = 0.05, 0.1
    return lower, upper


COMBINATIONS = [
    "bcfw+uniform",
    "bcfw+permutation",
    "bcfw+cyclic",
    "bcfw+predefined",
    "bcfw+averaging",
    "bcfw+gap+pairwise+cache",
    "bcfw+blended",
    "fw",
    "fw+predefined",
]
# What goes by the cost of oracle calls has tests of its own: a compiled task and its twin in
# Python may then take different steps.
BY_COST = ["auto", "multiplane"]


def uncovered(combinations):
    """Combinations of all words in the registry that are in none of those given."""
    seen = {word for method in combinations for word in _words(method)}
    for name, method in known("method").items():
        if name in BY_COST:
            continue
        missing = {}  # by the options that a word sets: words of different ones go together
        for word, sets in words_of(method):
            is_new = (name, word) not in seen and word not in BY_COST
            if is_new and replace(method(), **sets) != method():
                missing.setdefault(tuple(sets), []).append(word)
        found = [
            "+".join([name, *filter(None, w)]) for w in itertools.zip_longest(*missing.values())
        ]
        yield from found or ([] if (name, "") in seen else [name])


def _words(method):
    name, *words = method.split("+")
    return [(name, ""), *((name, word) for word in words)]


# A method, step or sampling that is registered is tested here, with no other line than its own.
_ALL = [*COMBINATIONS, *uncovered(COMBINATIONS)]
_ALL = [method for method in _ALL if as_method(method).needs == ("maximize",)]
METHODS = [method for method in _ALL if as_method(method).has_dual]
PRIMAL_METHODS = [method for method in _ALL if not as_method(method).has_dual]


@functools.lru_cache(maxsize=1000)
def hinge_terms(problem, i):
    """(psi_i(y), L_i(y)) of every output of example i, by enumeration."""
    task, x, y = problem.task, problem.X[i], problem.Y[i]
    truth = dense_features(task, x, y, i)
    return [
        (truth - dense_features(task, x, other, i), task.loss(y, other))
        for other in itertools.chain([y], task.outputs(x))
    ]


@functools.cache
def corners_of(name):
    """(psi_i(y), L_i(y)) of all outputs of every block of a problem here, a row each."""
    problem = PROBLEMS[name]()
    terms = (hinge_terms(problem, i) for i in range(len(problem)))
    return [np.array([[*psi, loss] for psi, loss in found]) for found in terms]


def enumerated_primal(problem, w, lam):
    """(1) with every maximum taken by enumeration."""
    hinges = [
        max(loss - np.dot(w, psi) for psi, loss in hinge_terms(problem, i))
        for i in range(len(problem))
    ]
    return lam / 2 * np.dot(w, w) + np.dot(problem.weight, hinges)


def enumerated_optimum(problem, lam, bounds=None, terms_of=hinge_terms):
    """The optimum of (1), w within bounds, as a quadratic program over (w, slacks)."""
    n, d = len(problem), problem.n_features
    bounds = box_of(bounds, problem.task, d)
    terms = [(i, psi, loss) for i in range(n) for psi, loss in terms_of(problem, i)]
    # loss - <w, psi> - xi_i <= 0
    A = np.zeros((len(terms), d + n))
    b = np.array([loss for _, _, loss in terms])
    for row, (i, psi, _) in enumerate(terms):
        A[row, :d], A[row, d + i] = psi, 1.0

    def objective(z):
        return lam / 2 * np.dot(z[:d], z[:d]) + np.dot(problem.weight, z[d:])

    def gradient(z):
        return np.concatenate([lam * z[:d], problem.weight])

    w, slack = np.zeros(d), b.max()
    box = None
    if len(bounds[0]):
        w, slack = np.clip(w, *bounds), b.max() + 1.0  # (w = 0 may be outside)
        box = scipy.optimize.Bounds(
            np.concatenate([bounds[0], np.full(n, -np.inf)]),
            np.concatenate([bounds[1], np.full(n, np.inf)]),
        )
    for ftol in (1e-14, 1e-12, 1e-10):  # (the first may be below what rounding allows)
        found = scipy.optimize.minimize(
            objective,
            np.concatenate([w, np.full(n, slack)]),
            jac=gradient,
            constraints={"type": "ineq", "fun": lambda z: A @ z - b, "jac": lambda z: A},
            method="SLSQP",
            bounds=box,
            options={"maxiter": 2000, "ftol": ftol},
        )
        if found.success:
            break
    assert found.success, found.message
    return found.fun, found.x[:d]
