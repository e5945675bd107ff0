"""Outermost functions whose loops LLVM leaves as they are: the same numbers, by less code."""

import os
import subprocess
import sys

import numba
import numpy as np

from blockwolfe.base import rolled
from blockwolfe.base.quick_compiler import quick_options

X = np.random.default_rng(0).normal(size=37)


def follow(x, out):
    """A loop in which every turn goes by the one before: no vectors can be made of it."""
    out[0] = x[0]
    for t in range(1, x.shape[0]):
        out[t] = 0.5 * out[t - 1] + x[t] * out[t - 1]
    return out[x.shape[0] - 1]


def test_the_insides_of_numba_are_those_that_are_known():
    """Fails where Numba is changed inside, so that compiling takes longer."""
    assert rolled.is_known


def test_loops_are_written_once_and_give_the_same_bits():
    plain = numba.njit(error_model="numpy", **quick_options())(follow)
    own = numba.njit(error_model="numpy", **rolled.rolled_options())(follow)
    found = [function(X, np.zeros_like(X)) for function in (plain, own, follow)]
    assert found[0] == found[1] == found[2]
    code = [function.inspect_llvm(function.signatures[0]) for function in (plain, own)]
    assert code[1].count(" fadd ") < code[0].count(" fadd ")


def test_code_that_is_kept_on_disk(tmp_path):
    """Such code is written, and read by another process, as any other."""
    lines = [
        "from blockwolfe.base.compiled import jit",
        "@jit(is_rolled=True)",
        "def total(x):",
        "    found = 0.0",
        "    for t in range(x.shape[0]):",
        "        found += x[t]",
        "    return found",
        "import numpy as np",
        "print(total(np.arange(4.0)), sum(total.stats.cache_hits.values()))",
    ]
    (tmp_path / "user.py").write_text("\n".join(lines))
    outside = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(tmp_path / "user.py")]
    said = [
        subprocess.run(command, env=outside, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert said == ["6.0 0\n", "6.0 1\n"]
