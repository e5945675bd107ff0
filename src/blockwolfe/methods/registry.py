"""Methods of the SVM from their names."""

from __future__ import annotations

from typing import Any

from blockwolfe.errors import OptionError

# A method is known once its file is loaded.
from blockwolfe.methods import auto, frank_wolfe  # noqa: F401
from blockwolfe.methods.base import Method
from blockwolfe.methods.bcfw import settings  # noqa: F401
from blockwolfe.methods.cutting_plane import methods as cutting_planes  # noqa: F401
from blockwolfe.methods.excessive_gap import method as smoothing  # noqa: F401
from blockwolfe.methods.exponentiated import online  # noqa: F401
from blockwolfe.methods.extragradient import method as extragradient  # noqa: F401
from blockwolfe.methods.subgradient import batch, perceptron, stochastic  # noqa: F401
from blockwolfe.rules.registry import from_words, names_of

__all__ = ["as_method", "method_names"]


def method_names() -> list[str]:
    """Every method, by the alphabet, and every method with one word after it."""
    return names_of("method")


def as_method(method: Any) -> Method:
    """A method from its name, or itself.

    >>> as_method("bcfw+uniform+averaging").averaging
    True
    """
    if isinstance(method, Method):
        return method
    if not isinstance(method, str):
        raise OptionError(
            f"method={method!r} is neither a name nor a method object such as BCFW()."
        )
    found: Method = from_words("method", method)
    return found
