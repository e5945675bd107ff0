"""What a file must hold: every value is asked for together with all that must be true of it.

Anybody can write a file and its digest, so nothing in it is taken on trust. A `Reader` hands out
a value only as what it must be; the rest of the program never sees another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from blockwolfe.base.checks import is_integer, is_real
from blockwolfe.errors import BlockwolfeError, ModelFileError, OptionError

__all__ = ["MOST_INTEGER", "Misfit", "Reader", "check_rows", "reading"]

MOST_INTEGER = 2**62  # of any count or index: sums of two are still in 64 bits
LABEL_KINDS = "biufU"


class Misfit(ModelFileError):  # noqa: N818 (it becomes a `ModelFileError` that names the file)
    """A value in a file that is not what it must be."""


# What reading goes on to raise where a value of an unforeseen kind has come through.
_SURPRISES = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


@contextmanager
def reading(path: Any, noun: str, remedy: str = "") -> Iterator[None]:
    """Say of the file, in a `ModelFileError`, whatever is found wrong inside.

    >>> with reading("model.npz", "model"):
    ...     Reader({"n": -1}).integer("n")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.ModelFileError: model.npz is no model that blockwolfe has written: n is -1;
    expected an integer >= 0. Save the model again.
    """
    try:
        yield
    except (Misfit, OptionError) as error:
        raise ModelFileError(_refusal(path, noun, str(error), remedy)) from error
    except BlockwolfeError:
        raise
    except _SURPRISES as error:
        found = f"{type(error).__name__}: {_shown(error)}."
        raise ModelFileError(_refusal(path, noun, found, remedy)) from error


def _refusal(path: Any, noun: str, reason: str, remedy: str) -> str:
    remedy = remedy or f"Save the {noun} again."
    return f"{path} is no {noun} that blockwolfe has written: {reason} {remedy}"


def _shown(value: Any) -> str:
    """A value of a stranger's in a message: short, and without control characters."""
    text = ascii(value) if not isinstance(value, Exception) else ascii(str(value))[1:-1]
    return text if len(text) <= 60 else f"{text[:60]}..."


