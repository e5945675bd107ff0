"""Small domains with all their vertices, which other code has listed; and gradients to try."""

from itertools import combinations, permutations, product

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from blockwolfe.optimize.domains import (
    BasePolytope,
    Birkhoff,
    Box,
    ConcaveOfCardinality,
    CutFunction,
    Flow,
    KSparse,
    L1Ball,
    L2Ball,
    NuclearBall,
    Oracle,
    Product,
    Simplex,
    Vertices,
)

RNG = np.random.default_rng(5)
POINTS = RNG.normal(size=(7, 4))
SPARSE_POINTS = sp.random_array((6, 5), density=0.4, rng=RNG, format="csr")
CUT = RNG.random((4, 4)) * (RNG.random((4, 4)) < 0.8)
ARCS = [[0, 1], [0, 2], [1, 2], [2, 1], [1, 3], [2, 3], [3, 0], [1, 2]]
LAYERED = [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [0, 3], [2, 4], [4, 3], [1, 3]]


def signed_units(n, k, radius):
    """All vectors with k entries of +radius or -radius."""
    for at in combinations(range(n), k):
        for signs in product([radius, -radius], repeat=k):
            x = np.zeros(n)
            x[list(at)] = signs
            yield x


def permutation_matrices(n):
    for order in permutations(range(n)):
        yield np.eye(n)[list(order)].ravel()


def greedy_points(f, n):
    """The vertex of every order of the elements, by calls of f alone."""
    for order in permutations(range(n)):
        x = np.zeros(n)
        for k, element in enumerate(order):
            x[element] = f(sorted(order[: k + 1])) - f(sorted(order[:k]))
        yield x


def zero_one_flows(arcs, source, target):
    """All 0/1 vectors that carry one unit from source to target."""
    arcs = np.array(arcs)
    wanted = np.zeros(arcs.max() + 1)
    wanted[source], wanted[target] = 1.0, -1.0
    for x in product([0.0, 1.0], repeat=len(arcs)):
        balance = np.zeros(len(wanted))
        for (tail, head), amount in zip(arcs, x, strict=True):
            balance[tail] += amount
            balance[head] -= amount
        if np.array_equal(balance, wanted):
            yield np.array(x)


def cut_value(members):
    rest = [j for j in range(4) if j not in members]
    return sum(CUT[i, j] for i in members for j in rest)


def coverage(members):
    """How many letters the words have; 2 more than nothing for the empty set."""
    words = ["ab", "bcd", "a", "dxyz", "cx"]
    return 2.0 + len(set().union(*(words[i] for i in members)))


def small_corners():
    """Corners of [0, 1] x [-2, 3], by a function of a user."""
    return Oracle(
        lambda g: np.array([float(g[0] < 0), 3.0 if g[1] < 0 else -2.0]),
        2,
        is_polytope=True,
        project=lambda x: np.clip(x, [0, -2], [1, 3]),
    )


BOX = ([-1.0, 0.0, 2.0], [1.0, 0.0, 5.0])

# name: (domain, its vertices)
POLYTOPES = {
    "simplex": (Simplex(5, 2.5), 2.5 * np.eye(5)),
    "one entry": (Simplex(1), np.eye(1)),
    "l1": (L1Ball(4, 0.5), 0.5 * np.vstack([np.eye(4), -np.eye(4)])),
    "box": (Box(*BOX), list(product(*zip(*BOX, strict=True)))),
    "k sparse": (KSparse(5, 2, 3.0), list(signed_units(5, 2, 3.0))),
    "k sparse, k = n": (KSparse(3, 3), list(signed_units(3, 3, 1.0))),
    "k sparse, k = 1": (KSparse(3, 1), list(signed_units(3, 1, 1.0))),
    "birkhoff": (Birkhoff(4), list(permutation_matrices(4))),
    "paths": (Flow(LAYERED, 0, 3), list(zero_one_flows(LAYERED, 0, 3))),
    "cyclic flow": (Flow(ARCS, 0, 3), list(zero_one_flows(ARCS, 0, 3))),
    "vertices": (Vertices(POINTS), POINTS),
    "sparse vertices": (Vertices(SPARSE_POINTS), SPARSE_POINTS.toarray()),
    "cut": (BasePolytope(CutFunction(CUT)), list(greedy_points(cut_value, 4))),
    "sparse cut": (
        BasePolytope(CutFunction(sp.coo_array(CUT))),
        list(greedy_points(cut_value, 4)),
    ),
    "coverage": (BasePolytope(coverage, 5), list(greedy_points(coverage, 5))),
    "concave": (
        BasePolytope(ConcaveOfCardinality(np.sqrt(np.arange(5)))),
        list(permutations(np.diff(np.sqrt(np.arange(5))))),
    ),
    "oracle": (small_corners(), list(product([0.0, 1.0], [-2.0, 3.0]))),
    "product": (
        Product([Simplex(2), Product([L1Ball(2), Simplex(3, 2.0)])]),
        [np.concatenate(x) for x in product(np.eye(2), [*np.eye(2), *-np.eye(2)], 2 * np.eye(3))],
    ),
    "product with a box": (
        Product([Simplex(2), Box(-1.0, 2.0, n=2)]),
        [np.concatenate(x) for x in product(np.eye(2), list(product([-1.0, 2.0], repeat=2)))],
    ),
}
ROUND = {
    "l2": L2Ball(4, 2.0),
    "l2 elsewhere": L2Ball(3, 0.5, center=[1.0, -2.0, 3.0]),
    "nuclear": NuclearBall((3, 4), 2.0),
    "nuclear, one row": NuclearBall((1, 3)),
    "product of round ones": Product([L2Ball(2), NuclearBall((2, 2))]),
}
ALL = {**{name: domain for name, (domain, _) in POLYTOPES.items()}, **ROUND}


def gradients(size, n=30, seed=0):
    """Zeros, ties, and normal ones from very small to very large."""
    rng = np.random.default_rng(seed)
    yield np.zeros(size)
    yield -np.zeros(size)
    yield np.ones(size)
    yield -np.ones(size)
    for scale in [1e-300, 1e-12, 1e12, 1e200, 1e300]:
        yield scale * rng.normal(size=size)
    for _ in range(n):
        yield rng.normal(size=size)
        yield rng.integers(-1, 2, size=size).astype(float)


def nearest_in_hull(x, vertices):
    """The nearest point of a hull, by a quadratic program in the weights of its vertices."""
    vertices = np.array(vertices, dtype=float)
    m = len(vertices)
    found = minimize(
        lambda a: 0.5 * np.sum((a @ vertices - x) ** 2),
        np.full(m, 1.0 / m),
        jac=lambda a: vertices @ (a @ vertices - x),
        bounds=[(0, None)] * m,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": lambda a: np.ones(m)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return found.x @ vertices
