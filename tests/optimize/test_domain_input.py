"""Bad arguments of domains are refused at once, with a sentence that says what is wanted."""

import numpy as np
import pytest
import scipy.sparse as sp

from blockwolfe.errors import BlockwolfeError, InputError, OptionError
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
from small_domains import ALL

NOT_LENGTHS = [0, -1, 2.0, True, None, "3", [3], np.nan]
NOT_RADII = [0, -1.0, np.nan, np.inf, None, "1", True, [1.0], 1j]


@pytest.mark.parametrize("n", NOT_LENGTHS, ids=repr)
@pytest.mark.parametrize(
    "make",
    [
        Simplex,
        L1Ball,
        L2Ball,
        Birkhoff,
        lambda n: KSparse(n, 1),
        lambda k: KSparse(5, k),
        lambda n: BasePolytope(len, n),
    ],
)
def test_lengths(make, n):
    with pytest.raises(OptionError, match="must be an integer >= 1"):
        make(n)


@pytest.mark.parametrize("radius", NOT_RADII, ids=repr)
@pytest.mark.parametrize(
    "make",
    [
        lambda r: Simplex(3, r),
        lambda r: L1Ball(3, r),
        lambda r: L2Ball(3, r),
        lambda r: KSparse(3, 2, r),
        lambda r: NuclearBall((2, 2), r),
    ],
)
def test_radii(make, radius):
    with pytest.raises(OptionError, match="radius=.* must be a finite number > 0"):
        make(radius)


