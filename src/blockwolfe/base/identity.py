"""What tells one problem from another: digests of everything that its oracles read.

A dual point is a mixture of corners, and a corner is not stored with the output that it came from:
nothing later can tell whether the present oracle could have given it. So a state or a checkpoint is
taken only where all that could have made a difference is the same.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.digest import NoDigestError, digest_of

__all__ = ["Examples", "Identity", "differences", "identify"]

_WORDS = {
    "task": "task (code, or attributes: leave out of its __getstate__ those that change with use)"
}


@dataclass(frozen=True)
class Identity:
    """The digests of a problem's parts, as one string, and why some parts have none."""

    fingerprint: str
    obstacles: dict[str, str]

    def explained(self) -> str:
        """Why the problem cannot be told from others, if so; else nothing."""
        return "; ".join(
            f"its {name} cannot be compared: {e}" for name, e in self.obstacles.items()
        )


def identify(parts: Mapping[str, Iterable[Any]], package: str = "") -> Identity:
    """The identity of a problem with these parts, each a few values or one for every example.

    The code of `package` counts even where it is installed. A part without a digest is one that is
    like no other, in this process or any other.

    >>> identify({"X": [1, 2]}) == identify({"X": (1, 2)}) != identify({"X": [1, 3]})
    True
    >>> identify({"task": [iter, (k for k in "ab")]}).explained()
    "its task cannot be compared: cannot pickle 'generator' object"
    """
    digests, obstacles = {}, {}
    for name, values in parts.items():
        try:
            digests[name] = digest_of(values, (package,))
        except NoDigestError as error:
            digests[name], obstacles[name] = uuid.uuid4().hex, str(error)
    fingerprint = ";".join(f"{name}={digest}" for name, digest in digests.items())
    return Identity(fingerprint, obstacles)


def differences(one: str, other: str) -> str:
    """The parts in which two fingerprints differ.

    >>> differences("X=1;Y=2", "X=3;Y=2;data=1")
    'X, data'
    """
    first, second = (_parts(given) for given in (one, other))
    names = [name for name in first | second if first.get(name) != second.get(name)]
    return ", ".join(_WORDS.get(name, name) for name in names)


def _parts(fingerprint: Any) -> dict[str, str]:
    """Digests by name; of a file that a stranger made, whatever it says."""
    parts = (part.partition("=") for part in str(fingerprint).split(";"))
    return {name: digest for name, _, digest in parts}


@dataclass(frozen=True)
class Examples:
    """Examples in turn: a list of them has the same digest as an array.

    >>> list(Examples(np.array([1, 2]), 2)) == list(Examples([1, np.int64(2)], 2))
    True
    """

    values: Any
    n: int

    def __iter__(self) -> Iterator[Any]:
        if sp.issparse(self.values):  # (whose rows are slow to take one by one)
            yield self.values
            return
        for i in range(self.n):
            x = self.values[i]
            yield x.item() if isinstance(x, np.generic) else x