class Reader:
    """Values of a file by name.

    >>> read = Reader({"n": 3, "w": np.zeros(2)})
    >>> read.integer("n", least=1)
    3
    >>> read.array("w", np.float64, (3,))
    Traceback (most recent call last):
    ...
    blockwolfe.base.schema.Misfit: w has shape (2,); expected (3,).
    """

    def __init__(self, values: Any, place: str = "") -> None:
        if not isinstance(values, dict):
            raise Misfit(f"{place or 'it'} is {_shown(values)}; expected values by name.")
        self.values: dict[str, Any] = values
        self._place = place

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def _named(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name

    def _refuse(self, name: str, expected: str) -> Misfit:
        return Misfit(f"{self._named(name)} is {_shown(self.values[name])}; expected {expected}.")

    def given(self, name: str) -> Any:
        """A value of any kind."""
        if name not in self.values:
            raise Misfit(f"{self._named(name)} is missing.")
        return self.values[name]

    def only(self, names: Iterable[str]) -> Reader:
        """Refuse values of any other name."""
        for name in self.values:
            if name not in names:
                raise Misfit(f"{_shown(self._named(name))} is nothing that belongs there.")
        return self

    def inside(self, name: str) -> Reader:
        """Values by name that lie within this one."""
        return Reader(self.given(name), self._named(name))

    # -- single values -------------------------------------------------------------------------

    def flag(self, name: str) -> bool:
        """True or False."""
        if not isinstance(self.given(name), (bool, np.bool_)):
            raise self._refuse(name, "True or False")
        return bool(self.values[name])

    def integer(self, name: str, least: int = 0, most: int = MOST_INTEGER) -> int:
        """An integer between two."""
        value = self.given(name)
        if not is_integer(value) or not least <= value <= most:
            upper = "" if most == MOST_INTEGER else f" and <= {most}"
            raise self._refuse(name, f"an integer >= {least}{upper}")
        return int(value)

    def number(
        self, name: str, least: float = -math.inf, most: float = math.inf, or_nan: bool = False
    ) -> float:
        """A number between two."""
        value = self.given(name)
        # (an integer of a thousand digits is no number that a float can be)
        is_sound = is_real(value) and (isinstance(value, float) or abs(value) <= MOST_INTEGER)
        if not is_sound or not (least <= value <= most or (or_nan and math.isnan(value))):
            among = f" between {least:g} and {most:g}" if least > -math.inf else ""
            raise self._refuse(name, f"a number{among}")
        return float(value)

    def text(self, name: str, among: Iterable[str] | None = None) -> str:
        """Text that can be shown, or one of some names."""
        value = self.given(name)
        if not isinstance(value, str) or not value.isprintable():
            raise self._refuse(name, "text without control characters")
        if among is not None and value not in among:
            raise self._refuse(name, f"one of {', '.join(among)}")
        return value

    def integers(self, name: str, size: int) -> list[int]:
        """A list of so many integers, >= -1."""
        value = self.given(name)
        if not isinstance(value, (list, tuple)) or len(value) != size:
            raise self._refuse(name, f"a list of {size} integers")
        if not all(is_integer(k) and -1 <= k <= MOST_INTEGER for k in value):
            raise self._refuse(name, f"a list of {size} integers")
        return [int(k) for k in value]

    # -- arrays --------------------------------------------------------------------------------

    def any_array(self, name: str, kinds: str, ndim: int) -> np.ndarray:
        """An array of one of some kinds (numpy's letters), of any shape."""
        value = self.given(name)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            raise Misfit(f"{self._named(name)} is no array of the right kind.")
        if value.ndim != ndim:
            raise Misfit(f"{self._named(name)} has {value.ndim} dimensions; expected {ndim}.")
        return value

    def array(
        self,
        name: str,
        dtype: Any,
        shape: tuple[int | None, ...],
        least: float | None = None,
        most: float | None = None,
        is_finite: bool = True,
    ) -> np.ndarray:
        """An array of that type and shape (None: any length), its entries between two."""
        value = self.any_array(name, np.dtype(dtype).kind, len(shape))
        if value.dtype != np.dtype(dtype):
            raise Misfit(
                f"{self._named(name)} is of type {value.dtype}; expected {dtype.__name__}."
            )
        if any(n not in (None, m) for n, m in zip(shape, value.shape, strict=True)):
            raise Misfit(f"{self._named(name)} has shape {value.shape}; expected {shape}.")
        if value.dtype.kind == "f" and is_finite and not np.isfinite(value).all():
            raise Misfit(f"{self._named(name)} has NaN or infinite entries.")
        if least is not None and not (value >= least).all():
            raise Misfit(f"{self._named(name)} has entries below {least}, or NaN.")
        if most is not None and not (value <= most).all():
            raise Misfit(f"{self._named(name)} has entries above {most}, or NaN.")
        return value

    def labels(self, name: str) -> np.ndarray:
        """At least one label, each once."""
        value = self.any_array(name, LABEL_KINDS, 1)
        if not len(value) or len(np.unique(value)) != len(value):
            raise Misfit(f"{self._named(name)} is no list of different labels.")
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise Misfit(f"{self._named(name)} has NaN or infinite labels.")
        return value

    def names(self, name: str, size: int | None = None) -> np.ndarray:
        """Different strings, so many where that is known."""
        value = self.any_array(name, "U", 1)
        if size not in (None, len(value)) or len(np.unique(value)) != len(value):
            many = "" if size is None else f"{size} "
            raise Misfit(f"{self._named(name)} is no list of {many}different names.")
        return value


def check_rows(is_sound: Any, what: str) -> None:
    """A `Misfit` unless something holds of every entry."""
    if not np.all(is_sound):
        raise Misfit(f"{what}.")
