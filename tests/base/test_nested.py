"""Functions that compiled code calls: part of their callers' code, and whole once Python calls."""

import numpy as np
import pytest
from numba import types

from blockwolfe.base import nested
from blockwolfe.base.compiled import inlined, jit


def make():
    """Fresh functions, so that nothing of them is compiled: a diamond of calls, three deep."""

    @jit
    def square(x, t):
        return x[np.uint64(t)] * x[np.uint64(t)]

    @jit(forceinline=True)
    def root(x, t):
        return np.sqrt(square(x, t)) + int(x[t])

    @inlined
    def both(x, t):
        return root(x, t) - 2.0 * square(x, t)

    @jit
    def total(x):
        found = 0.0
        for t in range(x.shape[0]):
            found += both(x, t)
        return found

    return square, root, both, total


X = np.array([1.5, -2.0, 0.25])
TOTAL = sum(abs(x) + int(x) - 2.0 * x * x for x in X)


def test_the_insides_of_numba_are_those_that_are_known():
    """Fails where Numba is changed inside, so that every function would be compiled in full."""
    assert nested.is_known


def test_callers_hold_the_code_of_what_they_call():
    square, root, _, total = make()
    assert total(X) == pytest.approx(TOTAL, abs=1e-15)
    assert len(total.signatures) == 1
    assert square.signatures == root.signatures == []


def test_a_function_that_was_nested_is_compiled_when_python_calls_it():
    square, _, both, total = make()
    total(X)
    assert square(X, 1) == 4.0
    assert len(square.signatures) == 1
    assert both(X, 0) == pytest.approx(1.5 + 1 - 4.5)


def test_a_function_that_python_has_called_is_nested_all_the_same():
    square, root, _, total = make()
    assert (square(X, 1), root(X, 1)) == (4.0, 0.0)
    assert total(X) == pytest.approx(TOTAL, abs=1e-15)


def test_other_types_are_other_code():
    *_, total = make()
    single = X.astype(np.float32)
    assert total(X) == total(single) == pytest.approx(TOTAL, abs=1e-15)
    assert len(total.signatures) == 2


def test_errors_of_nested_functions_reach_python():
    @jit
    def refuse(x):
        if x > 1:
            raise ValueError("too large")
        return x

    @jit
    def ask(x):
        return refuse(x) + 1

    assert ask(1) == 2
    with pytest.raises(ValueError, match="too large"):
        ask(2)


def test_what_one_caller_has_lost_another_still_gets():
    """The first calls it in a loop of no turns, which is gone before anything is linked."""

    @jit
    def leaf(x):
        return x * 2.0 if x > 1.0 else x / 3.0

    @jit
    def first(x):
        total = 0.0
        for _ in range(0):
            total += leaf(x)
        return total

    @jit
    def second(x):
        return leaf(x) + leaf(x + 1.0)

    @jit
    def outer(x):
        return first(x) + second(x)

    assert outer(3.0) == 14.0


def test_a_constant_is_a_number_like_others():
    """Else a function would be compiled once more for every constant that it is called with."""

    @jit
    def scaled(x, factor, is_halved):
        return x * factor / (2 if is_halved else 1)

    kinds = []
    template = scaled.get_call_template

    def watched(args, keywords):
        found = template(args, keywords)
        kinds.append(tuple(found[2]))
        return found

    scaled.get_call_template = watched

    @jit
    def total(x, n):
        return scaled(x, 0, True) + scaled(x, 3, False) + scaled(x, factor=n, is_halved=n > 2)

    assert total(2.0, 5) == 0.0 + 6.0 + 5.0
    assert set(kinds) == {(types.float64, types.int64, types.boolean)}
