"""Tasks by name: what a model file says of its task, and who else asks which tasks there are."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar

from blockwolfe.errors import InputError, OptionError, unknown_option

__all__ = ["known_tasks", "register_task", "task_named"]

_Class = TypeVar("_Class", bound=type[Any])
_KNOWN: dict[str, type[Any]] = {}


def register_task(task_class: _Class) -> _Class:
    """Make a class of tasks known by its name; also as a decorator. Returns the class.

    A class that was defined again (in a notebook, say) replaces its earlier version; a name
    that another class has is refused.

    >>> import blockwolfe as bw
    >>> @bw.tasks.register
    ... class Sentiment(bw.tasks.Multiclass):
    ...     '''Three labels.'''
    >>> task_named("Sentiment") is Sentiment
    True
    """
    if not isinstance(task_class, type):
        raise InputError(f"{task_class!r} is no class; register the class of a task.")
    name = task_class.__name__
    other = _KNOWN.get(name, task_class)
    if (other.__module__, other.__qualname__) != (task_class.__module__, task_class.__qualname__):
        raise OptionError(
            f"a task named {name!r} is known already, from {other.__module__}; "
            "give this class another name."
        )
    _KNOWN[name] = task_class
    return task_class


def task_named(name: str) -> type[Any]:
    """The class of tasks of that name; an unknown name is an error that lists the known ones.

    >>> task_named("Chain").__name__
    'Chain'
    """
    if name not in known_tasks():
        raise unknown_option("task", name, known_tasks())
    return _KNOWN[name]


def known_tasks() -> tuple[str, ...]:
    """The names of all known tasks, sorted.

    >>> "Chain" in known_tasks()
    True
    """
    import_module("blockwolfe.tasks.public")
    return tuple(sorted(_KNOWN))
