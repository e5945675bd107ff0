"""Seeds of every kind that users have."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from blockwolfe.base.digest import digest_of
from blockwolfe.base.schema import Misfit
from blockwolfe.errors import OptionError

__all__ = ["generator", "plain_state", "restore_state", "seed_name"]


def generator(random_state: Any) -> np.random.Generator:
    """A generator from None, an integer, or a generator (numpy's old or new kind).

    None asks numpy's global one, as scikit-learn does: `np.random.seed` makes a program repeatable.

    >>> generator(0).integers(10)
    np.int64(8)
    """
    if random_state is None:
        random_state = np.random.randint(2**31)  # noqa: NPY002 (the global one is meant)
    elif isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"random_state={random_state!r} must be None, an integer >= 0 or a generator."
        ) from error


def seed_name(random_state: Any, rng: np.random.Generator) -> str | None:
    """What tells a seed, from which `rng` was made, from others; None where none was given.

    >>> seed_name(3, generator(3)), seed_name(None, generator(None))
    ('3', None)
    """
    if random_state is None or isinstance(random_state, numbers.Integral):
        return None if random_state is None else str(int(random_state))
    return f"generator {digest_of([plain_state(rng)])[:8]}"


def plain_state(rng: np.random.Generator) -> dict[str, Any]:
    """Where a generator stands, as plain values for a file.

    >>> rng, again = generator(0), generator(1)
    >>> again.bit_generator.state = plain_state(rng)
    >>> bool(again.random() == rng.random())
    True
    """
    return dict(_plain(rng.bit_generator.state))


def restore_state(rng: np.random.Generator, saved: Any) -> None:
    """Let a generator go on where `plain_state` of one of its kind stood.

    >>> restore_state(generator(0), {"bit_generator": "PCG64"})
    Traceback (most recent call last):
    ...
    blockwolfe.base.schema.Misfit: the random numbers are not where a PCG64 can be.
    """
    mine = _plain(rng.bit_generator.state)
    if not _is_alike(mine, saved):
        raise Misfit(f"the random numbers are not where a {mine['bit_generator']} can be.")
    rng.bit_generator.state = saved


# numpy takes any number for where in its buffer a generator is, and reads there
_MOST = {"pos": 624, "buffer_pos": 4, "has_uint32": 1}


def _is_alike(mine: Any, other: Any, name: str = "") -> bool:
    """Whether a state is of the same form, its numbers within range."""
    if isinstance(mine, dict):
        is_same = isinstance(other, dict) and mine.keys() == other.keys()
        return is_same and all(_is_alike(mine[key], other[key], key) for key in mine)
    if isinstance(mine, list):
        is_same = isinstance(other, list) and len(mine) == len(other)
        return is_same and all(map(_is_alike, mine, other))
    if isinstance(mine, str):
        return bool(mine == other)
    return type(other) is int and 0 <= other <= _MOST.get(name, 2**128 - 1)


def _plain(state: Any) -> Any:
    """Without arrays, which some bit generators have."""
    if isinstance(state, dict):
        return {name: _plain(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, (np.ndarray, np.generic)) else state
