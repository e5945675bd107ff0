"""Methods and their options: small objects, checked when they are made."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from blockwolfe.errors import OptionError, unknown_option
from blockwolfe.methods.samplers import Cyclic, Permutation, Sampling, Uniform

__all__ = ["BCFW", "FW", "FrankWolfe", "Method", "as_method"]


class Method:
    """Base of the methods; use `BCFW` or `FrankWolfe`.

    >>> isinstance(BCFW(), Method)
    True
    """

    @property
    def is_monotone(self) -> bool:
        """Whether the dual of the returned point can never decrease."""
        raise NotImplementedError


@dataclass(frozen=True)
class FW:
    """The Frank-Wolfe step towards the oracle's corner.

    ``line_search=False`` takes the predefined size 2n/(k+2n) instead of the exact one.

    >>> FW().line_search
    True
    """

    line_search: bool = True

    def __post_init__(self) -> None:
        _check_flag("line_search", self.line_search)


@dataclass(frozen=True)
class BCFW(Method):
    """Block-coordinate Frank-Wolfe: one oracle call, one exact step, one block at a time.

    Parameters
    ----------
    sampling : `Uniform()`, `Permutation()` or `Cyclic()`.
    step : `FW()`.
    averaging : return the weighted average of all iterates, with its own certificate.
        It often predicts better than the last iterate long before the optimum.
    certify_every : passes between certificates (each costs one oracle call per block).
        One is also made as soon as the gap estimate reaches `tol`.

    >>> BCFW(sampling=Uniform(), averaging=True).averaging
    True
    """

    sampling: Sampling = field(default_factory=Permutation)
    step: FW = field(default_factory=FW)
    averaging: bool = False
    certify_every: int = 10

    def __post_init__(self) -> None:
        _check_kind("sampling", self.sampling, Sampling, ["Uniform()", "Permutation()", "Cyclic()"])
        _check_kind("step", self.step, FW, ["FW()", "FW(line_search=False)"])
        _check_flag("averaging", self.averaging)
        is_integer = isinstance(self.certify_every, numbers.Integral)
        if not is_integer or isinstance(self.certify_every, bool) or self.certify_every < 1:
            raise OptionError(f"certify_every={self.certify_every!r} must be an integer >= 1.")

    @property
    def is_monotone(self) -> bool:
        """With the exact line search, and for the last iterate."""
        return self.step.line_search and not self.averaging


@dataclass(frozen=True)
class FrankWolfe(Method):
    """Batch Frank-Wolfe: all oracles, then one joint step; every iteration is certified for free.

    ``line_search=False`` takes the predefined step 2/(k+2).

    >>> FrankWolfe(line_search=False)
    FrankWolfe(line_search=False)
    """

    line_search: bool = True

    def __post_init__(self) -> None:
        _check_flag("line_search", self.line_search)

    @property
    def is_monotone(self) -> bool:
        """With the exact line search."""
        return self.line_search


_BCFW_WORDS: dict[str, Callable[[BCFW], BCFW]] = {
    "uniform": lambda method: replace(method, sampling=Uniform()),
    "permutation": lambda method: replace(method, sampling=Permutation()),
    "cyclic": lambda method: replace(method, sampling=Cyclic()),
    "predefined": lambda method: replace(method, step=FW(line_search=False)),
    "averaging": lambda method: replace(method, averaging=True),
}


def as_method(method: Any) -> Method:
    """A method from its name, or itself. "auto" is at present `BCFW()`.

    >>> as_method("bcfw+uniform+averaging").averaging
    True
    """
    if isinstance(method, Method):
        return method
    if not isinstance(method, str):
        raise OptionError(
            f"method={method!r} is neither a name nor a method object such as BCFW()."
        )
    head, *words = method.split("+")
    if head == "fw":
        return _with_words(FrankWolfe(), method, words, {"predefined": _predefined_batch})
    if head in ("bcfw", "auto"):
        return _with_words(BCFW(), method, words, _BCFW_WORDS)
    combined = [f"bcfw+{word}" for word in _BCFW_WORDS]
    raise unknown_option("method", method, ["auto", "bcfw", "fw", *combined])


def _predefined_batch(method: FrankWolfe) -> FrankWolfe:
    return replace(method, line_search=False)


def _with_words(method: Any, name: str, words: list[str], known: dict[str, Any]) -> Any:
    for word in words:
        if word not in known:
            base = name.split("+", maxsplit=1)[0]
            raise unknown_option("method", name, [base, *(f"{base}+{w}" for w in known)])
        method = known[word](method)
    return method


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise OptionError(f"{name}={value!r} must be True or False.")


def _check_kind(name: str, value: Any, kind: type, valid: list[str]) -> None:
    if not isinstance(value, kind):
        raise unknown_option(name, value, valid)
