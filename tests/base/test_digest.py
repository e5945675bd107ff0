"""Digests: equal for equal content in every process, other for other content, or none."""

import copy
import functools
import os
import subprocess
import sys
import threading
import types
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

import blockwolfe as bw
from blockwolfe.base import code_parts
from blockwolfe.base.digest import SMALL, NoDigestError, digest_of


def digest(value, own=()):
    return digest_of([value], own)


# -- code ------------------------------------------------------------------------------------------

SOURCE = """
import functools
import helpers
from helpers import scale

TABLE = {"a": [1, 2]}
LIMIT = 3

def helper(x):
    return x + LIMIT

@functools.lru_cache
def remembered(x):
    return x + 5

class Base:
    def base(self):
        return 7

class Task(Base):
    option = 11

    def __init__(self, given=13):
        self.given, self.own = given, lambda x: x + 17

    def method(self, x, by=19):
        return helper(x) + len(TABLE["a"]) + remembered(x) + by + scale(x) + helpers.shift(x)

    def nested(self, values):
        return [helper(v) for v in values if v in {"p", "q", "r"}]

    def __call__(self):
        try:
            return 23
        except ValueError:
            return 29

    def imports(self):
        from helpers import late
        return late()

    def unused(self):
        return [].copy(), self.TABLE

    @property
    def shown(self):
        return 31

    @staticmethod
    def static():
        return 37

    @classmethod
    def of_class(cls):
        return 41

    @functools.cached_property
    def kept(self):
        return 43
"""
HELPERS = """
FACTOR = 47
def scale(x):
    return FACTOR * x
def shift(x):
    return x + 53
def late():
    return 59
def unrelated():
    return 61
"""


@pytest.fixture
def made(monkeypatch):
    """A task of a module with such a source, and one of helpers."""

    def make(source=SOURCE, helpers=HELPERS):
        monkeypatch.setitem(sys.modules, "helpers", module_of("helpers", helpers))
        return module_of("tasks_of_mine", source).Task()

    return make


def module_of(name, source):
    module = types.ModuleType(name)
    exec(compile(source, f"{name}.py", "exec"), vars(module))
    return module


# Changes anywhere in what a task may come to: text, and what stands there instead.
CHANGES = {
    "[1, 2]": "[1, 3]",
    "LIMIT = 3": "LIMIT = 4",
    "x + LIMIT": "x - LIMIT",
    "return x + 5\n\nclass": "return x + 6\n\nclass",
    "return 7": "return 8",
    "option = 11": "option = 12",
    "given=13": "given=14",
    "x + 17": "x + 18",
    "by=19": "by=20",
    '"q"': '"s"',
    "return 23": "return 24",
    "except ValueError": "except KeyError",
    "return 31": "return 32",
    "return 37": "return 38",
    "return 41": "return 42",
    "return 43": "return 44",
    "FACTOR = 47": "FACTOR = 48",
    "x + 53": "x + 54",
    "return 59": "return 60",
}


@pytest.mark.parametrize("found", CHANGES)
def test_any_change_of_code_that_counts_is_seen(made, found):
    assert (SOURCE + HELPERS).count(found) == 1
    before = digest(made())
    assert digest(made()) == before
    changed = (source.replace(found, CHANGES[found]) for source in (SOURCE, HELPERS))
    assert digest(made(*changed)) != before


def test_changes_that_do_not_count(made):
    moved = SOURCE.replace("class Base", "\n\n# a remark\nclass Base")
    unrelated = HELPERS.replace("return 61", "return 67")
    assert digest(made()) == digest(made(moved, unrelated))
    task = made()
    remembered = task.method.__globals__["remembered"]
    before = digest(task)
    remembered(1)  # (what a cache holds is not what the task is)
    assert digest(task) == before


def test_values_that_a_function_encloses_or_is_given():
    def make(enclosed, default=0):
        def function(x, y=default):
            return x + y + enclosed

        return function

    assert digest(make(1)) == digest(make(1))
    assert len({digest(f) for f in (make(1), make(2), make(1, 3), print)}) == 4
    partial = functools.partial(make(1), 2)
    assert digest(partial) == digest(functools.partial(make(1), 2)) != digest(make(1))


@numba.njit
def jitted(x):
    return x + 1


def calls_jitted(x):
    return jitted(x)


def test_functions_that_were_jitted():
    again = numba.njit(lambda x: x + 1)
    other = numba.njit(lambda x: x + 2)
    assert digest(again) == digest(numba.njit(lambda x: x + 1)) != digest(other)
    renamed = types.FunctionType(calls_jitted.__code__, {"jitted": other})
    assert digest(calls_jitted) != digest(renamed)


