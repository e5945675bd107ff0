"""Docstrings of this project as Markdown, for the reference pages of the documentation site.

Ours are plain text: examples begin with ``>>>``, sections have a line of dashes under them, and
their entries read ``name : what it is``. Markdown would make quotations and one long paragraph of
that. This turns examples into code blocks and entries into lists, and leaves the rest.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

ENTRY = re.compile(r"(\*{0,2}[A-Za-z_]\w*(?:, \*{0,2}\w+)*) : (.*)")
# Two entries may share a line: "lam_ : the lam used. n_iter_ : passes made."
NEXT = re.compile(r"\. (?=\w+_ : )")
# What Markdown is to read as it does: code and emphasised words.
CODE = re.compile(r"(``.+?``|`[^`\n]+`|(?<!\w)\*\w[^*\n]*\*(?!\w))")


def to_markdown(text: str) -> str:
    """The docstring as Markdown; blocks are separated by blank lines in both."""
    blocks: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        blocks += _block(block)
    return "\n\n".join(blocks)


def _block(block: str) -> list[str]:
    lines = block.splitlines()
    if lines[0].startswith(">>>"):
        return ["```pycon\n" + block + "\n```"]
    if any(line.startswith(">>>") for line in lines):
        first = next(k for k, line in enumerate(lines) if line.startswith(">>>"))
        return _block("\n".join(lines[:first])) + _block("\n".join(lines[first:]))
    if len(lines) > 1 and set(lines[1].strip()) == {"-"}:
        title = [f"**{lines[0].strip()}**"]
        return title + (_block("\n".join(lines[2:])) if lines[2:] else [])
    if lines[0].startswith("    "):
        return [block]
    if ENTRY.match(lines[0]):
        return ["\n".join(_entries(lines))]
    return [_escaped(block)]


def _entries(lines: list[str]) -> list[str]:
    entries: list[str] = []
    for line in NEXT.sub(".\n", "\n".join(lines)).splitlines():
        found = ENTRY.match(line)
        if found:
            names = ", ".join(f"**`{name}`**" for name in found[1].split(", "))
            entries.append(f"- {names}: {_escaped(found[2])}")
        else:
            entries[-1] += " " + _escaped(line.strip())
    return entries


def _escaped(text: str) -> str:
    """Without what Markdown would read as HTML or emphasis; code is left alone."""
    pieces = CODE.split(text)
    pieces[::2] = [re.sub(r"(?<=\w)\*(?=\W)", r"\\*", s.replace("<", "&lt;")) for s in pieces[::2]]
    return "".join(pieces)


class PlainDocstrings(griffe.Extension):
    """What mkdocstrings calls for every object that it reads."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of `obj`, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)
