"""Options in groups: a command takes few objects, the user sees every option."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

__all__ = ["grouped"]


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """The command with each dataclass among its parameters replaced by the fields of the class.

    Typer reads the signature, and makes an option of each field by its annotation and default.
    In the help, the options of a class that has a `panel` stand together under that title.

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
            annotation=_in_panel(hints[field.name], getattr(hint, "panel", None)),
        )
        for field in fields(hint)
    ]


def _in_panel(annotation: Any, panel: str | None) -> Any:
    """The annotation of an option, to be shown under a title; arguments stay where they are."""
    if panel is None or get_origin(annotation) is not Annotated:
        return annotation
    kind, *notes = get_args(annotation)
    placed = [_placed(note, panel) if isinstance(note, OptionInfo) else note for note in notes]
    return Annotated[(kind, *placed)]


def _placed(option: OptionInfo, panel: str) -> OptionInfo:
    made = copy(option)
    made.rich_help_panel = panel
    return made
