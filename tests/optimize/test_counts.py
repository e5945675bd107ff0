"""Counts of the general form, against calls that were really made; options that do nothing."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe import optimize as bo
from general_runs import BALL, BLOCKS
from optimum import objectives

STEPS = ["fw", "pairwise", "away", "blended", "best", "corrective", "fcfw"]


def watched(domain):
    calls = []

    def asked(block):
        def oracle(gradient):
            calls.append(1)
            return block.minimize(gradient)

        return bo.Oracle(oracle, block.size, is_polytope=True)

    return bo.Product([asked(block) for block in domain.blocks]), calls


@pytest.mark.parametrize("method", STEPS)
@pytest.mark.parametrize("kind", ["least squares", "logistic"])
def test_calls_of_the_oracle(method, kind):
    """A visit after a certificate at the same point goes by its answer, and makes no call."""
    domain, calls = watched(BALL)
    f = objectives(11)[kind]
    result = bo.minimize(f, domain, method, 0.0, max_passes=25)
    counts = result.counts
    assert len(calls) - 1 == counts.oracle_calls + counts.certificate_calls  # (one for the start)
    assert counts.oracle_calls < counts.visits  # (there were certificates within the run)
    calls.clear()
    on = bo.minimize(f, domain, method, 0.0, start=result, max_passes=1).counts
    assert len(calls) == on.oracle_calls + on.certificate_calls
    assert (on.visits, on.oracle_calls) == (1, 0)


@pytest.mark.parametrize("step", STEPS[1:-1])
def test_calls_by_blocks(step):
    domain, calls = watched(BLOCKS)
    method = f"bcfw+gap+{step}"
    result = bo.minimize(objectives(11)["logistic"], domain, method, 0.0, max_passes=25)
    counts = result.counts
    assert len(calls) - 4 == counts.oracle_calls + counts.certificate_calls
    assert counts.oracle_calls == counts.visits


@pytest.mark.parametrize("kind", ["least squares", "logistic"])
def test_drops(kind):
    """An away step that is as long as can be leaves one atom less, and nothing of its weight."""
    result = bo.minimize(objectives(11)[kind], BALL, "away", 0.0, max_passes=60)
    n_fewer = int(np.sum(np.diff(result.trace["n_active"]) < 0.0))
    assert result.counts.drops == n_fewer > 0
    assert result.active_sets[0].weights.min() > 1e-9


@pytest.mark.parametrize("method", ["best", "bcfw+best"])
def test_every_line_is_searched_once(method):
    searched = Counter()

    @dataclass(frozen=True)
    class Noting(bo.ExactSearch):
        n_memory: ClassVar[int] = 1

        def choose(self, line, gamma_max, k, n_blocks, memory):
            searched[k] += 1
            memory[0] += 1.0
            return super().choose(line, gamma_max, k, n_blocks, memory)

    kind = bo.BlockFrankWolfe if method.startswith("bcfw") else bo.FrankWolfe
    f, options = objectives(11)["least squares"], {"tol": 0.0, "max_passes": 9, "random_state": 0}
    result = bo.minimize(f, BLOCKS, kind(step=bw.BestOf(), step_size=Noting()), **options)
    assert max(searched.values()) == 3
    same = bo.minimize(f, BLOCKS, method, **options)  # (the rule is the same)
    np.testing.assert_array_equal(result.x, same.x)


# -- options that would do nothing ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("fcfw+predefined", r"step_size=Predefined\(\) of method 'fcfw' is for objectives that"),
        (bo.FullyCorrective(share=0.5), "share=0.5 of method 'fcfw'"),
        (bo.FullyCorrective(max_steps=3), "max_steps=3 of method 'fcfw'"),
    ],
)
@pytest.mark.parametrize("kind", ["least squares", "quadratic", "squared norm"])
def test_options_of_corrections_are_refused_where_there_are_none(method, message, kind):
    domain, calls = watched(BALL)
    with pytest.raises(bw.OptionError, match=message):
        bo.minimize(objectives(11)[kind], domain, method)
    assert not calls
    assert bo.minimize(objectives(11)["logistic"], BALL, method, max_passes=1).counts.visits == 1


def test_wolfes_method_has_no_options():
    with pytest.raises(TypeError, match="share"):
        bo.MinNormPoint(share=0.5)
    with pytest.raises(bw.OptionError, match="predefined"):
        bo.minimize(bo.SquaredNorm(), BALL, "min_norm_point+predefined")
    f = objectives(11)["squared norm"]
    wolfe, other = (bo.minimize(f, BALL, name, 1e-12) for name in ("min_norm_point", "fcfw"))
    np.testing.assert_array_equal(wolfe.x, other.x)
