"""Kernels over the node inputs of a drawn problem, and the same problem in features for the judge.

The judge knows a kernel by a factor F of its matrix, G = F F^T, computed with more digits than the
package has: row t of F are features of position t. A kernel of the package has then the same
objective as a linear task with these features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import blockwolfe as bw
from tools.fuzz.drawing import labellings, selections
from tools.fuzz.drawing.listed import Block, Drawn, Real
from tools.fuzz.drawing.numbers import one_of

__all__ = ["KernelDrawn", "draw_kernel_problem"]

GENERATORS = {
    "Chain": labellings.chain,
    "Cut": labellings.cut,
    "Multiclass": labellings.multiclass,
    "Multilabel": selections.multilabel,
    "PairwiseGraph": labellings.pairwise_graph,
    "Tree": labellings.tree,
}
KERNELS = ("linear", "poly", "rbf", "laplacian", "precomputed", "own")
NO_KERNELS = ("sigmoid", "precomputed", "own")
INDEFINITE = 0.12  # how often what is drawn is no kernel
# A matrix is no kernel where its smallest eigenvalue is below this share of the largest: the
# package may take what is closer to zero for rounding.
CLEARLY = 1e-6


@dataclass(frozen=True)
class KernelDrawn:
    """A task with a kernel and its data, and what the judge is to know of them."""

    drawn: Drawn
    name: str
    gram: np.ndarray  # (n, n) of Real
    factor: np.ndarray | None  # (n, rank) of Real, None where it is no kernel
    holds_all: bool  # whether there is room for all rows
    lengths: list[int]
    inputs: np.ndarray  # of all positions

    def blocks(self, fitted: Any) -> list[Block]:
        """Outputs with the features that the factor gives them, before the linear ones."""
        n_linear, own = fitted.n_linear, self.drawn.blocks(fitted)
        parts = np.split(self.factor, np.cumsum(self.lengths)[:-1])  # type: ignore[arg-type]
        return [
            replace(block, phi=_widened(block, rows, n_linear, fitted))
            for block, rows in zip(own, parts, strict=True)
        ]

    def own_bounds(self, fitted: Any) -> list[tuple[slice, float, float]]:
        """Those of the task, on its linear weights alone."""
        shift = self.drawn.blocks(fitted)[0].phi.shape[1] - fitted.n_linear
        return [
            (slice(at.start - shift, at.stop and at.stop - shift), low, high)
            for at, low, high in self.drawn.own_bounds(fitted)
        ]

    def seen(self, fitted: Any, w: np.ndarray) -> np.ndarray:
        """Weights of the judge, of a w or v of the package: F^T A, and the linear ones."""
        A = np.asarray(fitted.coefficients(w), dtype=Real)
        return np.concatenate([(self.factor.T @ A).ravel(), w[: fitted.n_linear].astype(Real)])  # type: ignore[union-attr]


def _widened(block: Block, rows: np.ndarray, n_linear: int, fitted: Any) -> np.ndarray:
    linear = block.phi[:, block.phi.shape[1] - n_linear :]
    found = [np.einsum("tr,tk->rk", rows, _labels_of(fitted, key)).ravel() for key in block.keys]
    return np.concatenate([np.array(found), linear], axis=1)


def _labels_of(fitted: Any, key: Any) -> np.ndarray:
    """What the features of each position are multiplied by, (positions, labels)."""
    if isinstance(fitted, bw.tasks.Multilabel):
        return np.array([key], dtype=Real)
    classes = np.asarray(fitted.classes_).tolist()
    codes = np.array([classes.index(label) for label in key])
    if isinstance(fitted, bw.tasks.Cut):
        return (2 * codes - 1)[:, None].astype(Real)
    return np.eye(len(classes), dtype=Real)[codes]


# -- drawing ---------------------------------------------------------------------------------------


def draw_kernel_problem(rng: np.random.Generator) -> KernelDrawn:
    """A task with a kernel; sometimes with a function that is none."""
    name = str(rng.choice(list(GENERATORS)))
    drawn = GENERATORS[name](rng)
    while not _takes_kernel(drawn):
        drawn = GENERATORS[name](rng)
    is_table = name in ("Multiclass", "Multilabel")
    rows = list(_dense(drawn.X)[:, None]) if is_table else [_rows(x) for x in drawn.X]
    inputs, lengths = np.concatenate(rows), [len(x) for x in rows]
    for _ in range(50):
        is_psd = bool(rng.random() >= INDEFINITE)
        kernel, options, gram = _draw_kernel(rng, inputs, is_psd)
        if is_psd or _is_clearly_none(gram):
            break
    room, holds_all = _draw_room(rng, len(inputs), max(lengths))
    X = drawn.X
    if options["kernel"] == "precomputed":
        values = gram.astype(float)
        parts = np.split(values, np.cumsum(lengths)[:-1])
        X = values if is_table else [_with_own(x, v) for x, v in zip(X, parts, strict=True)]
    task = drawn.task.set_params(**options, **room)
    size = float(np.sqrt(np.abs(gram.diagonal()).mean())) or 1.0
    drawn = replace(drawn, task=task, X=X, size=size, words={"task": name, "kernel": kernel})
    factor = _factor(gram) if is_psd else None
    return KernelDrawn(drawn, kernel, gram, factor, holds_all, lengths, inputs)


def _takes_kernel(drawn: Drawn) -> bool:
    """Whether the documentation of kernels lets the task have one, and inputs are numbers."""
    task, first = drawn.task, (_dense(drawn.X) if sp.issparse(drawn.X) else drawn.X)[0]
    inner = first.features if isinstance(first, bw.tasks.Masked) else first
    is_token = isinstance(inner, list) and isinstance(inner[0], dict)
    return not (
        is_token
        or getattr(task, "emission", True) is False
        or getattr(task, "pair_features", "") == "x"
        or getattr(task, "decoder", "") == "exact"
    )


def _draw_kernel(
    rng: np.random.Generator, x: np.ndarray, is_psd: bool
) -> tuple[str, dict[str, Any], np.ndarray]:
    """What it is called, options of the task, and the matrix of its values."""
    name, n = str(rng.choice(KERNELS if is_psd else NO_KERNELS)), len(x)
    x = x.astype(Real)
    unit = 1.0 / max(float(np.mean(x * x)), 1e-30)
    gamma = float(unit * 10.0 ** rng.uniform(-2, 1))
    if name == "own":
        function = minimum if is_psd else difference
        return name, {"kernel": function}, function(x.astype(float), x.astype(float)).astype(Real)
    if name == "precomputed":
        F = rng.normal(size=(n, int(rng.integers(1, n + 1)))) * 10.0 ** rng.uniform(-3, 3)
        signs = np.ones(F.shape[1])
        if not is_psd:
            signs[rng.integers(len(signs))] = -1.0
        gram = (F * signs) @ F.T
        if not is_psd and rng.random() < 0.3:
            gram = F[:, :1] @ np.ones((1, n))  # (not symmetric)
        return name, {"kernel": name}, _mirrored(gram, is_psd).astype(Real)
    products = x @ x.T
    options: dict[str, Any] = {"kernel": name}
    if name == "linear":
        return name, options, products
    options["gamma"] = gamma
    if name == "sigmoid":
        options["coef0"] = -2.0
        return name, options, np.tanh(Real(gamma) * products - 2)
    if name == "poly":
        degree, coef0 = int(rng.integers(1, 5)), float(one_of(rng, 0.0, 1.0, 0.3))
        options |= {"degree": degree, "coef0": coef0}
        return name, options, (Real(gamma) * products + Real(coef0)) ** degree
    apart = x[:, None] - x[None]
    far = (apart * apart if name == "rbf" else np.abs(apart)).sum(axis=2)
    if name == "laplacian":
        options["gamma"] = gamma = float(np.sqrt(gamma))
    return name, options, np.exp(-Real(gamma) * far)


def _mirrored(gram: np.ndarray, is_psd: bool) -> np.ndarray:
    """Products of matrices need not be symmetric to the bit."""
    return (gram + gram.T) / 2 if is_psd else gram


def minimum(A: Any, B: Any) -> np.ndarray:
    """A kernel: sum_j min(|a_j|, |b_j|)."""
    a, b = np.abs(_dense(A)), np.abs(_dense(B))
    return np.minimum(a[:, None], b[None]).sum(axis=2)


def difference(A: Any, B: Any) -> np.ndarray:
    """No kernel: the distance."""
    a, b = _dense(A), _dense(B)
    return np.abs(a[:, None] - b[None]).sum(axis=2)


def _is_clearly_none(gram: np.ndarray) -> bool:
    values = gram.astype(float)
    if np.abs(values - values.T).max() > CLEARLY * np.abs(values).max():
        return True
    eigenvalues = np.linalg.eigvalsh(values)
    return bool(eigenvalues[0] < -CLEARLY * np.abs(eigenvalues).max())


def _draw_room(rng: np.random.Generator, n: int, longest: int) -> tuple[dict[str, Any], bool]:
    """Options of the store of rows, and whether it holds all."""
    dtype = "float32" if rng.random() < 0.25 else "float64"
    if rng.random() < 0.6:
        return {"kernel_dtype": dtype}, True
    n_rows = int(rng.integers(longest, n + 1))
    megabytes = (n_rows + 0.5) * n * np.dtype(dtype).itemsize / 2**20
    return {"kernel_dtype": dtype, "kernel_cache_mb": megabytes}, n_rows == n


def _factor(gram: np.ndarray) -> np.ndarray:
    """F with F F^T = G, by Cholesky's method with pivots; at least one column."""
    rest, columns = gram.copy(), []
    largest = max(np.abs(gram.diagonal()).max(), Real(1e-300))
    while len(columns) < len(gram):
        k = int(np.argmax(rest.diagonal()))
        pivot = rest[k, k]
        if pivot <= 64 * np.finfo(Real).eps * largest:
            break
        columns.append(rest[:, k] / np.sqrt(pivot))
        rest = rest - np.outer(columns[-1], columns[-1])
    return np.array(columns or [np.zeros(len(gram))], dtype=Real).T


# -- inputs as rows --------------------------------------------------------------------------------


def _dense(rows: Any) -> np.ndarray:
    """Rows of numbers in whatever form, as an array."""
    if sp.issparse(rows):
        return np.asarray(rows.toarray(), dtype=float)
    return np.array(
        [np.ravel(r.toarray() if sp.issparse(r) else r) for r in rows], dtype=float
    ).reshape(len(rows), -1)


def _rows(x: Any) -> np.ndarray:
    """Of the positions of one example."""
    if isinstance(x, bw.tasks.Masked):
        return _rows(x.features)
    return _dense(x.nodes if isinstance(x, bw.tasks.Graph) else x)


def _with_own(x: Any, rows: np.ndarray) -> Any:
    if isinstance(x, bw.tasks.Masked):
        return replace(x, features=rows)
    return replace(x, nodes=rows) if isinstance(x, bw.tasks.Graph) else rows
