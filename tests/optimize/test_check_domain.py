"""`check_domain` finds nothing wrong with what is right, and names what is wrong."""

import numpy as np
import pytest

from blockwolfe.errors import InputError, OptionError
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains import (
    BasePolytope,
    Domain,
    Oracle,
    Simplex,
    Vertices,
    check_domain,
)
from small_domains import ALL


@pytest.mark.parametrize("name", ALL)
def test_right_domains_are_sound(name):
    report = check_domain(ALL[name], n_trials=30)
    assert report.ok, report
    assert report.problems == ()
    assert "is sound" in repr(report)


@pytest.mark.parametrize("radius", [1e-9, 1e9])
def test_small_and_large_sets(radius):
    assert check_domain(Simplex(4, radius)).ok
    far = Oracle(
        lambda g: radius * 1.1 * np.eye(4)[g.argmin()], 4, project=Simplex(4, radius).project
    )
    assert "is at distance" in check_domain(far).problems[0]


def corner(gradient):
    return np.eye(3)[gradient.argmin()]


def changing():
    rng = np.random.default_rng(0)
    return lambda gradient: np.eye(3)[rng.integers(3)] if not gradient.any() else corner(gradient)


def writing(gradient):
    gradient *= -1.0
    return np.eye(3)[gradient.argmax()]


simplex = Simplex(3)
WRONG = {
    "maximum": (lambda g: np.eye(3)[g.argmax()], None, "it looks like a maximum"),
    "one point": (lambda g: np.eye(3)[0] if g[0] > 0 else corner(g), None, "another gradient has"),
    "infeasible": (lambda g: 1.5 * corner(g), simplex.project, "at distance"),
    "NaN": (lambda g: corner(g) * np.nan, None, "NaN or infinite"),
    "inf at zero": (lambda g: -g / np.linalg.norm(g), None, "NaN or infinite"),
    "length": (lambda g: corner(g)[:2], None, "size 2; expected (3,)"),
    "shape": (lambda g: corner(g)[:, None], None, "size (3, 1)"),
    "nothing": (lambda g: None, None, "returned NoneType"),
    "words": (lambda g: ["a", "b", "c"], None, "returned list"),
    "ragged": (lambda g: [[1], [1, 2]], None, "returned list"),
    "in place": (writing, None, "wrote to its argument; work on a copy"),
    "raises": (lambda g: g[7], None, "IndexError"),
    "another size of atom": (lambda g: Atom.unit(4, 0), None, "size 4"),
    "changing": (changing(), None, "two calls return different points"),
    "halfway": (corner, lambda x: 0.5 * (x + simplex.project(x)), "a second projection"),
    "no projection": (corner, lambda x: np.full(3, 1 / 3), "at distance"),
    "not nearest": (
        lambda g: np.where(g < 0.0, 1.0, -1.0),
        lambda x: x if abs(x).max() <= 1.0 else x / abs(x).max(),
        "nearer",
    ),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("name", WRONG)
def test_wrong_oracles_are_named(name):
    f, project, expected = WRONG[name]
    report = check_domain(Oracle(f, 3, project=project))
    assert not report.ok
    assert any(expected in problem for problem in report.problems), report
    assert "WRONG" in repr(report)


class Own(Domain):
    """A domain of a user, right but for what a test puts in its place."""

    has_projection = True

    def minimize(self, gradient):
        return Atom.unit(3, int(gradient.argmin()))

    def project(self, x):
        return simplex.project(x)


@pytest.mark.parametrize("answer", [np.ones(3), None, 3.0])
def test_a_domain_that_returns_no_atom(answer):
    class Wrong(Own):
        def minimize(self, gradient):
            return answer

    assert "expected an Atom" in check_domain(Wrong((3,))).problems[0]


def test_a_domain_of_a_user():
    assert check_domain(Own((3,))).ok

    class Writing(Own):
        def minimize(self, gradient):
            gradient -= gradient.min()
            return super().minimize(gradient)

        def project(self, x):
            y = simplex.project(x)
            x[:] = y
            return y

    gradient, x = check_domain(Writing((3,))).problems
    assert "wrote to gradient" in gradient
    assert "wrote to x" in x

    class Short(Own):
        def minimize(self, gradient):
            return Atom.unit(2, 0)

    assert "2 entries; expected 3" in check_domain(Short((3,))).problems[0]


def test_numbered_atoms_are_compared():
    class Wrong(Vertices):
        def minimize_among(self, gradient, numbers):
            return self.atom(int(numbers[0]))

    assert "minimize_among" in check_domain(Wrong(np.eye(3))).problems[0]


def test_functions_that_are_not_submodular():
    report = check_domain(BasePolytope(lambda members: float(len(members)) ** 2, 4))
    assert not report.ok
    assert "at distance" in report.problems[0]


def test_what_cannot_be_told_is_marked():
    report = check_domain(Oracle(corner, 3))
    assert report.ok
    assert "?      points are in the set (its distance is not known)" in repr(report)


def test_bad_arguments():
    with pytest.raises(InputError, match="expected a domain"):
        check_domain("Simplex")
    with pytest.raises(OptionError, match="n_trials=0"):
        check_domain(simplex, n_trials=0)
    with pytest.raises(OptionError, match="random_state"):
        check_domain(simplex, random_state="today")
