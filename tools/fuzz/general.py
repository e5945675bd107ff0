"""Problems of the general form: `optimize.minimize` over sets whose vertices are listed here.

The judge shares no code with the package. Every set is the hull of a list of vertices, f is a
quadratic (or a sum of logistic losses), and whatever x a run returns, the list tells with more
digits f(x), the Frank-Wolfe gap at x, and with it a lower bound on the minimum.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from blockwolfe import optimize
from blockwolfe.optimize.methods.base import as_optimizer
from blockwolfe.rules.registry import known
from tools.fuzz.common import note, require

__all__ = ["run_case"]

Real = np.longdouble
# Rounding errors are allowed to be so many times the resolution that a certificate states.
ROUNDINGS = 8.0
TOLERANCES = (1e-2, 1e-5, 1e-9)
MOST_PASSES = 300


class Listed(NamedTuple):
    """A set, and all its vertices."""

    domain: Any
    vertices: np.ndarray


def run_case(seed: int, folder: Path) -> None:
    """One problem, by one method, perhaps gone on with by another or from a file."""
    rng = np.random.default_rng([seed, 7])
    sets = [_set(rng) for _ in range(int(rng.integers(1, 5)))]
    is_product = len(sets) > 1
    domain = optimize.Product([each.domain for each in sets]) if is_product else sets[0].domain
    judge, objective = _objective(rng, [each.vertices for each in sets])
    method, tol = _method(rng, domain, objective), float(rng.choice(TOLERANCES))
    note(method=method, details={"domain": repr(domain), "tol": tol})
    settings: dict[str, Any] = {"random_state": int(rng.integers(1000)), "max_passes": MOST_PASSES}
    values: list[float] = []
    if as_optimizer(method).is_monotone:
        settings["callbacks"] = [lambda event: values.append(judge.value(event.x.ravel()))]
    if rng.random() < 0.2:
        settings["checkpoint"] = folder / "run.npz"
    result = optimize.minimize(objective, domain, method, tol * judge.unit, **settings)
    note(status=result.status.name)
    judge.look_at(result, tol * judge.unit)
    judge.see_falling(values, judge.slip(result))
    if "checkpoint" in settings or rng.random() < 0.3:
        settings.pop("callbacks", None)
        start = {} if "checkpoint" in settings else {"start": result}
        if start and rng.random() < 0.5:  # (from blocks to the whole, or back)
            other = _method(rng, domain, objective)
            method = other if result.active_sets is not None or not _needs_atoms(other) else method
            note(method=f"{method}, after another")
        again = optimize.minimize(objective, domain, method, tol * judge.unit, **settings, **start)
        judge.look_at(again, tol * judge.unit)
        off = again.value - result.value
        has_risen = as_optimizer(method).is_monotone and off > judge.slip(result)
        require(not has_risen, f"going on has raised f by {off:g}")


# -- what is drawn -------------------------------------------------------------------------------


def _set(rng: np.random.Generator) -> Listed:
    n, radius = int(rng.integers(1, 6)), float(10.0 ** rng.uniform(-2, 2))
    kind = str(rng.choice(list(SETS)))
    note(domain=kind)
    return SETS[kind](rng, n, radius)


def _box(rng: np.random.Generator, n: int, radius: float) -> Listed:
    lower = radius * rng.normal(size=n)
    upper = lower + radius * rng.random(n) * (rng.random(n) < 0.8)
    corners = np.array(list(itertools.product(*zip(lower, upper, strict=True))))
    return Listed(optimize.Box(lower, upper), corners)


def _k_sparse(rng: np.random.Generator, n: int, radius: float) -> Listed:
    k = int(rng.integers(1, n + 1))
    signs = [np.array(s) for s in itertools.product((-1.0, 0.0, 1.0), repeat=n)]
    corners = np.array([s for s in signs if np.count_nonzero(s) == k])
    return Listed(optimize.KSparse(n, k, radius), radius * corners)


def _birkhoff(rng: np.random.Generator, n: int, radius: float) -> Listed:
    n = min(n, 3)
    orders = itertools.permutations(range(n))
    corners = np.array([np.eye(n)[list(order)].ravel() for order in orders])
    return Listed(optimize.Birkhoff(n), corners)


def _points(rng: np.random.Generator, n: int, radius: float) -> np.ndarray:
    V = radius * rng.normal(size=(int(rng.integers(1, 8)), n))
    is_repeated = rng.random() < 0.3
    return V[rng.integers(len(V), size=len(V))] if is_repeated else V


def _vertices(rng: np.random.Generator, n: int, radius: float) -> Listed:
    V = _points(rng, n, radius)
    return Listed(optimize.Vertices(sp.csr_array(V) if rng.random() < 0.5 else V), V)


def _oracle(rng: np.random.Generator, n: int, radius: float) -> Listed:
    V = _points(rng, n, radius)
    own = optimize.Oracle(lambda gradient: V[int(np.argmin(V @ gradient))], n, is_polytope=True)
    return Listed(own, V)


SETS: dict[str, Callable[[np.random.Generator, int, float], Listed]] = {
    "Simplex": lambda rng, n, r: Listed(optimize.Simplex(n, r), r * np.eye(n)),
    "L1Ball": lambda rng, n, r: Listed(
        optimize.L1Ball(n, r), r * np.vstack([np.eye(n), -np.eye(n)])
    ),
    "Box": _box,
    "KSparse": _k_sparse,
    "Birkhoff": _birkhoff,
    "Vertices": _vertices,
    "Oracle": _oracle,
}


def _objective(rng: np.random.Generator, vertices: list[np.ndarray]) -> tuple[Judge, Any]:
    size = sum(V.shape[1] for V in vertices)
    kind = str(rng.choice(["LeastSquares", "Quadratic", "SquaredNorm", "Logistic", "Function"]))
    note(objective=kind)
    scale, m = 10.0 ** rng.uniform(-3, 3), int(rng.integers(1, 2 * size + 2))
    A, b = scale * rng.normal(size=(m, size)), scale * rng.normal(size=m)
    if rng.random() < 0.3:
        A[:, rng.integers(size)] = 0.0
    exact, right = A.astype(Real), b.astype(Real)
    given: Any = sp.csr_array(A) if rng.random() < 0.3 else A
    if kind == "Logistic":
        signs = np.where(b > 0, 1.0, -1.0)
        rows = signs.astype(Real)[:, None] * exact
        judge = Judge(
            vertices,
            lambda x: np.logaddexp(Real(0), -(rows @ x)).sum(),
            lambda x: -(rows.T @ (1 / (1 + np.exp(np.minimum(rows @ x, 1e4))))),
        )
        return judge, optimize.Logistic(given, signs)
    if kind == "SquaredNorm":
        c = np.resize(b, size)
        away = c.astype(Real)
        judge = Judge(vertices, lambda x: ((x - away) ** 2).sum() / 2, lambda x: x - away)
        return judge, optimize.SquaredNorm(c)
    if kind == "LeastSquares":
        judge = Judge(
            vertices,
            lambda x: ((exact @ x - right) ** 2).sum() / 2,
            lambda x: exact.T @ (exact @ x - right),
        )
        return judge, optimize.LeastSquares(given, b)
    Q, c = A.T @ A, np.resize(b, size)
    Q = 0.5 * (Q + Q.T)
    H, linear = Q.astype(Real), c.astype(Real)
    judge = Judge(vertices, lambda x: x @ (H @ x) / 2 + linear @ x, lambda x: H @ x + linear)
    if kind == "Quadratic":
        return judge, optimize.Quadratic(sp.csr_array(Q) if rng.random() < 0.3 else Q, c)
    # (of a user's function no one knows the terms that it adds up: docs/optimize.md)
    judge.hidden = lambda x: np.abs(x) @ np.abs(Q) @ np.abs(x) + np.abs(c) @ np.abs(x)
    own = optimize.Function(lambda x: 0.5 * x @ Q @ x + c @ x, lambda x: Q @ x + c, size=size)
    return judge, own


def _method(rng: np.random.Generator, domain: Any, objective: Any) -> str:
    steps, samplings = list(known("step")), list(known("sampling"))
    names = ["fw", "fcfw", *(f"fw+{step}" for step in steps)]
    if len(domain.blocks) > 1:
        names += [f"bcfw+{how}+{step}" for how in samplings for step in steps]
    if domain.n_atoms is not None:
        names.append("raway")
    if all(block.has_projection for block in domain.blocks):
        names.append("projected")
    name = str(rng.choice(names))
    has_sizes = "step_size" in getattr(as_optimizer(name), "__dataclass_fields__", {})
    has_sizes = has_sizes and not (name == "fcfw" and objective.is_quadratic)  # (refused there)
    word = str(rng.choice(["", "", "+exact", "+adaptive", "+predefined"]))
    return name + (word if has_sizes else "")


def _needs_atoms(method: str) -> bool:
    step = getattr(as_optimizer(method), "step", None)
    return step is not None and step.needs_corners


# -- the judge -----------------------------------------------------------------------------------


class Judge:
    """Knows f with more digits than the package, and every vertex."""

    def __init__(
        self,
        vertices: list[np.ndarray],
        value: Callable[[np.ndarray], Any],
        gradient: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self.vertices, self._value, self._gradient = vertices, value, gradient
        self.hidden: Callable[[np.ndarray], float] = lambda x: 0.0
        self._farthest = np.concatenate([np.abs(V).max(axis=0) for V in vertices])
        first = np.concatenate([V[0] for V in vertices])
        self.unit = max(float(sum(self.gaps(first))), 1e-12 * (1.0 + abs(self.value(first))))

    def value(self, x: np.ndarray) -> float:
        """f(x)."""
        return float(self._value(np.asarray(x, dtype=Real)))

    def gaps(self, x: np.ndarray) -> list[float]:
        """The Frank-Wolfe gap of every block, over all its vertices."""
        x = np.asarray(x, dtype=Real)
        gradient, begin, found = self._gradient(x), 0, []
        for V in self.vertices:
            at = slice(begin, begin + V.shape[1])
            scores = V.astype(Real) @ gradient[at]
            found.append(float(gradient[at] @ x[at] - scores.min()))
            begin += V.shape[1]
        return found

    def slip(self, result: Any) -> float:
        """What rounding may do, by the certificate's own account."""
        size = abs(result.certificate.primal) + abs(result.certificate.dual)
        size += self.hidden(self._farthest)
        return float(ROUNDINGS * (result.certificate.resolution + np.finfo(float).eps * size))

    def look_at(self, result: Any, tol: float) -> None:
        """Everything that a result claims."""
        certificate, x = result.certificate, result.x.ravel()
        require(certificate.valid and np.isfinite(x).all(), f"not valid: {certificate!r}")
        slip, true, gaps = self.slip(result), self.value(x), self.gaps(x)
        require(abs(certificate.primal - true) <= slip, f"f(x) is {true!r}, not {result.value!r}")
        require(
            abs(certificate.gap - sum(gaps)) <= slip,
            f"the gap is {sum(gaps)!r}, not {certificate.gap!r} ({certificate.resolution:.3g})",
        )
        summed = float(np.sum(certificate.block_gaps))
        require(abs(summed - certificate.gap) <= slip, f"block gaps add up to {summed!r}")
        is_done = certificate.gap <= tol and certificate.resolution <= tol
        is_certified = result.status.name == "CERTIFIED"
        require(is_done == is_certified, f"{result.status.name}: {certificate!r}, tol {tol:g}")
        self._look_at_atoms(result)

    def _look_at_atoms(self, result: Any) -> None:
        """Of methods that keep them: they are vertices, and x is their mean."""
        sets = result.active_sets
        if sets is None or len(sets) != len(self.vertices):
            return
        for active, V, x in zip(sets, self.vertices, result.blocks, strict=True):
            size = 1e-9 * max(float(np.abs(V).max()), 1e-300)
            for atom in active.atoms:
                off = np.abs(V - atom.dense()).max(axis=1).min()
                require(off <= size, f"an atom is no vertex, by {off:g}")
            require((active.weights > 0.0).all(), "an atom without weight")
            off = float(np.abs(active.mean() - x.ravel()).max())
            require(off <= size, f"x is not the mean of its atoms, by {off:g}")

    def see_falling(self, values: list[float], slip: float) -> None:
        """That f never rises, but for rounding."""
        for before, after in itertools.pairwise(values):
            allowed = slip + 64.0 * ROUNDINGS * float(np.finfo(float).eps) * abs(before)
            require(after <= before + allowed, f"f has risen from {before!r} to {after!r}")
