"""Files import from layers to their left and in no circle; public names are shown by example."""

import ast
import doctest
import graphlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import blockwolfe as bw

ROOT = Path(bw.__file__).parent

# Data flows one way; docs/layout.md has the picture.
LAYERS = [
    ["errors"],
    ["base"],
    ["rules"],
    ["results"],
    ["running"],
    ["optimize"],
    ["data"],
    ["kernels"],
    ["metrics"],
    ["structures"],
    ["features"],
    ["tasks"],
    ["problem"],
    ["dual"],
    ["methods"],
    ["distributed"],
    ["solving"],
    ["estimators"],
    ["comparison"],
    ["path"],
    ["report", "integrations"],
    ["datasets"],
    ["public"],
    ["__init__"],
    ["cli", "__main__"],
]
RANK = {layer: rank for rank, layers in enumerate(LAYERS) for layer in layers}


def layer_of(path):
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported_layers(path):
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
    own = layer_of(path)
    assert own in RANK, f"{own} has no place in the order of layers"
    for layer in imported_layers(path):
        assert RANK[layer] <= RANK[own], f"{path.name} ({own}) imports from {layer}, to its right"


# What the general form is built from; every other layer knows of SVMs.
GENERAL = {"errors", "base", "rules", "results", "running", "optimize"}


@pytest.mark.parametrize("layer", sorted(GENERAL))
def test_the_general_form_knows_nothing_of_the_svm(layer):
    sources = [path for path in SOURCES if layer_of(path) == layer]
    found = {imported for path in sources for imported in imported_layers(path)}
    assert sources
    assert found <= GENERAL


def module_of(path):
    """The dotted name of a file; a folder's is that of its `__init__`."""
    parts = ("blockwolfe", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def executed(body):
    """Statements that run when the file is imported: not those of functions or for type checkers."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from executed(node.orelse)
            continue
        yield node
        for field in ("body", "orelse", "finalbody", "handlers"):
            yield from executed(getattr(node, field, []))


def imported_modules(tree, modules):
    """Files that a file needs before it is complete itself."""
    for node in executed(tree.body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield inside if inside in modules else node.module


def import_graph(sources):
    """Which modules each module imports, from (name, text) pairs."""
    return {
        name: set(imported_modules(ast.parse(text), sources)) - {name}
        for name, text in sources.items()
    }


def test_no_import_circles():
    graph = import_graph({module_of(path): path.read_text() for path in SOURCES})
    assert graph["blockwolfe.tasks.chain"] >= {"blockwolfe.tasks.sequence", "blockwolfe.errors"}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail("files import each other in a circle: " + " <- ".join(error.args[1]))


@pytest.mark.parametrize(
    ("late", "is_circle"),
    [
        ("from a import x", True),
        ("import a", True),
        ("try:\n    import a\nexcept ImportError:\n    pass", True),
        ("class C:\n    from a import x", True),
        ("def f():\n    import a", False),
        ("if TYPE_CHECKING:\n    import a", False),
    ],
)
def test_circles_are_seen(late, is_circle):
    graph = import_graph({"a": "from b import c", "b": late, "b.c": "import b"})
    found = False
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError:
        found = True
    assert found == is_circle


def test_no_file_is_imported_under_two_names():
    """As a module and as a file of examples, say: two classes of one name are not the same class."""
    names = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and ROOT in Path(file).parents:
            names.setdefault(Path(file), set()).add(name)
    assert names[ROOT / "errors.py"] == {"blockwolfe.errors"}
    assert {str(file): twice for file, twice in names.items() if len(twice) > 1} == {}


TESTS = Path(__file__).parent


def test_folders_of_tests_mirror_the_folders_of_the_source():
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path()}
    missing = [str(folder) for folder in folders if not (ROOT / folder).is_dir()]
    assert not missing, f"tests/ has {missing}, which src/blockwolfe/ has not"


def test_functions_are_short():
    sys.path.insert(0, str(TESTS.parent / "tools"))
    try:
        from function_lengths import summary
    finally:
        del sys.path[0]
    median, high, _ = summary(ROOT)
    assert median <= 5
    assert high <= 17


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_small(path):
    assert len(path.read_text().splitlines()) <= 500


def public_objects():
    for module in (
        bw,
        bw.tasks,
        bw.datasets,
        bw.metrics,
        bw.optimize,
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
    for module in (bw, bw.tasks, bw.datasets, bw.metrics, bw.optimize):
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


def test_what_is_compiled_beside_a_run_loads_little():
    """Processes that compile for a first `fit` begin with these files."""
    files = [
        *("base.beside", "features.dense", "methods.bcfw.stepping", "problem.sweep"),
        *("tasks.multiclass_functions", "tasks.pieces", "tasks.sequence_functions"),
    ]
    code = (
        f"import importlib, sys\nfor file in {files}:\n"
        "    importlib.import_module('blockwolfe.' + file)\n"
        "assert not {'sklearn', 'scipy.optimize', 'rich'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
