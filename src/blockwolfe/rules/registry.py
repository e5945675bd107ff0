"""Every method, step and sampling by its name.

One table feeds strings such as "bcfw+gap+pairwise", model files, the command line, the
documentation and the tests: a new choice is known everywhere once it is registered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, TypeVar

from blockwolfe.errors import OptionError, closest, unknown_option

__all__ = ["Choice", "from_words", "known", "known_classes", "names_of", "register", "words_of"]

# Families: methods of the SVM, of the general form, and what both are put together from.
_REGISTERED: dict[str, dict[str, type[Any]]] = {
    "method": {},
    "optimizer": {},
    "sampling": {},
    "step": {},
}
_OF_MODELS = ("method", "sampling", "step")  # families that model files know
_Registered = TypeVar("_Registered", bound=type[Any])


class Choice:
    """Base of methods, steps and samplings: a frozen dataclass of options, known by its name.

    `register` makes one known to strings such as "bcfw+gap", model files and the command line.
    """

    family: ClassVar[str]  # what it is a choice of: "method", "optimizer", "step" or "sampling"
    name: ClassVar[str]
    words: ClassVar[Any]  # it in a few words, for summaries: a string, or a property


def register(choice: _Registered) -> _Registered:
    """Make a method, step or sampling known by its name; a decorator of its class.

    >>> from dataclasses import dataclass
    >>> import blockwolfe as bw
    >>> @register
    ... @dataclass(frozen=True)
    ... class Backwards(bw.Sampling):
    ...     name, words = "backwards", "blocks in reverse"
    ...     def order(self, n_blocks, rng):
    ...         return list(range(n_blocks))[::-1]
    >>> bw.BCFW(sampling=Backwards()) == from_words("method", "bcfw+backwards")
    True
    >>> _REGISTERED["sampling"].pop("backwards") is Backwards
    True
    """
    is_choice = isinstance(choice, type) and issubclass(choice, Choice) and is_dataclass(choice)
    if not is_choice or getattr(choice, "family", None) not in _REGISTERED:
        raise OptionError(
            f"register: {choice!r} is not a dataclass derived from Method, Step or Sampling."
        )
    name = getattr(choice, "name", None)
    if not isinstance(name, str) or not name or "+" in name:
        raise OptionError(
            f"register: the name of {choice.__name__} is {name!r}; expected a word without '+', as "
            'in name = "pairwise".'
        )
    table = _REGISTERED[choice.family]
    before = table.get(name)
    if before is not None and _place(before) != _place(choice):
        raise OptionError(
            f"register: the {choice.family} {name!r} is {before.__qualname__} already; give "
            f"{choice.__name__} another name."
        )
    table[name] = choice
    return choice


def _place(choice: type[Any]) -> tuple[str, str]:
    return choice.__module__, choice.__qualname__


def known(family: str) -> dict[str, type[Any]]:
    """The choices of a family by name, in the order in which they were registered."""
    return dict(_REGISTERED[family])


def known_classes() -> dict[str, type[Any]]:
    """All choices by the name of their class, as model files have them."""
    return {
        choice.__name__: choice for family in _OF_MODELS for choice in _REGISTERED[family].values()
    }


# -- strings ---------------------------------------------------------------------------------------


def words_of(method: type[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The words that may follow a method's name, and the options that each sets."""
    options = {option.name for option in fields(method)}
    for family, table in _REGISTERED.items():
        for name, choice in table.items() if family in options else ():
            if method.sees_gaps or not getattr(choice, "needs_gaps", False):
                yield name, {family: choice()}
    yield from method.switches.items()


def names_of(family: str) -> list[str]:
    """Every method of a family, by the alphabet, and every one with one word after it."""
    methods = dict(sorted(_REGISTERED[family].items()))
    combined = [f"{name}+{word}" for name, m in methods.items() for word, _ in words_of(m)]
    return [*methods, *combined]


_OWN = " If it is your own, import the module that registers it first."


def from_words(family: str, text: str) -> Any:
    """A method from its name and the words after it.

    >>> import blockwolfe as bw
    >>> from_words("method", "bcfw+uniform+averaging").averaging
    True
    """
    head, *words = text.split("+")
    methods = _REGISTERED[family]
    if head not in methods:
        raise unknown_option("method", text, names_of(family), _OWN, _meant(family, text))
    chosen: Any = methods[head]()
    known_words = dict(words_of(type(chosen)))
    for word in words:
        if word not in known_words:
            valid = [head, *(f"{head}+{w}" for w in known_words)]
            raise unknown_option("method", text, valid, _OWN, _meant(family, text))
        chosen = replace(chosen, **known_words[word])
    return chosen


def _meant(family: str, text: str) -> str:
    """What was meant, word by word; empty where a word is like none."""
    head, *words = text.split("+")
    near = closest(head, _REGISTERED[family])
    if near is None:
        return ""
    valid = dict(words_of(_REGISTERED[family][near]))
    meant = [word if word in valid else closest(word, valid) for word in words]
    return "+".join([near, *filter(None, meant)]) if all(meant) else ""