def test_installed_code_is_known_by_name_unless_it_is_ones_own(monkeypatch):
    first, second = (
        module_of("installed", f"class Task:\n    def f(self):\n        return {k}\n")
        for k in (1, 2)
    )
    monkeypatch.setattr(code_parts, "_is_installed", lambda top: top == "installed")
    found = []
    for module in (first, second):
        monkeypatch.setitem(sys.modules, "installed", module)
        found.append((digest(module.Task()), digest(module.Task(), own=["installed"])))
    assert found[0][0] == found[1][0]
    assert found[0][1] != found[1][1]
    assert code_parts._is_library("numpy.linalg", frozenset({"blockwolfe"})) is False  # (patched)
    assert code_parts._is_library("blockwolfe.tasks", frozenset({"blockwolfe"}))


def test_where_packages_are_installed():
    assert code_parts._is_installed("sklearn")
    assert code_parts._is_installed("numpy")
    assert not code_parts._is_installed("test_digest")
    # (which stands in the folder of pytest here)
    assert not code_parts._is_library("__main__", frozenset())


# -- data ------------------------------------------------------------------------------------------


@dataclass
class Tree:
    name: str
    parent: "Tree | None" = None
    children: tuple["Tree", ...] = ()


def family(name="leaf"):
    root = Tree("root")
    root.children = (Tree("a", root), Tree(name, root))
    return root


LARGE = np.arange(SMALL, dtype=np.float64)
EQUAL = {
    "order": (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))),
    "large": (LARGE, np.stack([LARGE, LARGE], axis=1)[:, 0]),
    "shared": ([LARGE[:2]] * 2, [LARGE[:2], LARGE[:2].copy()]),
    "sets": ({"a", "b", "c"}, {"c", "b", "a"}),
    "circles": (family(), family()),
    "duplicates": (
        sp.csr_array(([1.0, 2.0, 3.0], [0, 0, 1], [0, 3]), shape=(1, 2)),
        sp.csr_array([[3.0, 3.0]]),
    ),
}
OTHER = {
    "dtype": (np.zeros(2), np.zeros(2, dtype=np.int64)),
    "shape": (np.zeros((2, 3)), np.zeros((3, 2))),
    "entry": (np.zeros(2), np.array([0.0, 1e-300])),
    "large entry": (LARGE, np.append(LARGE[:-1], 0.0)),
    "objects": (np.array(["a", {1}], dtype=object), np.array(["a", {2}], dtype=object)),
    "records": (np.zeros(2, [("a", "f8")]), np.zeros(2, [("b", "f8")])),
    "number": (1, 1.0),
    "nesting": ([[1], 2], [1, [2]]),
    "sets": ({"a", "b"}, {"a", "c"}),
    "circles": (family(), family("another")),
    "sparse": (sp.csr_array([[1.0, 0.0]]), sp.csr_array([[0.0, 1.0]])),
    "columns": (sp.csr_array((1, 2)), sp.csr_array((1, 3))),
    "options": (bw.tasks.Hamming(), bw.tasks.Hamming(normalize=True)),
    "class": (bw.tasks.Hamming(), bw.tasks.ZeroOne()),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_content(name):
    one, other = EQUAL[name]
    assert digest(one) == digest(other)


@pytest.mark.parametrize("name", OTHER)
def test_other_content(name):
    one, other = OTHER[name]
    assert digest(one) == digest(copy.deepcopy(one)) != digest(other)


def test_many_values_count_in_their_order():
    values = [1, "a", family(), 2.0]  # (one of them contains itself)
    assert digest_of(values) == digest_of(iter(values))
    for k, value in enumerate(values):
        assert digest_of(values) != digest_of([*values[:k], [value], *values[k + 1 :]])
        assert digest_of(values) != digest_of([*values[:k], *values[k + 1 :]])
    assert digest_of(values) != digest_of(values[::-1])


@pytest.mark.parametrize("made", [threading.Lock, lambda: (k for k in "ab"), lambda: sys.stdout])
def test_what_cannot_be_told_has_no_digest(made):
    with pytest.raises(NoDigestError):
        digest({"deep": [made()]})


def test_notes_that_estimators_and_matrices_make_do_not_count():
    words, rows = CountVectorizer().fit(["a text", "another"]), sp.csr_array(np.eye(2))
    before = digest([words, rows])
    words.transform(["a text"])
    assert rows.has_canonical_format
    assert digest([words, rows]) == before


def in_another_process(hash_seed):
    code = "import test_digest as t; print(t.digest([t.EQUAL, t.OTHER, t.family, t.Tree]))"
    places = [str(Path(bw.__file__).parents[1]), str(Path(__file__).parent)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(places),
        "PYTHONHASHSEED": str(hash_seed),
    }
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_digests_are_the_same_in_every_process():
    assert in_another_process(1) == in_another_process(2)
