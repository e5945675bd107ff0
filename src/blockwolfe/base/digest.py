"""Digests of any Python values by their content: equal in every process, other for other content.

What pickle would write is hashed, with some values replaced by what they are made of: functions and
classes by their code and what it refers to (see `code_parts`), arrays by their entries in C order,
sets by their members in sorted order. A value that cannot be written down has no digest: none is
guessed.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.code_parts import (
    class_parts,
    code_parts,
    function_in,
    function_parts,
    is_known_by_name,
)
from blockwolfe.base.compiled import Piece

__all__ = ["NoDigestError", "digest_of"]

# Bytes of arrays that are written as they are; those of larger ones are hashed in their place.
SMALL = 4096
# What pickle writes as it is.
_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, list, tuple, dict})
# Attributes of estimators that hold an address.
_ADDRESSES = frozenset({"_stop_words_id"})


class NoDigestError(Exception):
    """A value whose content cannot be told, such as a lock, an open file or a generator."""


def digest_of(values: Iterable[Any], own: Iterable[str] = ()) -> str:
    """One digest of all values in turn, whatever they are kept in.

    The code of the packages named in `own` counts although they are installed.

    >>> digest_of([1, "a"]) == digest_of((1, "a")) != digest_of(["a", 1])
    True
    >>> digest_of([lambda x: x + 1]) == digest_of([lambda y: y + 1]) != digest_of([lambda x: x])
    True
    >>> digest_of([iter, (i for i in range(3))])
    Traceback (most recent call last):
    blockwolfe.base.digest.NoDigestError: cannot pickle 'generator' object
    """
    values, known = list(values) if isinstance(values, Iterator) else values, frozenset(own)
    try:
        try:
            return _Digester(known, is_cyclic=False).digest(values)
        except (ValueError, RecursionError):  # (so it is said that a value contains itself)
            return _Digester(known, is_cyclic=True).digest(values)
    except Exception as error:  # (a user's class may object in any way)
        raise NoDigestError(str(error)) from error


def _new_hash(content: Any = b"") -> Any:
    return hashlib.blake2b(content, digest_size=16)


class _Sink:
    """A file that is hashed and not kept."""

    def __init__(self) -> None:
        self.hash = _new_hash()
        self.write = self.hash.update


class _Digester(pickle.Pickler):
    """Hashes values, one after the other."""

    def __init__(self, own: frozenset[str], is_cyclic: bool) -> None:
        self._sink, self._own = _Sink(), own
        super().__init__(self._sink, protocol=5)
        # Without a memo values that are equal are written alike, whether or not they share parts.
        self.fast = not is_cyclic
        self._met: dict[int, tuple[int, Any]] = {}  # functions and classes, which go in circles

    def digest(self, values: Iterable[Any]) -> str:
        """Of all of them."""
        for value in values:
            self.dump(value)
            self.clear_memo()
        return str(self._sink.hash.hexdigest())

    def persistent_id(self, value: Any) -> Any:
        """What is written in place of a value; None for itself."""
        kind = type(value)
        if kind in _PLAIN:
            return None
        if kind in _REPLACED:
            return _REPLACED[kind](value)
        if isinstance(value, (set, frozenset)):
            members = sorted(digest_of([member], self._own) for member in value)
            return ("set", None if kind in (set, frozenset) else kind, members)
        if isinstance(value, type):
            known = is_known_by_name(value, self._own)
            return None if known else self._once(value, lambda: class_parts(value))
        return self._function(value) or _record(value)

    def _function(self, value: Any) -> Any:
        function = function_in(value)
        if function is None:
            return None
        if is_known_by_name(function, self._own, holder=value):
            return ("known", function.__module__, function.__qualname__)
        return self._once(function, lambda: function_parts(function, self._own))

    def _once(self, value: Any, parts: Any) -> Any:
        if id(value) in self._met:
            return ("again", self._met[id(value)][0])
        self._met[id(value)] = (len(self._met), value)
        return parts()


def _array(array: np.ndarray) -> Any:
    dtype = array.dtype
    if dtype.hasobject:
        return ("array", dtype.str, array.shape, array.ravel().tolist())
    content = array.tobytes() if array.nbytes <= SMALL else _hashed(array)
    # (in one piece: each part of it would be asked for its own replacement)
    return b"array %s %s %s" % (
        str(dtype.descr if dtype.names else dtype.str).encode(),
        str(array.shape).encode(),
        content,
    )


def _hashed(array: np.ndarray) -> bytes:
    entries = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return bytes(_new_hash(entries).digest())


def _record(value: Any) -> Any:
    """Sparse matrices and estimators: what they hold, without notes that they make on the way."""
    if sp.issparse(value):
        rows = value.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        indices = [part.astype(np.int64, copy=False) for part in (rows.indices, rows.indptr)]
        return ("sparse", type(value), value.shape, rows.data, indices)
    if _is_estimator(value):
        state = value.__getstate__()
        if isinstance(state, dict):
            state = {name: part for name, part in state.items() if name not in _ADDRESSES}
        return ("estimator", type(value), state)
    return None


def _is_estimator(value: Any) -> bool:
    """Whether it is one of scikit-learn's; where that is not loaded, nothing is."""
    base = sys.modules.get("sklearn.base")
    return base is not None and isinstance(value, base.BaseEstimator)


_REPLACED: dict[Any, Any] = {
    np.ndarray: _array,
    np.memmap: _array,
    types.CodeType: code_parts,
    types.ModuleType: lambda module: ("module", module.__name__),
    property: lambda given: ("property", given.fget, given.fset, given.fdel),
    classmethod: lambda given: ("classmethod", given.__func__),
    staticmethod: lambda given: ("staticmethod", given.__func__),
    Piece: lambda piece: ("piece", piece.function),
    functools.cached_property: lambda given: ("cached", given.func),
}
