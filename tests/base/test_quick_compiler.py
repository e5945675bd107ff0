"""Numba's compiler with fewer steps: the same functions, and options that are told apart."""

import numba
import numpy as np
import pytest
from numba import types
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


def test_calls_are_remembered_while_an_outermost_function_is_compiled(monkeypatch):
    """Sums of the same kinds are found out once, also inside others, and anew for the next one."""
    asked, own = [], quick_compiler._found_out

    def ask(function, context, args, keywords):
        asked.append(tuple(args))
        return own(function, context, args, keywords)

    monkeypatch.setattr(quick_compiler, "_found_out", ask)

    @jit
    def inner(x):
        return x + 1.0 + x + 1.0

    @jit
    def outer(x, k):
        return inner(x) + inner(x + x) + (k + k)

    assert outer(2.0, 3) == 6.0 + 10.0 + 6.0
    assert asked.count((types.float64, types.float64)) == 1
    assert "get_call_type" not in vars(types.Function)
    assert inner(2.0) == 6.0
    assert asked.count((types.float64, types.float64)) == 2


def test_nothing_stays_behind_where_compiling_fails():
    @jit
    def wrong(x):
        return x + "one"

    with pytest.raises(numba.errors.TypingError):
        wrong(1.0)
    assert "get_call_type" not in vars(types.Function)


def test_kinds_are_told_apart():
    """Signed, unsigned and real numbers, arrays by their order, and constants by their values."""

    @jit
    def halves(x, k, u, a):
        return x / 2, k // 2, u // u, a[1:] is a, a[1] + k, (x, k)[0] + (x, k)[1]

    a = np.arange(6, dtype=np.int32).reshape(3, 2)
    for array in (a, np.asfortranarray(a), a.astype(np.float32)):
        found = halves(3.0, 7, np.uint8(9), array[:, 0])
        assert found == (1.5, 3, 1, False, array[1, 0] + 7, 10.0)
