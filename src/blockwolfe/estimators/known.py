"""Options as JSON; the classes that a file may name, and that are built when it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from blockwolfe.base.schema import Misfit
from blockwolfe.errors import InputError, ModelFileError
from blockwolfe.methods.bcfw.cache import Cache
from blockwolfe.rules import registry
from blockwolfe.tasks import losses
from blockwolfe.tasks.approximate.rough import ROUGH_ORACLES
from blockwolfe.tasks.registry import known_tasks, task_named

__all__ = ["decode", "encode", "is_known", "known_classes", "options_of"]


def known_classes() -> dict[str, type]:
    """All that a file may name; nothing else is ever constructed from one.

    >>> known_classes()["GapSampling"](refresh_every=5).refresh_every
    5
    """
    tasks = {name: task_named(name) for name in known_tasks()}
    others = (losses.ZeroOne, losses.Hamming, losses.CostMatrix, Cache, *ROUGH_ORACLES)
    return {**tasks, **{kind.__name__: kind for kind in others}, **registry.known_classes()}


def is_known(value: Any) -> bool:
    """Whether a file may name its class: one that is not registered may have the same name."""
    return known_classes().get(type(value).__name__) is type(value)


def options_of(value: Any) -> dict[str, Any]:
    """The arguments that make an object again."""
    if hasattr(value, "get_params"):
        return dict(value.get_params(deep=False))
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return dict(vars(value))


def encode(value: Any, name: str) -> Any:
    """Plain JSON, with one-key objects for what JSON lacks; `name` is said in errors.

    >>> encode((1, None), "bounds")
    {'tuple': [1, None]}
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return {type(value).__name__: [encode(v, name) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(k, name), encode(v, name)] for k, v in value.items()]}
    if is_known(value):
        return {type(value).__name__: {k: encode(v, k) for k, v in options_of(value).items()}}
    raise InputError(
        f"{name}={value!r} cannot be saved; options of numbers, strings, lists "
        "and dicts can. Leave it out and set it again after loading."
    )


def decode(value: Any, path: Path) -> Any:
    """The other way; `path` is said in errors.

    >>> decode({"tuple": [1, None]}, Path("model.npz"))
    (1, None)
    """
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise Misfit("an option is an object of several names; expected one, its class.")
    ((kind, inside),) = value.items()
    if kind == "dict":
        return {decode(k, path): decode(v, path) for k, v in inside}
    if kind in _SEQUENCES:
        return _SEQUENCES[kind]([decode(v, path) for v in inside])
    found = known_classes().get(kind)
    if found is None:
        raise ModelFileError(
            f"{path} names the unknown object {ascii(kind)[:60]}; if it is a class of your own, "
            "import the module that registers it before loading, else the file was altered."
        )
    return found(**{k: decode(v, path) for k, v in inside.items()})


_SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "ndarray": np.array,
}
