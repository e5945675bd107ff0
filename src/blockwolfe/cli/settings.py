"""Options of a task as text, ``name=value``; nothing is ever evaluated.

A value is written as in JSON or Python (``3``, ``0.5``, ``true``, ``null``, ``"a"``, ``[1, 2]``,
``{"a": 2}``); a loss by its name, with its options in brackets if there are any:
``hamming(normalize=false)``. Anything else is a string.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import warnings
from collections.abc import Iterable
from typing import Any

__all__ = ["GRAMMAR", "made_task", "parsed_value"]

GRAMMAR = (
    "A loss is hamming, zero_one or cost_matrix, with options in brackets: "
    "hamming(normalize=false, class_weight=balanced), cost_matrix([[0, 1], [5, 0]])."
)
_WORDS = {"true": True, "false": False, "null": None, "inf": math.inf}
_OBJECT = re.compile(r"\s*[A-Za-z_]\w*\s*\(")


def made_task(kind: Any, settings: Iterable[str], defaults: dict[str, Any] | None = None) -> Any:
    """An object of a class, with options as ``name=value``.

    >>> import blockwolfe as bw
    >>> made_task(bw.tasks.Chain, ["bias=false", "task_loss=hamming(normalize=true)"])
    Chain(bias=False, task_loss=Hamming(normalize=True))
    """
    valid = list(inspect.signature(kind).parameters)
    options = {name: value for name, value in (defaults or {}).items() if name in valid}
    for setting in settings:
        name, value = _named(setting, valid)
        is_ours = kind.__module__.startswith("blockwolfe.")
        options[name] = _checked_loss(value) if is_ours and name == "task_loss" else value
    return kind(**options)


def _named(setting: str, valid: list[str]) -> tuple[str, Any]:
    """Name and value of one setting."""
    from blockwolfe.errors import OptionError, unknown_option

    name, sign, text = setting.partition("=")
    if not sign:
        raise OptionError(f"--set {setting!r} must be name=value, for example bias=false.")
    if name in valid:
        return name, parsed_value(name, text)
    of_loss = {
        option for kind in _losses().values() for option in inspect.signature(kind).parameters
    }
    remedy = f" {name} is an option of losses. {GRAMMAR}" if name in of_loss else ""
    raise unknown_option("set", name, valid, remedy)


def parsed_value(name: str, text: str) -> Any:
    """The value of an option; text that is none of the known kinds is a string.

    >>> parsed_value("labels", '["a", "b"]'), parsed_value("labels", "B-NP")
    (['a', 'b'], 'B-NP')
    >>> parsed_value("task_loss", "cost_matrix([[0, 1], [5, 0]], normalize=true)")
    CostMatrix(costs=[[0, 1], [5, 0]], normalize=True)
    """
    try:
        return _value(name, _tree(text))
    except (_NoValueError, RecursionError) as error:
        if _OBJECT.match(text):
            raise _wrong(name, text) from error
        return text


class _NoValueError(Exception):
    """Text that is no value of a known kind."""


def _tree(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # (of backslashes in strings)
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _NoValueError from error


def _wrong(name: str, text: str) -> Exception:
    from blockwolfe.data.text import shortened
    from blockwolfe.errors import OptionError

    return OptionError(f"{name}={shortened(text)!r} cannot be read. {GRAMMAR}")


def _value(name: str, tree: ast.expr) -> Any:
    """What a piece of the text stands for."""
    found: Any
    match tree:
        case ast.Constant(value=bool() | int() | float() | str() | None):
            found = tree.value
        case ast.Name(id=word):
            found = _WORDS.get(word, word)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            found = -number
        case ast.List(elts=inside):
            found = [_value(name, each) for each in inside]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            found = {_key(key): _value(name, each) for key, each in pairs}
        case ast.Call(func=ast.Name(id=word), args=inside, keywords=named):
            given = {each.arg or "**": _value(name, each.value) for each in named}
            found = _loss(name, word, [_value(name, each) for each in inside], given)
        case _:
            raise _NoValueError
    return found


def _key(tree: ast.expr | None) -> Any:
    """A label: a word or a number."""
    if not isinstance(tree, (ast.Constant, ast.Name, ast.UnaryOp)):
        raise _NoValueError
    return _value("", tree)


def _losses() -> dict[str, Any]:
    """Every loss by its name, as in ``task_loss="zero_one"``, and by that of its class."""
    from blockwolfe.tasks import losses

    kinds = [getattr(losses, name) for name in losses.__all__]
    found = [kind for kind in kinds if isinstance(kind, type) and kind is not losses.Loss]
    named = {re.sub("(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in found}
    return named | {kind.__name__: kind for kind in found}


def _loss(name: str, word: str, inside: list[Any], given: dict[str, Any]) -> Any:
    from blockwolfe.base.checks import check_flag
    from blockwolfe.errors import OptionError, unknown_option

    known = _losses()
    if word not in known:
        snakes = [each for each in known if each.islower()]
        raise unknown_option(name, word, snakes, f" {GRAMMAR}")
    signature = inspect.signature(known[word])
    for option in given:
        if option not in signature.parameters:
            raise unknown_option(f"{name}={word}(...): option", option, signature.parameters)
    try:
        bound = signature.bind(*inside, **given)
    except TypeError as error:
        raise OptionError(f"{name}={word}(...): {error}. {GRAMMAR}") from error
    for option, value in bound.arguments.items():
        if isinstance(signature.parameters[option].default, bool):
            check_flag(f"{name}: {option}", value)  # (a word with a slip would count as true)
    return known[word](**bound.arguments)


def _checked_loss(value: Any) -> Any:
    """A loss that is known by name, or anything else that a task may take."""
    from blockwolfe.errors import OptionError
    from blockwolfe.tasks.losses import as_loss

    if not isinstance(value, str):
        return value
    try:
        as_loss(value)
    except OptionError as error:
        if value not in _losses():
            raise OptionError(f"{error} {GRAMMAR}") from error
        return _loss("task_loss", value, [], {})
    return value
