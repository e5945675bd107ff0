"""Options in groups: a command takes few objects, the user sees every option."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

__all__ = ["grouped"]


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """The command with each dataclass among its parameters replaced by the fields of the class.

    Typer reads the signature, and makes an option of each field by its annotation and default.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Sizes:
    ...     width: int = 2
    ...     height: int = 3
    >>> @grouped
    ... def area(sizes: Sizes, unit: str) -> int:
    ...     return sizes.width * sizes.height
    >>> area(height=5, unit="m"), list(inspect.signature(area).parameters)
    (10, ['width', 'height', 'unit'])
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    names = {name: [field.name for field in fields(kind)] for name, kind in groups.items()}

    @wraps(command)
    def flat(**given: Any) -> int:
        made = {
            name: kind(**{part: given.pop(part) for part in names[name] if part in given})
            for name, kind in groups.items()
        }
        return command(**made, **given)

    own = inspect.signature(command).parameters
    listed = [part for name in own for part in _parameters(own[name], hints[name])]
    flat.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
    flat.__annotations__ = {part.name: part.annotation for part in listed}
    return flat


def _parameters(own: inspect.Parameter, hint: Any) -> list[inspect.Parameter]:
    """One parameter by name, or one for each field of a dataclass."""
    by_name = inspect.Parameter.KEYWORD_ONLY
    if not is_dataclass(hint):
        return [own.replace(kind=by_name, annotation=hint)]
    hints = get_type_hints(hint, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            by_name,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(hint)
    ]
