"""Numba's compiler with fewer steps: the same functions, and options that are told apart."""

import numba
import numpy as np
import pytest
from numba.core.compiler import Flags

from blockwolfe.base import quick_compiler
from blockwolfe.base.compiled import jit
from blockwolfe.base.quick_compiler import QuickFlags


def test_the_insides_of_numba_are_those_that_are_known():
    """Fails where Numba is changed inside, so that compiling takes longer."""
    assert quick_compiler.is_known


def flags(**options):
    made = QuickFlags()
    for name, value in options.items():
        setattr(made, name, value)
    return made


SETS = [
    {},
    {"nrt": True},
    {"nrt": False},
    {"nrt": True, "forceinline": True},
    {"error_model": "numpy"},
    {"error_model": "python"},
    {"fastmath": {"contract"}},
    {"fastmath": {"reassoc"}},
    {"inline": "always"},
]


@pytest.mark.parametrize("one", SETS)
@pytest.mark.parametrize("other", SETS)
def test_options_are_equal_where_those_of_numba_are(one, other):
    """Which compares all values, set or not."""
    is_equal = Flags(flags(**one)) == Flags(flags(**other))
    assert (flags(**one) == flags(**other)) == is_equal
    assert (flags(**one) == Flags(flags(**other))) == is_equal
    assert (flags(**one) != flags(**other)) != is_equal
    if is_equal:
        assert hash(flags(**one)) == hash(flags(**other))


def test_options_are_found_by_what_is_set():
    """Numba's own have one hash for all, and are compared one by one."""
    assert len({hash(flags(**options)) for options in SETS}) >= 5
    assert flags(nrt=True).copy() == flags(nrt=True)
    assert flags() != "flags"


def test_compiled_with_those_options():
    seen = []

    class Seen(quick_compiler.QuickCompiler):
        def define_pipelines(self):
            pipelines = super().define_pipelines()
            seen.append({step.__name__ for step, _ in pipelines[0].passes})
            assert isinstance(self.state.flags, QuickFlags)
            return pipelines

    @numba.njit(pipeline_class=Seen)
    def counts(x):
        return (2.0 * x + 1.0).sum()

    @numba.njit(pipeline_class=Seen, _nrt=False)
    def plain(x):
        return x[0] + x.shape[0]

    x = np.arange(3.0)
    assert (counts(x), plain(x)) == (9.0, 3.0)
    assert "NopythonRewrites" in seen[0]
    assert not {"NopythonRewrites", "InlineClosureLikes"} & seen[1]


def test_closures_are_still_inlined():
    @jit
    def total(x, factor):
        def scaled(value):
            return factor * value

        found = 0.0
        for value in x:
            found += scaled(value)
        return found

    assert total(np.arange(3.0), 2.0) == 6.0
