"""Text of strangers for terminals and pages: control characters are shown, not sent.

HTML is escaped by construction: only `element` makes `Html`, and it escapes all else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from math import isnan

__all__ = ["Html", "element", "joined", "number", "table", "visible"]

# All that steers a terminal or turns the direction of writing, but for tabs and ends of lines; and
# halves of surrogate pairs, which cannot be written at all.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""The text with what a terminal would obey as escapes that can be read, also in JSON.

    >>> print(visible("red \x1b[31m label"))
    red \u001b[31m label
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Html(str):
    """Text that is HTML already.

    >>> element("b", Html("<i>x</i>"))
    '<b><i>x</i></b>'
    """

    __slots__ = ()


def element(name: str, /, *children: object, **attributes: object) -> Html:
    """An element; children and values that are not `Html` are escaped.

    Underscores in names of attributes become hyphens, one at the end goes (``class_``); a value
    of True is an attribute without value, None and False leave it out.

    >>> element("td", "a < b", class_="wide", hidden=True, title=None)
    '<td class="wide" hidden>a &lt; b</td>'
    """
    made = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        made.append(f" {key.rstrip('_').replace('_', '-')}")
        if value is not True:
            made.append(f'="{escape(visible(str(value)))}"')
    made.append(">")
    return Html("".join([*made, *map(_escaped, children), f"</{name}>"]))


def joined(parts: Iterable[object], separator: str = "") -> Html:
    """Parts one after another, escaped unless they are `Html`."""
    return Html(escape(separator).join(map(_escaped, parts)))


def table(
    rows: Iterable[Sequence[object]], header: Sequence[object] = (), caption: object = None
) -> Html:
    """A table; without a header, the first cell of each row is its heading.

    >>> table([("gap", 0.1)])
    '<table><tbody><tr><th scope="row">gap</th><td>0.1</td></tr></tbody></table>'
    """
    parts = [] if caption is None else [element("caption", caption)]
    if header:
        heads = (element("th", cell, scope="col") for cell in header)
        parts.append(element("thead", element("tr", *heads)))
    parts.append(element("tbody", *(_row(row, is_headed=not header) for row in rows)))
    return element("table", *parts)


def _row(cells: Sequence[object], is_headed: bool) -> Html:
    made = [
        element("th", cell, scope="row") if is_headed and k == 0 else element("td", cell)
        for k, cell in enumerate(cells)
    ]
    return element("tr", *made)


def number(value: float, digits: int = 4) -> str:
    """A number for a cell; a dash where it is not known.

    >>> number(0.00012345), number(float("nan")), number(12)
    ('0.0001234', '-', '12')
    """
    return "-" if isnan(value) else f"{value:.{digits}g}"


def _escaped(part: object) -> str:
    return part if isinstance(part, Html) else escape(visible(str(part)))
