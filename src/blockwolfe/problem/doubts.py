"""Doubts about an oracle that is not ours, from its own answers and those of its task.

At w = 0 nothing but the loss counts, so that an exact oracle finds an output of largest loss. One
that finds no loss there for any example leaves w at zero with a gap of zero: right where no
example has another output, and a false certificate where the loss has a wrong sign.
"""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from blockwolfe.errors import OracleError, OracleWarning
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.python_task import PythonOracle
from blockwolfe.problem.user_oracle import OracleData

__all__ = ["check_answers", "check_losses", "is_foreign"]

# Examples, and outputs of each, among which one with a loss is looked for.
N_EXAMPLES, N_OUTPUTS = 20, 100
# How clearly another output must score higher, relative to the scores.
CLEARLY = 1e-6


def is_foreign(blocks: Blocks) -> bool:
    """Whether the oracle is a user's own."""
    return isinstance(blocks.data, (PythonOracle, OracleData))


def _claims(blocks: Blocks) -> bool:
    """Whether a wrong answer would make a false certificate."""
    return is_foreign(blocks) and (blocks.is_exact or blocks.bounds_error)


def check_losses(blocks: Blocks, w: np.ndarray, loss: np.ndarray) -> None:
    """Refuse, or doubt, an oracle whose answers for all blocks at w = 0 have these losses.

    Of an oracle with bounds they are those: what it finds may have none.
    """
    if loss.any() or w.any() or not _claims(blocks):
        return
    if isinstance(blocks.data, PythonOracle):
        _refuse_missed_loss(blocks, blocks.data)
    warnings.warn(
        "at w = 0 the oracle finds no output with a loss for any example, so that w = 0 is optimal "
        "and nothing is learned. Is the sign of the loss in the oracle right? "
        "blockwolfe.check_task(task, X, Y) tests it. If every example has one output only, ignore "
        "blockwolfe.errors.OracleWarning by warnings.simplefilter.",
        OracleWarning,
        stacklevel=2,
    )


def _refuse_missed_loss(blocks: Blocks, oracle: PythonOracle) -> None:
    for i in range(min(N_EXAMPLES, len(blocks))):
        for y in _outputs(blocks, oracle, i):
            loss = oracle.loss(i, y)
            if loss > 0.0:
                raise OracleError(
                    f"at w = 0 the oracle of example {i} returned an output without loss, but "
                    f"{y!r} has loss {loss:.6g}, so it does not maximise "
                    "L(y, .) + <w, phi(x, .)>. Is the sign of the loss in it right?"
                )


def _outputs(blocks: Blocks, oracle: PythonOracle, i: int) -> Iterator[Any]:
    """Outputs of an example that its task can name: by decoding, or from its list."""
    task, x = oracle.task, oracle.X[i]
    w = np.random.default_rng(i).normal(size=blocks.n_features)
    w = np.clip(w, blocks.lower, blocks.upper) if blocks.is_bounded else w
    with contextlib.suppress(Exception):  # (training needs neither of the two)
        yield from (task.decode(x, drawn) for drawn in (w, -w))
    listing = getattr(task, "outputs", None)
    if callable(listing):
        with contextlib.suppress(Exception):
            yield from itertools.islice(listing(x), N_OUTPUTS)


def check_answers(blocks: Blocks, order: np.ndarray, points: list[Any], found: list[Any]) -> None:
    """Refuse an oracle that one of its own answers, found at another w, would have beaten."""
    if not _claims(blocks):
        return
    for position, i in enumerate(order):
        corners = [_corner(sweep.answers, position) for sweep in found]
        for w, own, sweep in zip(points, corners, found, strict=True):
            claimed = _score(w, own) + float(sweep.slack[position])
            best = max(_score(w, corner) for corner in corners)
            if best > claimed + CLEARLY * (1.0 + abs(best) + abs(claimed)):
                raise OracleError(
                    f"the oracle of example {i} reached {claimed:.6g}, but its own answer at "
                    f"another w reaches {best:.6g} there, so it does not maximise "
                    "L(y, .) + <w, phi(x, .)>. Is the sign of the loss in it right? "
                    "Run blockwolfe.check_task(task, X, Y) to see what is wrong."
                )


def _corner(answers: Any, position: int) -> tuple[np.ndarray, np.ndarray, float]:
    begin = answers.start[position]
    end = begin + answers.size[position]
    return answers.code[begin:end], answers.value[begin:end], float(answers.loss[position])


def _score(w: np.ndarray, corner: tuple[np.ndarray, np.ndarray, float]) -> float:
    index, value, loss = corner
    return loss + float(np.dot(w[index], value))