BAD = {
    "k > n": (lambda: KSparse(3, 4), "k=4 must be at most n=3"),
    "box, swapped": (lambda: Box([0.0, 1.0], [1.0, 0.0]), r"lower\[1\]=1 is above upper\[1\]=0"),
    "box, infinite": (lambda: Box(0.0, [1.0, np.inf]), "upper has infinite.*give finite bounds"),
    "box, NaN": (lambda: Box([0.0, np.nan], 1.0), "lower has 1 entry that is NaN"),
    "box, empty": (lambda: Box([], []), "lower is empty"),
    "box, no length": (lambda: Box(0.0, 1.0), "by n="),
    "box, two shapes": (lambda: Box([0.0, 0.0], [1.0, 1.0, 1.0]), r"lower has shape \(2,\)"),
    "box, another n": (lambda: Box([0.0, 0.0], 1.0, n=3), "and n=3"),
    "box, n=0": (lambda: Box(0.0, 1.0, n=0), "n=0"),
    "box, words": (lambda: Box("0", "1", n=2), "lower holds str"),
    "box, None": (lambda: Box(None, 1.0, n=2), "lower holds object"),
    "box, complex": (lambda: Box(1j, 1.0, n=2), "lower holds complex entries"),
    "center, length": (
        lambda: L2Ball(2, center=[0.0]),
        r"center has shape \(1,\); expected \(2,\)",
    ),
    "center, NaN": (lambda: L2Ball(2, center=[0.0, np.nan]), "center has 1 entry"),
    "center, words": (lambda: L2Ball(1, center=["a"]), "center holds str"),
    "shape, one": (lambda: NuclearBall(3), "shape=3 has 1 lengths; expected 2"),
    "shape, three": (lambda: NuclearBall((1, 2, 3)), "3 lengths; expected 2"),
    "shape, zero": (lambda: NuclearBall((0, 2)), "shape=0 must be an integer >= 1"),
    "shape, word": (lambda: NuclearBall(("a", 2)), "shape='a'"),
    "arcs, empty": (lambda: Flow([], 0, 1), "arcs has shape"),
    "arcs, three columns": (lambda: Flow([[0, 1, 2]], 0, 1), r"shape \(1, 3\)"),
    "arcs, floats": (lambda: Flow([[0.0, 1.0]], 0, 1), "float64; expected integers"),
    "arcs, ragged": (lambda: Flow([[0, 1], [1]], 0, 1), "ragged"),
    "arcs, negative": (lambda: Flow([[0, -1]], 0, 1), "name node -1"),
    "arcs, loop": (lambda: Flow([[0, 1], [1, 1]], 0, 1), r"arcs\[1\] joins node 1 with itself"),
    "arcs, nodes": (lambda: Flow([[0, 5]], 0, 1, n_nodes=3), "name node 5, but n_nodes=3"),
    "source, none": (lambda: Flow([[0, 1]], 7, 1), "source=7 is no node"),
    "source, word": (lambda: Flow([[0, 1]], "a", 1), "source='a' must be an integer"),
    "source = target": (lambda: Flow([[0, 1]], 1, 1), "both 1"),
    "no path": (lambda: Flow([[0, 1]], 1, 0), "no path goes from source 1 to target 0"),
    "no path over nothing": (lambda: Flow([[0, 1]], 0, 2, n_nodes=3), "no path"),
    "V, vector": (lambda: Vertices([1.0, 2.0]), r"V has shape \(2,\); expected a matrix"),
    "V, empty": (lambda: Vertices(np.empty((0, 3))), "V is empty"),
    "V, ragged": (lambda: Vertices([[1.0], [1.0, 2.0]]), "V is ragged"),
    "V, NaN": (lambda: Vertices([[1.0, np.nan]]), "V has 1 entry"),
    "V, objects": (lambda: Vertices(np.array([[None, 1]])), "V holds object"),
    "V, sparse NaN": (lambda: Vertices(sp.csr_array([[np.nan, 0.0]])), "V has 1 entry"),
    "V, sparse and empty": (lambda: Vertices(sp.csr_array((0, 3))), "not empty"),
    "f, no function": (lambda: BasePolytope(3, 3), "f=3 must be a function"),
    "f, another n": (lambda: BasePolytope(CutFunction(np.eye(3)), 4), "on 3 elements"),
    "f, NaN at the empty set": (lambda: BasePolytope(lambda a: np.nan, 2), r"f\(\[\]\) is nan"),
    "weights, shape": (lambda: CutFunction(np.ones((2, 3))), r"\(2, 3\); expected a row"),
    "weights, negative": (lambda: CutFunction([[0.0, -1.0], [0.0, 0.0]]), "weights has -1"),
    "weights, sparse negative": (lambda: CutFunction(-sp.eye_array(2)), "weights has -1"),
    "weights, NaN": (lambda: CutFunction([[np.nan]]), "weights has 1 entry"),
    "values, convex": (lambda: ConcaveOfCardinality([0.0, 1.0, 3.0]), "not concave"),
    "values, one": (lambda: ConcaveOfCardinality([0.0]), r"\(n \+ 1,\)"),
    "oracle, no function": (lambda: Oracle(3, 3), "f=3 must be a function"),
    "oracle, size": (lambda: Oracle(len, 0), "size=0 must be an integer >= 1"),
    "oracle, no size": (lambda: Oracle(len, ()), r"size=\(\) has 0 lengths"),
    "oracle, flag": (lambda: Oracle(len, 3, is_polytope="yes"), "must be True or False"),
    "oracle, project": (lambda: Oracle(len, 3, project=1), "project=1"),
    "product, empty": (lambda: Product([]), "domains is empty"),
    "product, number": (lambda: Product(3), "expected a list of domains"),
    "product, domain": (lambda: Product(Simplex(3)), "expected a list of domains"),
    "product, member": (lambda: Product([Simplex(3), 4]), r"domains\[1\] is a int"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_named(name):
    make, message = BAD[name]
    with pytest.raises(BlockwolfeError, match=message):
        make()


@pytest.mark.parametrize("name", ALL)
def test_bad_gradients_and_points(name):
    domain = ALL[name]
    size = domain.size
    bad = [np.zeros(size + 1), np.zeros((1, size)), np.full(size, np.nan), np.full(size, np.inf)]
    bad += [["a"] * size, [None] * size, np.zeros(size) + 1j, None]
    one = np.zeros(size)
    one[-1] = np.nan
    two = np.full(size, 1e300)
    two[0] = np.inf
    for vector in [*bad, one, two]:
        with pytest.raises(InputError, match="gradient"):
            domain.minimize(vector)
        with pytest.raises(InputError, match="x"):
            domain.distance(vector)
        if domain.has_projection:
            with pytest.raises(InputError, match="x"):
                domain.project(vector)


@pytest.mark.parametrize("numbers", [[], [0.0], ["a"], [[0]], [-1], [99], 0, None])
@pytest.mark.parametrize("name", ["simplex", "l1", "vertices"])
def test_bad_numbers(name, numbers):
    domain = ALL[name]
    with pytest.raises(InputError, match="numbers"):
        domain.minimize_among(np.zeros(domain.size), numbers)


@pytest.mark.parametrize("name", ["simplex", "l1", "vertices", "sparse vertices"])
def test_numbers_that_no_atom_has(name):
    for number in (-1, ALL[name].n_atoms):
        with pytest.raises(InputError):
            ALL[name].atom(number)


def test_infinite_entries_are_seen_among_some_numbers():
    with pytest.raises(InputError, match="gradient"):
        Simplex(3).minimize_among(np.array([0.0, np.nan, 1.0]), np.array([1, 2]))


@pytest.mark.parametrize("name", ["box", "birkhoff", "product", "l2"])
def test_domains_without_numbers(name):
    domain = ALL[name]
    assert domain.n_atoms is None
    for call in (lambda: domain.minimize_among(np.zeros(domain.size), [0]), lambda: domain.atom(0)):
        with pytest.raises(OptionError, match="are not numbered"):
            call()


def test_arguments_are_copied():
    lower, points, weights = np.zeros(2), np.eye(2), np.ones((2, 2))
    box, hull, cut = Box(lower, 1.0), Vertices(points), CutFunction(weights)
    lower[:], points[:], weights[:] = 9.0, 9.0, 9.0
    assert box.minimize(np.ones(2)).dense().tolist() == [0.0, 0.0]
    assert hull.minimize(np.array([1.0, 0.0])).dense().tolist() == [0.0, 1.0]
    assert cut(np.array([0])) == 1.0
    data = sp.csr_array(np.eye(2))
    hull = Vertices(data)
    data.data[:] = 9.0
    assert hull.atom(0).dense().tolist() == [1.0, 0.0]
