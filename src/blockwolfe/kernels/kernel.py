"""A kernel as the user chose it, and the same kernel fitted to the positions of training."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from blockwolfe.base.checks import check_positive, is_real
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.errors import InputError, OptionError, unknown_option
from blockwolfe.kernels.filing import packed_inputs, unpacked_inputs
from blockwolfe.kernels.inputs import checked, count, take
from blockwolfe.kernels.rows import TableRows
from blockwolfe.kernels.values import (
    FORMULAS,
    gamma_of,
    kernel_values,
    named,
    pieces,
    squared_radius,
)

__all__ = ["FittedKernel", "Kernel"]

NAMES = (*FORMULAS, "precomputed")
_LARGEST = float(np.finfo(np.float64).max)
_DIAGONAL = 64  # values of the diagonal that are computed at a time


@dataclass(frozen=True)
class Kernel:
    """A kernel and its options, as the user gave them.

    Parameters
    ----------
    name : str or callable
        "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed", or a function
        ``kernel(A, B)`` that gives the (len(A), len(B)) matrix of values, as `SVC` takes it.
    gamma : float, "scale" or None
        Of poly, rbf, sigmoid and laplacian. "scale" is 1 / (p var(X)), as in `SVC`; None is 1 / p,
        as in `sklearn.metrics.pairwise`; p is the number of features.
    degree : float
        Of poly.
    coef0 : float
        Of poly and sigmoid.

    >>> fitted = Kernel("poly", gamma=1.0, degree=2).fit(np.array([[0.0], [1.0], [2.0]]))
    >>> fitted.compare(np.array([[1.0]]))
    array([[1., 4., 9.]])
    """

    name: Any
    gamma: Any = None
    degree: float = 3
    coef0: float = 1.0

    def check(self) -> None:
        """Refuse names that are not known, and values out of range."""
        if not callable(self.name) and not (isinstance(self.name, str) and self.name in NAMES):
            remedy = " Or give a function kernel(A, B) that returns the matrix of values."
            raise unknown_option("kernel", self.name, NAMES, remedy)
        if isinstance(self.gamma, str) and self.gamma != "scale":
            raise unknown_option("gamma", self.gamma, ["scale"], " Or give a number > 0, or None.")
        if self.gamma is not None and not isinstance(self.gamma, str):
            check_positive("gamma", self.gamma, hint=', or "scale", or None')
        if not is_real(self.degree) or not 0.0 <= self.degree <= _LARGEST:
            raise OptionError(f"degree={self.degree!r} must be a finite number >= 0.")
        if not is_real(self.coef0) or not abs(self.coef0) <= _LARGEST:
            raise OptionError(f"coef0={self.coef0!r} must be a finite number.")

    @property
    def has_gamma(self) -> bool:
        """Whether gamma has a part in it."""
        return not callable(self.name) and "gamma" in FORMULAS.get(self.name, (None, ()))[1]

    def fit(self, inputs: Any) -> FittedKernel:
        """The kernel between these inputs, all positions of training, and others.

        `inputs` are a (N, p) array or sparse matrix, or with a function a list of any objects;
        with "precomputed" the (N, N) values among them.
        """
        self.check()
        inputs = checked(inputs)
        if not count(inputs):
            raise InputError("X is empty; expected at least one position.")
        if isinstance(inputs, list) and not callable(self.name):
            raise InputError(
                f"X is a list of objects (the first is a {type(inputs[0]).__name__}), which "
                f"{named(self.name)} cannot compare; expected arrays of numbers. Give a function "
                "kernel(A, B) that compares two lists of them, or turn them into numbers."
            )
        if self.name == "precomputed":
            return self._fit_precomputed(inputs)
        width = None if isinstance(inputs, list) else inputs.shape[1]
        gamma = gamma_of(self.gamma, inputs) if self.has_gamma else None
        return FittedKernel(self, gamma, inputs, None, width)

    def _fit_precomputed(self, values: Any) -> FittedKernel:
        n_rows, n_columns = values.shape
        if not isinstance(values, np.ndarray):
            raise InputError(
                "X is sparse; expected a dense array of kernel values for kernel='precomputed'. "
                "Use X.toarray()."
            )
        if n_rows != n_columns:
            raise InputError(
                f"X has {n_rows} positions in all and {n_columns} columns; for "
                f"kernel='precomputed' expected {n_rows} columns: in training, the kernel values "
                "of each position with all positions."
            )
        return FittedKernel(self, None, values, np.arange(n_rows), n_columns)


@dataclass(frozen=True, eq=False)
class FittedKernel:
    """A kernel between inputs of its own, the positions of training or some of them, and others.

    `columns`, with "precomputed" alone, are the columns of X that belong to its own inputs, and
    `inputs` the values among these (None where it was read from a file, which has no need of
    them). `width` is the number of columns of X; None where inputs are a list of objects.

    >>> fitted = Kernel("rbf", gamma=1.0).fit(np.array([[0.0], [1.0], [3.0]]))
    >>> fitted.own_rows([0]).round(3)
    array([[1.   , 0.368, 0.   ]])
    >>> fitted.taken([1, 2]).compare(np.array([[1.0]])).round(3)
    array([[1.   , 0.018]])
    """

    kernel: Kernel
    gamma: float | None
    inputs: Any = field(repr=False)
    columns: np.ndarray | None = field(repr=False)
    width: int | None

    @property
    def n(self) -> int:
        """Number of its own inputs."""
        return count(self.inputs) if self.columns is None else len(self.columns)

    def compare(self, inputs: Any, index: Any = None) -> np.ndarray:
        """Values between given inputs and its own (at `index`), a row for each given one."""
        given = self._given(inputs)
        if self.columns is not None:
            columns = self.columns if index is None else self.columns[index]
            return np.ascontiguousarray(given[:, columns])
        own = self.inputs if index is None else take(self.inputs, index)
        return self._values(given, own, np.float64, None, index)

    def own_rows(self, index: Any, dtype: Any = np.float64) -> np.ndarray:
        """Values between its own inputs at `index` and all of its own."""
        if self.columns is not None:
            return np.ascontiguousarray(self._own_values()[index], dtype=dtype)
        # (computed in double precision: only what is kept may be rounded to single)
        if self._has_table_rows:
            with np.errstate(over="ignore"):
                found = self._table_rows(index).astype(dtype, copy=False)
            return self._checked(found, index)
        return self._values(take(self.inputs, index), self.inputs, dtype, index, None)

    @property
    def _has_table_rows(self) -> bool:
        return isinstance(self.inputs, np.ndarray) and self.kernel.name in TableRows.names

    @cached_property
    def _table_rows(self) -> TableRows:
        """What gives rows of the kernel matrix quickly."""
        kernel = self.kernel
        return TableRows(
            kernel.name, self.inputs, gamma=self.gamma, degree=kernel.degree, coef0=kernel.coef0
        )

    def precision(self, dtype: Any) -> float:
        """How far values that are kept in `dtype` may be off, relative to the largest of them.

        Distances of "rbf" are differences of squares: what these are rounded by, with a factor of
        gamma, is in its exponent.
        """
        unit = float(np.finfo(np.float64).eps)
        is_rbf = self.kernel.name == "rbf"
        spread = 4.0 * float(self.gamma or 0.0) * squared_radius(self.inputs) if is_rbf else 0.0
        return float(np.finfo(dtype).eps) + unit * spread

    def _checked(self, found: np.ndarray, rows: Any) -> np.ndarray:
        """Values among its own inputs, after refusing those that are not finite."""
        is_finite = np.isfinite(found)
        if not is_finite.all():
            s, t = np.argwhere(~is_finite)[0]
            raise self._not_finite(found, s, t, rows, None)
        return found

    def diagonal(self) -> np.ndarray:
        """Value of each of its own inputs with itself."""
        if self.columns is not None:
            return np.diagonal(self._own_values()).copy()
        found = np.empty(self.n)
        for begin in range(0, self.n, _DIAGONAL):
            index = np.arange(begin, min(begin + _DIAGONAL, self.n))
            own = take(self.inputs, index)
            # (the very same object twice: scikit-learn then takes distances to be exactly zero)
            found[index] = np.diagonal(self._values(own, own, np.float64, index, index))
        return found

    def taken(self, index: Any) -> FittedKernel:
        """The same kernel with these of its inputs alone."""
        if self.columns is None:
            return FittedKernel(self.kernel, self.gamma, take(self.inputs, index), None, self.width)
        among = None if self.inputs is None else self.inputs[np.ix_(index, index)]
        return FittedKernel(self.kernel, None, among, self.columns[index], self.width)

    # -- files -----------------------------------------------------------------------------------

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain values, and arrays, by name, for a model file; a function cannot be in one."""
        kernel = self.kernel
        if callable(kernel.name):
            raise OptionError(
                f"{named(kernel.name)} is a function, which a model file cannot hold. Save the "
                "estimator with pickle or joblib.dump, or use a kernel that has a name."
            )
        gamma = kernel.gamma if isinstance(kernel.gamma, (str, type(None))) else float(kernel.gamma)
        plain = {
            "name": kernel.name,
            "gamma": gamma,
            "degree": float(kernel.degree),
            "coef0": float(kernel.coef0),
            "fitted_gamma": self.gamma,
            "width": self.width,
        }
        if self.columns is not None:
            return plain, {"columns": self.columns}
        return plain, packed_inputs(self.inputs)

    @classmethod
    def unpacked(cls, plain: Any, arrays: Any) -> FittedKernel:
        """The other way, from what may be anybody's file."""
        read = Reader(plain, "kernel").only(_PLAIN)
        options = {name: read.given(name) for name in ("gamma", "degree", "coef0")}
        kernel = Kernel(read.text("name", NAMES), **options)
        kernel.check()
        width = read.integer("width", least=1, most=np.iinfo(np.int32).max)
        gamma = _filed_gamma(kernel, read, width)
        if kernel.name != "precomputed":
            inputs = unpacked_inputs(Reader(arrays, "kernel"), width)
            return cls(kernel, gamma, inputs, None, width)
        read = Reader(arrays, "kernel").only(["columns"])
        columns = read.array("columns", np.int64, (None,), least=0, most=width - 1)
        if len(np.unique(columns)) != len(columns):
            raise Misfit("kernel.columns has columns twice.")
        return cls(kernel, None, None, columns, width)

    # -- values ----------------------------------------------------------------------------------

    def _given(self, inputs: Any) -> Any:
        """Inputs to compare, after checking that they are such as its own."""
        given = checked(inputs)
        if isinstance(given, list) != (self.width is None):
            kinds = ("a list of objects", "an array")
            found, own = kinds if isinstance(given, list) else kinds[::-1]
            raise InputError(f"X is {found}; expected {own}, as in training.")
        if self.columns is not None and not isinstance(given, np.ndarray):
            raise InputError("X is sparse; expected a dense array of kernel values.")
        if self.width is not None and given.shape[1] != self.width:
            values = "" if self.columns is None else ": values with all positions of training"
            raise InputError(
                f"X has {given.shape[1]} features, but {named(self.kernel.name)} is expecting "
                f"{self.width} features as input, as in training{values}."
            )
        return given

    def _own_values(self) -> np.ndarray:
        if self.inputs is None:
            raise OptionError(
                "kernel='precomputed': a model file does not keep the values among positions of "
                "training, and pruning needs them; prune the model before it is saved."
            )
        return np.asarray(self.inputs)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is soon made again."""
        return {name: value for name, value in vars(self).items() if name != "_table_rows"}

    def _values(self, A: Any, B: Any, dtype: Any, rows: Any, columns: Any) -> np.ndarray:
        """Values between A and B; in errors their entries have the numbers `rows`, `columns`."""
        kernel, shape = self.kernel, (count(A), count(B))
        options = {"gamma": self.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
        found = np.empty(shape, dtype=dtype)
        for piece in pieces(*shape) if shape[1] else ():
            # (not A[:]: scikit-learn looks at whether A is B)
            part = A if piece == slice(0, shape[0]) else A[piece]
            block = kernel_values(kernel.name, options, part, B)
            with np.errstate(over="ignore"):  # (in single precision)
                found[piece] = block
            is_finite = np.isfinite(found[piece])
            if not is_finite.all():
                s, t = np.argwhere(~is_finite)[0]
                raise self._not_finite(found, piece.start + s, t, rows, columns)
        return found

    def _not_finite(self, found: Any, s: int, t: int, rows: Any, columns: Any) -> InputError:
        own = t if columns is None else columns[t]
        row = f"row {s} of X" if rows is None else f"position {rows[s]} of training"
        return InputError(
            f"{named(self.kernel.name)} is {found[s, t]} between {row} and position {own} of "
            "training; expected finite values. Scale X, for example with "
            "sklearn.preprocessing.StandardScaler, or choose other options of the kernel."
        )


_PLAIN = ("name", "gamma", "degree", "coef0", "fitted_gamma", "width")


def _filed_gamma(kernel: Kernel, read: Reader, width: int) -> float | None:
    """The gamma of a file, which the options decide except where it was computed from data."""
    if not kernel.has_gamma:
        if read.given("fitted_gamma") is not None:
            raise Misfit(f"kernel.fitted_gamma is given, but {named(kernel.name)} has none.")
        return None
    gamma = check_positive("kernel.fitted_gamma", read.number("fitted_gamma"))
    if kernel.gamma != "scale" and gamma != gamma_of(kernel.gamma, np.empty((0, width))):
        raise Misfit(f"kernel.fitted_gamma is {gamma!r}; expected what gamma says.")
    return gamma
