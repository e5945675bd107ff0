"""Compiled functions as values: called by their address, with their errors, by position."""

import subprocess
import sys

import numba
import numpy as np
import pytest
from numba import types

from blockwolfe.base.compiled import Piece, call, jit

SIGNATURE = types.float64(types.float64[::1], types.int64)


@jit
def entry(x, i):
    if i > 2:
        raise ValueError("no such entry")
    return x[i]


@jit
def twice(x, i):
    return 2.0 * x[i]


@jit
def total(pieces, x, n):
    found = 0.0
    for i in range(n):
        found += pieces[0](x, i) + 10.0 * pieces[1](x, i)
    return found


X = np.array([1.0, 2.0, 4.0, 8.0])


def test_functions_of_one_signature_share_the_code_of_their_callers():
    one, two = Piece(entry, SIGNATURE), Piece(twice, SIGNATURE)
    before = len(total.signatures)
    assert total((one, two), X, 3) == 7.0 + 10.0 * 14.0
    assert total((two, one), X, 3) == 14.0 + 10.0 * 7.0
    assert len(total.signatures) == before + 1
    assert numba.typeof(one) == numba.typeof(two)
    assert numba.typeof(one) != numba.typeof(
        Piece(entry, types.float64(types.float64[::1], types.int32))
    )


def test_arguments_are_made_those_of_the_signature_where_that_is_safe():
    @jit
    def narrow(piece, x):
        return piece(x, np.int32(1))

    @jit
    def wrong(piece, x):
        return piece(x, 0.5)

    @jit
    def short(piece, x):
        return piece(x)

    piece = Piece(entry, SIGNATURE)
    assert narrow(piece, X) == 2.0
    for function in (wrong, short):
        with pytest.raises(Exception, match="mismatch of argument types|expected 2 arguments"):
            function(piece, X)


def test_an_error_inside_is_the_callers():
    pieces = (Piece(twice, SIGNATURE), Piece(entry, SIGNATURE))
    with pytest.raises(ValueError, match="no such entry"):
        total(pieces, X, 4)


def test_a_piece_of_a_users_own_function_is_that_function():
    def plain(x, i):
        return -x[i]

    own = numba.njit(plain)
    piece = Piece(own, SIGNATURE)
    assert total((piece, piece), X, 2) == -33.0
    assert piece(X, 1) == -2.0


def test_python_calls_the_function_that_the_piece_was_made_of():
    piece = Piece(twice, SIGNATURE)
    assert piece(X, 3) == 16.0
    assert piece(X.astype(np.float32), 0) == 2.0  # (other types than those of the signature)


RAISING = """
from numba import types
from blockwolfe.base.compiled import Piece, call, jit
from blockwolfe.base.packed import Packed, unpack

@jit
def twice(x):
    return 2.0 * x

class Raising(Piece):
    @property
    def address(self):
        raise KeyboardInterrupt

@jit
def called(piece, x):
    return piece(x)

@jit
def unpacked(packed, x):
    piece, other = unpack(packed)
    return piece(x) + other

signature = types.float64(types.float64)
plain, raising = Piece(twice, signature), Raising(twice, signature)
assert called(plain, 2.0) == 4.0
assert unpacked(Packed((plain, 1.0), "pair"), 2.0) == 5.0
for function, argument in ((called, raising), (unpacked, Packed((raising, 1.0), "pair of others"))):
    try:
        function(argument, 2.0)
    except KeyboardInterrupt:
        print("heard")
"""


def test_what_is_raised_while_arguments_are_taken_apart_is_heard():
    """And is no crash of the whole process."""
    done = subprocess.run(
        [sys.executable, "-c", RAISING], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["heard", "heard"]), done.stderr


def test_data_may_hold_functions_of_numba():
    """They have a type and no address."""

    @numba.njit
    def twice(x):
        return 2.0 * x

    @jit
    def applied(data, x):
        return data[0](x) + data[1]

    assert call(applied, "a dispatcher in a tuple", (twice, 1.0), 3.0) == 7.0
