"""Single examples with their true and predicted outputs, as HTML."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from blockwolfe.base.markup import Html, element, joined
from blockwolfe.tasks.reading.inputs import Masked

__all__ = ["chip", "chips", "marked", "outputs_of", "row_text", "token_text", "words_of"]

MOST_POSITIONS = 80
MOST_FEATURES = 8
# Keys under which token dicts usually hold the word itself.
_WORD_KEYS = ("word", "form", "token", "text", "w")

_SCALARS = (str, int, float, np.generic)

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 240
_short.maxlist = _short.maxtuple = _short.maxarray = _short.maxdict = 12


def outputs_of(x: Any, y: Any, y_hat: Any, feature_names: Any = None) -> Html:
    """An example's true and predicted output: position by position, a label, or as Python says."""
    if _is_labels(y) and _is_labels(y_hat) and len(y) == len(y_hat):
        return _positions(words_of(x, len(y)), list(y), list(y_hat))
    if isinstance(y, _SCALARS) and isinstance(y_hat, _SCALARS):
        return _single(x, y, y_hat, feature_names)
    terms = (("true", y), ("predicted", y_hat), ("input", x))
    return joined(element("p", f"{name} ", element("code", _short.repr(v))) for name, v in terms)


def _is_labels(y: Any) -> bool:
    """Whether an output is a sequence of labels or numbers, one per position."""
    if isinstance(y, str) or not isinstance(y, (list, tuple, np.ndarray)) or not len(y):
        return False
    return all(np.ndim(label) == 0 and isinstance(label, _SCALARS) for label in y)


def _positions(words: list[str], truth: list[Any], guess: list[Any]) -> Html:
    return chips(
        chip(word, str(true), guess=str(found) if bool(true != found) else None)
        for word, true, found in zip(words, truth, guess, strict=True)
    )


def chip(
    word: str, label: str = "", *, guess: Any = None, right: str = "", wrong: str = ""
) -> Html:
    """One part of an output: a word and its label; a wrong guess, or a verdict of its own."""
    inside = [element("span", word, class_="word")] if word else []
    inside += [element("span", text, class_="label") for text in (label, right) if text]
    if guess is not None:
        spoken = element("span", "predicted ", class_="hidden-text")
        inside.append(element("span", spoken, f"✗ {guess}", class_="guess"))
    if wrong:
        inside.append(element("span", wrong, class_="guess"))
    return element("li", *inside, class_="wrong" if wrong or guess is not None else None)


def chips(parts: Iterable[Html]) -> Html:
    """Parts side by side; of very many the first."""
    made = list(parts)
    n_more = len(made) - MOST_POSITIONS
    more = [element("li", f"… {n_more} more")] if n_more > 0 else []
    return element("ol", *made[:MOST_POSITIONS], *more, class_="tokens")


def marked(
    truth: Set[Any],
    guess: Set[Any],
    text: Callable[[Any], tuple[str, ...]],
    nothing: str,
    possible: Set[Any] = frozenset(),
) -> Html:
    """Every item that is true or predicted: right, wrong or missed (`possible` ones are right)."""
    if not truth | guess:
        return element("p", f"{nothing} ✓")
    made = []
    for item in sorted(truth | guess):
        if item not in guess:
            made.append(chip(*text(item), wrong="✗ missed"))
        elif item in truth:
            made.append(chip(*text(item), right="✓"))
        elif item in possible:
            made.append(chip(*text(item), right="✓ possible"))
        else:
            made.append(chip(*text(item), wrong="✗ wrong"))
    return chips(made)


def _single(x: Any, y: Any, y_hat: Any, feature_names: Any) -> Html:
    is_wrong = bool(y != y_hat)
    verdict = element("span", str(y_hat), class_="bad" if is_wrong else "good")
    says = ["true ", element("b", y), ", predicted ", verdict, " ✗" if is_wrong else " ✓"]
    return element("p", *says, element("br"), element("code", row_text(x, feature_names)))


def row_text(x: Any, feature_names: Any) -> str:
    """The largest values of a row of numbers."""
    row = x.toarray().ravel() if sp.issparse(x) else np.asarray(x).ravel()
    if row.dtype.kind not in "biuf":
        return _short.repr(x)
    order = np.argsort(-np.abs(row.astype(np.float64)), kind="stable")
    kept = [k for k in order[:MOST_FEATURES] if row[k] != 0]
    names = [f"x[{k}]" if feature_names is None else str(feature_names[k]) for k in kept]
    shown = ", ".join(f"{name} = {row[k]:.4g}" for name, k in zip(names, kept, strict=True))
    n_more = int((row != 0).sum()) - len(kept)
    return (shown or "all zero") + (f", {n_more} more" if n_more else "")


def words_of(x: Any, length: int) -> list[str]:
    """A word for every position; empty where x has none to show."""
    features = x.features if isinstance(x, Masked) else x
    if not isinstance(features, (list, tuple)) or len(features) != length:
        return [""] * length
    return [token_text(token) for token in features]


def token_text(token: Any) -> str:
    """The word of a token: of a dict its "word", "form" or first string; of a row its first.

    >>> token_text({"bias": 1.0, "word.lower()": "cat"}), token_text(("the", "DT"))
    ('cat', 'the')
    """
    if isinstance(token, str):
        return token
    if isinstance(token, Mapping):
        strings = [(str(name).lower(), v) for name, v in token.items() if isinstance(v, str)]
        for key in _WORD_KEYS:
            for name, value in strings:
                if name == key or (len(key) > 1 and name.startswith(key)):
                    return value
        return strings[0][1] if strings else ""
    names = sorted(token) if isinstance(token, set) else token
    if isinstance(names, (list, tuple)) and names and isinstance(names[0], str):
        return names[0]
    return ""
