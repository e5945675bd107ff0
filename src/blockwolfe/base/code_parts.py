"""What functions and classes are made of: their code, and the values that it refers to.

Other code may then be told from this one although it has the same name. The code of installed
packages, of Python and of this library is known by its name alone.
"""

from __future__ import annotations

import dis
import functools
import operator
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["class_parts", "code_parts", "function_in", "function_parts", "is_known_by_name"]

_THIS = __name__.partition(".")[0]
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_DESCRIPTORS = (types.FunctionType, property, classmethod, staticmethod)
# Attributes of a class that say nothing of what it does, and differ from process to process.
_BOOKKEEPING = frozenset({"_abc_impl"})


def is_known_by_name(value: Any, own: frozenset[str], holder: Any = None) -> bool:
    """Whether a function or class is found under its name in a package that is not one's own.

    `holder` is what stands there in place of the function, as a decorator left it.
    """
    module = getattr(value, "__module__", None) or ""
    if not _is_library(module, own):
        return False
    try:
        found = operator.attrgetter(value.__qualname__)(sys.modules[module])
    except (AttributeError, KeyError):
        return False
    return found is value or (holder is not None and found is holder)


def _is_library(module: str, own: frozenset[str]) -> bool:
    top = module.partition(".")[0]
    if top == _THIS or top in sys.stdlib_module_names:
        return True
    return top != "__main__" and top not in own and _is_installed(top)


@functools.cache
def _is_installed(top: str) -> bool:
    module = sys.modules.get(top)
    place = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")
    return not _INSTALLED.isdisjoint(Path(place).parts)


def function_in(value: Any) -> types.FunctionType | None:
    """The plain function in a function, one that was jitted, or one with a cache; else None."""
    if isinstance(value, types.FunctionType):
        return value
    is_cached = isinstance(value, functools._lru_cache_wrapper)
    inner = getattr(value, "__wrapped__" if is_cached else "py_func", None)
    return inner if isinstance(inner, types.FunctionType) else None


def function_parts(function: types.FunctionType, own: frozenset[str]) -> tuple[Any, ...]:
    """Code, defaults, what it encloses, its attributes, and the globals that it reads."""
    enclosed = [_content(cell) for cell in function.__closure__ or ()]
    read = list(_read(function.__code__, function.__globals__, own))
    defaults = (function.__defaults__, function.__kwdefaults__)
    return ("function", function.__code__, defaults, enclosed, vars(function), read)


def _content(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # (not filled yet)
        return ()


def _read(
    code: types.CodeType, namespace: dict[str, Any], own: frozenset[str]
) -> Iterator[tuple[list[str], Any]]:
    """Values that are read, with their names; of a module whose code counts, what is in it."""
    for first, names in _names_read(code, namespace):
        value = first
        for name in names:
            if not _is_open(value, own):
                break
            value = getattr(value, name, None)
        yield names, value
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _read(part, namespace, own)


def _names_read(code: types.CodeType, namespace: dict[str, Any]) -> list[tuple[Any, list[str]]]:
    """Globals and modules that are read, each with the names of attributes that follow."""
    found: list[tuple[Any, list[str]]] = []
    module, is_followed = None, False
    for step in dis.get_instructions(code):
        is_attribute = step.opname in ("LOAD_ATTR", "LOAD_METHOD")
        if is_attribute and is_followed:
            found[-1][1].append(step.argval)
        elif step.opname == "IMPORT_NAME":
            module = sys.modules.get(step.argval)
        elif step.opname == "IMPORT_FROM":
            found.append((module, [step.argval]))
        is_followed = is_attribute and is_followed
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval in namespace:
            found.append((namespace[step.argval], []))
            is_followed = True
    return found


def _is_open(value: Any, own: frozenset[str]) -> bool:
    """Whether it is a module whose code counts."""
    return isinstance(value, types.ModuleType) and not _is_library(value.__name__, own)


def code_parts(code: types.CodeType) -> tuple[Any, ...]:
    """What code does, without where it is written."""
    arguments = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_freevars, code.co_cellvars)
    return ("code", code.co_code, code.co_exceptiontable, code.co_consts, names, arguments)


def class_parts(kind: type) -> tuple[Any, ...]:
    """Bases, methods and attributes."""
    inside = [(name, part) for name, part in vars(kind).items() if _counts(name, part)]
    return ("class", kind.__qualname__, type(kind), kind.__bases__, inside)


def _counts(name: str, part: Any) -> bool:
    is_special = name.startswith("__") and name.endswith("__")
    return name not in _BOOKKEEPING and (not is_special or isinstance(part, _DESCRIPTORS))
