"""How the help of every command looks, and what is said of names that are not known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group", "did_you_mean", "usage_error"]


class _Flags:
    """Flags are shown without a type: there is nothing to be given to them."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""
        return params


class Command(_Flags, TyperCommand):
    """One command."""


class Group(_Flags, TyperGroup):
    """The program, and commands that have others."""


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """A question before the list of valid names; empty where no name is close.

    >>> did_you_mean("metod", ["method", "tol"])
    'did you mean method? '
    """
    from blockwolfe.errors import closest

    near = closest(name, valid)
    return "" if near is None else f"did you mean {near}? "


def usage_error(error: Any) -> str:
    """One line for an error in the way a command was called."""
    context: Any = getattr(error, "ctx", None)
    if context is None or getattr(error, "possibilities", None) is None:
        text = error.format_message().rstrip(".")
    else:  # an option that does not exist
        known = [name for p in context.command.get_params(context) for name in p.opts]
        hint = did_you_mean(error.option_name, known).rstrip()
        text = f"{error.message}; {hint}" if hint else error.message
    path = context.command_path if context is not None else "blockwolfe"
    return f"{text}{'' if text.endswith('?') else '.'} See {path} --help."
