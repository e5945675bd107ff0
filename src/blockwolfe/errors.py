"""Every exception and warning of the library, but `NotCertifiedWarning` (see `results`).

Messages follow one pattern: what was found, what was expected, what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "BlockwolfeError",
    "DataNotFoundError",
    "InputError",
    "KernelWarning",
    "MissingLibraryError",
    "ModelFileError",
    "OptionError",
    "OracleError",
    "OracleWarning",
    "OutOfMemoryError",
    "ShardLostError",
    "WorkerWarning",
    "closest",
    "unknown_option",
]

_LIKENESS = 0.7  # of a name that may be meant (two letters of four swapped: 0.75)
_LONGEST_NAME = 100


class BlockwolfeError(Exception):
    """Base of all errors raised on purpose by this library.

    >>> issubclass(InputError, BlockwolfeError)
    True
    """


class InputError(BlockwolfeError, ValueError):
    """Data that cannot be trained on or predicted from.

    >>> issubclass(InputError, ValueError)
    True
    """


class OptionError(BlockwolfeError, ValueError):
    """An option with an unknown name or a value outside its range.

    >>> issubclass(OptionError, ValueError)
    True
    """


class OracleError(BlockwolfeError, RuntimeError):
    """A task whose oracle breaks its contract, found while checking or training.

    >>> issubclass(OracleError, RuntimeError)
    True
    """


class OutOfMemoryError(BlockwolfeError, MemoryError):
    """Arrays that this machine has no room for; the message says how much they need.

    >>> issubclass(OutOfMemoryError, MemoryError)
    True
    """


class DataNotFoundError(BlockwolfeError, FileNotFoundError):
    """A dataset that is neither on this machine nor could be downloaded.

    >>> issubclass(DataNotFoundError, FileNotFoundError)
    True
    """


class ModelFileError(BlockwolfeError, ValueError):
    """A model file that is truncated, altered, or written by a newer version.

    >>> issubclass(ModelFileError, ValueError)
    True
    """


class MissingLibraryError(BlockwolfeError, ImportError):
    """An optional library that is not installed; the message names the extra that brings it.

    >>> issubclass(MissingLibraryError, ImportError)
    True
    """


class KernelWarning(UserWarning):
    """A kernel that is not symmetric or not positive semidefinite: nothing is certified then.

    >>> issubclass(KernelWarning, UserWarning)
    True
    """


class OracleWarning(UserWarning):
    """An oracle that found no loss anywhere: either there is nothing to learn, or it is wrong.

    >>> issubclass(OracleWarning, UserWarning)
    True
    """


class ShardLostError(BlockwolfeError, RuntimeError):
    """A worker that held a part of the training set is gone for good.

    `result` has the weights of the last certificate with that certificate, and no dual point; it is
    None where there was none.

    >>> issubclass(ShardLostError, RuntimeError), ShardLostError("gone").result
    (True, None)
    """

    result: Any = None


class WorkerWarning(RuntimeWarning):
    """A worker process was lost, or could not be started.

    >>> issubclass(WorkerWarning, RuntimeWarning)
    True
    """


def unknown_option(
    argument: str, found: object, valid: Iterable[str], remedy: str = "", meant: str | None = None
) -> OptionError:
    """An `OptionError` that lists the valid names, and says which was meant and what may help.

    `meant` is for those who know better than `closest` does; "" where nothing can be meant.

    >>> print(unknown_option("method", "sgd", ["bcfw", "fw"]))
    method='sgd' is not known; valid: 'bcfw', 'fw'.
    >>> print(unknown_option("method", "bcwf", ["bcfw", "fw"]))
    method='bcwf' is not known; did you mean 'bcfw'? Valid: 'bcfw', 'fw'.
    """
    names = list(valid)
    near = closest(found, names) if meant is None else meant
    listed = ", ".join(repr(name) for name in names)
    told = f"did you mean {near!r}? Valid: {listed}" if near else f"valid: {listed}"
    return OptionError(f"{argument}={found!r} is not known; {told}.{remedy}")


def closest(found: object, valid: Iterable[str]) -> str | None:
    """The valid name that is spelt most like the one that was found; None where none is close.

    >>> closest("Chian", ["chain", "tree"]), closest("ring", ["chain", "tree"])
    ('chain', None)
    """
    if not isinstance(found, str):
        return None
    names = {name.lower(): name for name in map(str, valid)}
    # (only the beginning is compared: the time grows with the square of the length)
    near = get_close_matches(found[:_LONGEST_NAME].lower(), names, n=1, cutoff=_LIKENESS)
    return names[near[0]] if near else None
