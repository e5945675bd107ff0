"""Compiled code that is kept on disk: never that of older sources, in whichever file they are."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from blockwolfe.base import (
    beside,
    compiled,
    nested,
    packed_type,
    piece_type,
    quick_compiler,
    rolled,
)
from blockwolfe.structures import chain

HELPER = """
from small.base.compiled import jit

FACTOR = {factor}

@jit
def times(x):
    return FACTOR * x
"""
CALLER = """
from small.base.compiled import jit
from small.helper import times

@jit
def times_and_one(x):
    return times(x) + 1
"""
RUN = """
from small.caller import times_and_one
print(times_and_one(10), sum(times_and_one.stats.cache_hits.values()))
"""


@pytest.fixture
def small(tmp_path):
    """A package with this library's `compiled` and two files: one calls what is in the other."""
    folder = tmp_path / "small"
    (folder / "base").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "base" / "__init__.py").touch()
    modules = (beside, compiled, nested, packed_type, piece_type, quick_compiler, rolled)
    for module in modules:
        source = Path(module.__file__)
        text = source.read_text().replace("blockwolfe.base", "small.base")
        (folder / "base" / source.name).write_text(text)
    (folder / "helper.py").write_text(HELPER.format(factor=2))
    (folder / "caller.py").write_text(CALLER)
    (folder / "plain.py").write_text("A = 1\n")
    return folder


def run(small, code=RUN):
    """What a fresh process computes, and how much of it was found on disk."""
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(small.parent / "cache"),
        "PYTHONPATH": str(small.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    value, n_hits = found.stdout.split()
    return int(value), int(n_hits)


def test_an_edit_in_another_file_is_noticed(small):
    assert run(small) == (21, 0)
    assert run(small) == (21, 1)
    (small / "helper.py").write_text(HELPER.format(factor=3))
    assert run(small) == (31, 0)
    assert run(small) == (31, 1)


PAIRS = """
from typing import NamedTuple
from small.base.compiled import jit

class {name}(NamedTuple):
    x: int

@jit
def times_and_one(pair):
    return 2 * pair.x + 1

call = times_and_one
PAIR = {name}(10)
"""
RUN_PAIRS = (
    RUN.replace("small.caller import times_and_one", "small.pairs import PAIR, call")
    .replace("times_and_one(10)", "call(PAIR)")
    .replace("times_and_one", "call")
)


def test_code_kept_for_a_class_that_is_gone_is_compiled_anew(small):
    """As after an upgrade in place, which leaves what Numba kept."""
    (small / "pairs.py").write_text(PAIRS.format(name="Pair"))
    assert run(small, RUN_PAIRS) == (21, 0)
    assert run(small, RUN_PAIRS) == (21, 1)
    (small / "pairs.py").write_text(PAIRS.format(name="Twin"))
    assert run(small, RUN_PAIRS) == (21, 0)


def test_what_is_not_compiled_or_only_touched_leaves_the_cache_alone(small):
    assert run(small) == (21, 0)
    (small / "plain.py").write_text("A = 2\n")
    for name in ("helper.py", "caller.py"):
        os.utime(small / name)
    assert run(small) == (21, 1)


def test_the_stamp_has_the_sources_in_it():
    """Fails where Numba is changed inside, so that its own stamp would silently be used."""
    digest = compiled.sources_digest(Path(compiled.__file__).parents[1])
    assert chain.maximize_into._cache._cache_file._source_stamp == (None, digest)
    of_its_file, same = compiled.jit(lambda x: x)._cache._cache_file._source_stamp
    assert of_its_file is not None  # (this file is not part of the package)
    assert same == digest


def test_other_insides_of_numba_are_left_alone():
    dispatcher = numba.njit(lambda x: x)
    assert compiled._valid_for_package(dispatcher) is dispatcher
    assert compiled._valid_for_package(object()) is not None
