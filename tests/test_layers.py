"""A file imports only from layers to its left, and every public name is documented by example."""

import ast
import doctest
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import blockwolfe as bw

ROOT = Path(bw.__file__).parent

# Data flows one way; see docs/decisions.md for the order.
LAYERS = [
    ["errors"],
    ["base"],
    ["data"],
    ["structures"],
    ["features"],
    ["tasks"],
    ["problem"],
    ["results"],
    ["dual"],
    ["methods"],
    ["running"],
    ["estimators"],
    ["comparison"],
    ["path"],
    ["report", "integrations"],
    ["datasets"],
    ["public"],
    ["__init__"],
    ["cli", "__main__"],
]
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}


def room_of(path):
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "blockwolfe":
                yield parts[1] if len(parts) > 1 and parts[1] in RANK else "__init__"


SOURCES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_left(path):
    own = room_of(path)
    assert own in RANK, f"{own} has no place in the order of layers"
    for room in imported_rooms(path):
        assert RANK[room] <= RANK[own], f"{path.name} ({own}) imports from {room}, to its right"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_small(path):
    assert len(path.read_text().splitlines()) <= 500


def public_objects():
    for module in (
        bw,
        bw.tasks,
        bw.datasets,
        bw.structures.chain,
        bw.structures.choice,
        bw.structures.spanning_tree,
    ):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value) or hasattr(value, "py_func"):
                yield pytest.param(value, id=f"{module.__name__}.{name}")


@pytest.mark.parametrize("value", list(public_objects()))
def test_public_names_have_a_running_example(value):
    """The examples themselves are run by pytest's doctest collection, except jitted ones: here."""
    text = inspect.getdoc(value)
    assert text, "no docstring"
    if getattr(value, "__name__", "") == "maximize_into":
        return  # the in-place kernel behind `maximize`, whose example covers it
    examples = doctest.DocTestParser().get_examples(text)
    assert examples, "no example in the docstring"
    if hasattr(value, "py_func"):  # a dispatcher, which doctest's finder passes over
        import numpy as np

        test = doctest.DocTestParser().get_doctest(
            text, {"np": np, value.__name__: value}, value.__name__, None, 0
        )
        assert doctest.DocTestRunner().run(test).failed == 0


def test_public_names_are_listed():
    for module in (bw, bw.tasks, bw.datasets):
        assert len(set(module.__all__)) == len(module.__all__)
        for name in module.__all__:
            assert hasattr(module, name)


def test_importing_the_package_is_cheap_and_complete():
    """Names are loaded when the first is asked for, also after a module of the package was."""
    code = (
        "import blockwolfe.comparison.compare\n"
        "import blockwolfe as bw\n"
        "assert 'solve' in dir(bw) and callable(bw.compare) and bw.tasks.Chain\n"
        "assert not hasattr(bw, 'nothing')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
    code = "import sys, blockwolfe; assert not {'numba', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
