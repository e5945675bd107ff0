"""`check_domain`: the contract of a domain, tested at random gradients.

For a gradient g, atoms s(g) = minimize(g), and any atom t seen at another gradient:

    s(g) is finite, of the right size, in the set, the same at a second call; g is not changed
    <g, s(g)> <= <g, t>                              the oracle minimises
    project(x) is in the set and stays where it is;  <x - project(x), t - project(x)> <= 0
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.base.seeds import generator
from blockwolfe.base.words import counted
from blockwolfe.errors import InputError
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.base import Domain

__all__ = ["DomainReport", "check_domain"]

TOLERANCE = 1e-8  # relative to the sizes of the points and gradients that meet


@dataclass(frozen=True)
class Finding:
    """What one check found: nothing, or a sentence that names what is wrong."""

    check: str
    problem: str = ""
    is_tested: bool = True

    def __str__(self) -> str:
        if self.problem:
            return f"  WRONG  {self.check}: {self.problem}"
        return f"  {'ok   ' if self.is_tested else '?    '}  {self.check}"


@dataclass(frozen=True)
class DomainReport:
    """What `check_domain` found, a line for each check; `ok` where nothing is wrong.

    >>> DomainReport("Simplex(3)", 20, (Finding("atoms are in the set"),)).ok
    True
    """

    domain: str
    n_gradients: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether no check found a fault; a check that could not be made (?) finds none."""
        return not any(finding.problem for finding in self.findings)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, a sentence each."""
        return tuple(finding.problem for finding in self.findings if finding.problem)

    def __repr__(self) -> str:
        verdict = "is sound" if self.ok else "is WRONG"
        head = f"{self.domain} {verdict} at {counted(self.n_gradients, 'gradient')}"
        return "\n".join([head, *map(str, self.findings)])


def check_domain(domain: Domain, n_trials: int = 20, random_state: Any = 0) -> DomainReport:
    """Test a domain's oracle, and its projection where it has one.

    Parameters
    ----------
    domain : Domain
        Any set, above all one of your own.
    n_trials : int, default=20
        Number of random gradients; a zero gradient comes besides.
    random_state : int, generator or None, default=0
        Seed of the gradients.

    Returns
    -------
    DomainReport
        `ok` is whether nothing is wrong; printed, it has a line for each check.

    Examples
    --------
    >>> from blockwolfe.optimize.domains import Oracle
    >>> def highest(gradient):
    ...     return np.eye(3)[gradient.argmax()]  # should be argmin
    >>> check_domain(Oracle(highest, 3))
    Oracle(highest, 3) is WRONG at 21 gradients
      ok     minimize returns finite points of the right size
      ok     minimize does not change the gradient
      ok     minimize returns the same point for the same gradient
      ?      points are in the set (its distance is not known)
      WRONG  no point seen is better: at gradient [...] minimize returns a point with <gradient,
             point> = ..., but one found at another gradient has ...; it looks like a maximum.
    """
    if not isinstance(domain, Domain):
        raise InputError(f"domain is a {type(domain).__name__}; expected a domain.")
    check_integer("n_trials", n_trials, 1)
    rng = generator(random_state)
    gradients = [np.zeros(domain.size), *_random_gradients(domain.size, n_trials, rng)]
    return DomainReport(
        repr(domain), len(gradients), tuple(_findings(domain, gradients, rng, n_trials))
    )


def _random_gradients(size: int, n_trials: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Of many scales; every third has ties, and every third few entries that are not zero."""
    for k in range(n_trials):
        gradient = 10.0 ** rng.uniform(-3.0, 3.0) * rng.normal(size=size)
        if k % 3 == 1:
            gradient = np.sign(gradient) * (rng.random(size) < 0.7)
        elif k % 3 == 2:
            gradient *= rng.random(size) < 2.0 / size
        yield gradient


def _findings(
    domain: Domain, gradients: list[np.ndarray], rng: np.random.Generator, n_trials: int
) -> Iterator[Finding]:
    """The checks in order; those that need points come after those that may leave none."""
    atoms, problem = _atoms(domain, gradients)
    yield Finding("minimize returns finite points of the right size", problem)
    if problem:
        return
    yield Finding("minimize does not change the gradient", _changed(domain, gradients))
    yield Finding(
        "minimize returns the same point for the same gradient", _varied(domain, gradients, atoms)
    )
    points = np.array([atom.dense() for atom in [*atoms, domain.start()]])
    rounding = TOLERANCE * (float(np.linalg.norm(points, axis=1).max()) or 1.0)
    yield _inside(domain, points, rounding)
    yield Finding("no point seen is better", _beaten(gradients, points, rounding))
    if domain.n_atoms is not None:
        yield Finding("minimize_among agrees with minimize", _numbered(domain, gradients, rounding))
    if domain.has_projection:
        yield Finding(
            "project returns the nearest point", _projected(domain, points, rounding, rng, n_trials)
        )


