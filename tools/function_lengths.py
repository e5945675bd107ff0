"""How long the functions of a tree of Python files are: median, 90 % quantile, and the longest.

    python tools/function_lengths.py [FOLDER ...]      (default: src)

A body is counted in lines that are neither blank nor part of the docstring; a function inside
another one counts in both.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

N_LONGEST = 5


class Function(NamedTuple):
    """One function, and how many lines its body has."""

    lines: int
    where: str


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef, source: list[str]) -> int:
    """Lines of the body that are not blank, without the docstring."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if not body:
        return 0
    decorators = getattr(body[0], "decorator_list", [])
    first = min([body[0].lineno, *(decorator.lineno for decorator in decorators)])
    last = body[-1].end_lineno or first
    return sum(bool(line.strip()) for line in source[first - 1 : last])


def functions_in(folder: Path) -> Iterator[Function]:
    """Every function and method of the files below a folder."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                place = f"{path.relative_to(folder)}:{node.lineno} {node.name}"
                yield Function(body_lines(node, text.splitlines()), place)


def summary(folder: Path) -> tuple[float, float, list[Function]]:
    """Median, 90 % quantile, and all functions from the longest down."""
    found = sorted(functions_in(folder), reverse=True)
    lines = [function.lines for function in found]
    return float(np.median(lines)), float(np.quantile(lines, 0.9, method="lower")), found


def main(folders: list[str]) -> None:
    """Print the figures of each folder."""
    for folder in folders:
        median, high, found = summary(Path(folder))
        print(f"{folder}: {len(found)} functions, median {median:g} lines, 90 % at most {high:g}")
        for function in found[:N_LONGEST]:
            print(f"  {function.lines:4d}  {function.where}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["src"])
