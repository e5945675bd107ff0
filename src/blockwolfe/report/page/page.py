"""One HTML page: sections, figures that the page's own script draws, and the template."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from blockwolfe.base.markup import Html, element, joined, table

__all__ = ["Page", "facts", "named_table", "scrolling"]


class Page:
    """Sections in their order, and the numbers behind the figures by key."""

    def __init__(self, title: str, subtitle: str, footer: str) -> None:
        self.title, self.subtitle, self.footer = title, subtitle, footer
        self.sections: list[tuple[str, str, Html]] = []
        self.figures: dict[str, dict[str, Any]] = {}

    def section(self, key: str, title: str, *content: object) -> None:
        """One more section, with an anchor."""
        made = element("section", element("h2", title, id=key), *content, aria_labelledby=key)
        self.sections.append((key, title, made))

    def figure(self, key: str, spec: dict[str, Any]) -> Html:
        """Where the script draws a figure; `spec` is what it draws (see script.js)."""
        self.figures[key] = spec
        return element("figure", element("figcaption", spec["title"]), data_figure=key)

    def render(self) -> str:
        """The page as one self-contained file.

        Only this page's own script and style may run: the policy names their hashes.
        """
        style, script = _asset("style.css"), _asset("script.js")
        links = (element("a", title, href=f"#{key}") for key, title, _ in self.sections)
        return Template(_asset("page.html")).substitute(
            title=joined([self.title]),
            subtitle=joined([self.subtitle]),
            footer=joined([self.footer]),
            contents=joined(links),
            body=joined(made for _, _, made in self.sections),
            data=_embedded(self.figures),
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
        )


def scrolling(content: Html, label: str) -> Html:
    """Content that may be wider than a phone scrolls in its own box, also by keyboard."""
    return element("div", content, class_="scroll", tabindex=0, role="region", aria_label=label)


def facts(rows: list[tuple[str, str]]) -> Html:
    """Names and values as cards."""
    cards = (element("div", element("dt", name), element("dd", value)) for name, value in rows)
    return element("dl", *cards, class_="cards")


def named_table(rows: Sequence[tuple[object, ...]], header: tuple[str, ...], label: str) -> Html:
    """A table in a box of its own; nothing where there are no rows."""
    return scrolling(table(rows, header), label) if rows else Html("")


def _asset(name: str) -> str:
    return (files("blockwolfe.report.page") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a content security policy names a script or a style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _embedded(value: Any) -> str:
    """JSON that no HTML parser can take for markup; what is not finite becomes null."""
    text = json.dumps(_plain(value), allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.8g}") if math.isfinite(value) else None
    return value