def _atoms(domain: Domain, gradients: list[np.ndarray]) -> tuple[list[Atom], str]:
    """The atom at every gradient, and what is wrong with the first that is."""
    atoms: list[Atom] = []
    for gradient in gradients:
        try:
            atom = domain.minimize(gradient.copy())
        except Exception as error:  # (whatever a user's function raises is what is wrong with it)
            return [], f"at gradient {_shown(gradient)} {type(error).__name__}: {error}"
        problem = _misfit(domain, atom)
        if problem:
            return [], f"at gradient {_shown(gradient)} it returns {problem}"
        atoms.append(atom)
    return atoms, ""


def _misfit(domain: Domain, atom: Any) -> str:
    if not isinstance(atom, Atom):
        return f"a {type(atom).__name__}; expected an Atom."
    n_entries = len(atom.value) if atom.index is None else atom.size
    if atom.size != domain.size or n_entries != domain.size:
        return f"a point of {n_entries} entries; expected {domain.size}."
    if not np.isfinite(atom.value).all():
        return "a point with entries that are NaN or infinite."
    return ""


def _changed(domain: Domain, gradients: list[np.ndarray]) -> str:
    for gradient in gradients:
        given = gradient.copy()
        domain.minimize(given)
        if not np.array_equal(given, gradient):
            return f"it wrote to gradient {_shown(gradient)}; work on a copy instead."
    return ""


def _varied(domain: Domain, gradients: list[np.ndarray], atoms: list[Atom]) -> str:
    for gradient, atom in zip(gradients, atoms, strict=True):
        if domain.minimize(gradient.copy()) != atom:
            return (
                f"at gradient {_shown(gradient)} two calls return different points; break ties in "
                "one way, and seed what is random."
            )
    return ""


def _inside(domain: Domain, points: np.ndarray, rounding: float) -> Finding:
    """Atoms, where a run starts, and the mean of all, as the set is convex."""
    check, is_tested = "points are in the set", True
    for point in [*points, points.mean(axis=0)]:
        distance = domain.distance(point)
        if distance > rounding:
            return Finding(check, f"{_shown(point)} is at distance {distance:.3g} from it.")
        is_tested = is_tested and not np.isnan(distance)
    return Finding(check if is_tested else f"{check} (its distance is not known)", "", is_tested)


def _beaten(gradients: list[np.ndarray], points: np.ndarray, rounding: float) -> str:
    """The first gradient at which another point is lower by more than rounding."""
    for gradient, point in zip(gradients, points, strict=False):
        values = points @ gradient
        own, off = float(point @ gradient), rounding * float(np.linalg.norm(gradient))
        if values.min() < own - off:
            is_highest = own > values.max() - off
            return (
                f"at gradient {_shown(gradient)} minimize returns a point with <gradient, point> = "
                f"{own:.6g}, but one found at another gradient has {values.min():.6g}"
                f"{'; it looks like a maximum.' if is_highest else '.'}"
            )
    return ""


def _numbered(domain: Domain, gradients: list[np.ndarray], rounding: float) -> str:
    """The first gradient at which the best of all numbered atoms is not what minimize returns."""
    numbers = np.arange(domain.n_atoms or 0)
    for gradient in gradients:
        among = domain.minimize_among(gradient.copy(), numbers)
        off = abs(among.dot(gradient) - domain.minimize(gradient.copy()).dot(gradient))
        if off > rounding * np.linalg.norm(gradient):
            return (
                f"at gradient {_shown(gradient)} minimize_among all atoms is off by {off:.3g} from "
                "minimize."
            )
    return ""


def _projected(
    domain: Domain, points: np.ndarray, rounding: float, rng: np.random.Generator, n_trials: int
) -> str:
    """What is wrong with the first projection that is, of points around and beyond the set."""
    spread = rounding / TOLERANCE
    for _ in range(n_trials):
        away = spread * 10.0 ** rng.uniform(-2.0, 1.0) * rng.normal(size=domain.size)
        x = points.mean(axis=0) + away
        given = x.copy()
        y = domain.project(given)
        if not np.array_equal(given, x):
            return f"it wrote to x = {_shown(x)}; work on a copy instead."
        if np.linalg.norm(domain.project(y.copy()) - y) > rounding:
            return f"a second projection moves project({_shown(x)}) on."
        if domain.distance(y) > rounding:
            return f"project({_shown(x)}) is not in the set."
        # No point of the set is on the side of y where x is.
        if ((points - y) @ (x - y)).max() > rounding * np.linalg.norm(x - y):
            return f"a point of the set is nearer to {_shown(x)} than its projection."
    return ""


def _shown(vector: np.ndarray) -> str:
    return np.array2string(vector, precision=4, threshold=6, separator=", ").replace("\n", "")
