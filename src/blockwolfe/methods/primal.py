"""What methods without a dual point have in common: weights, counts, a certificate of the primal.

A subgradient of (1) at w is lam w - sum_i weight_i psi_i(y_i) with the outputs y_i that the oracles
find at w: one full pass has it, and the value of (1) besides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.base.seeds import plain_state, restore_state
from blockwolfe.methods.base import Method, Setup
from blockwolfe.problem.certificate import primal_of, primal_value
from blockwolfe.problem.state import (
    Store,
    are_within_bounds,
    initial_state,
    rebuild_v,
    within_bounds,
)
from blockwolfe.problem.sweep import Sweep, listed, prepare, sweep
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.counts import Counts
from blockwolfe.results.restoring import record_of
from blockwolfe.running.engine import Engine
from blockwolfe.tasks.reading.inputs import checked_w

__all__ = ["PrimalEngine"]


class PrimalEngine(Engine):
    """Base of engines without a dual point; a subclass has `advance`, which moves `w`.

    It finds `lam`, `blocks`, `n_blocks`, `rng`, `counts` and its `method` here, may ask for
    `value_and_subgradient`, and says with `count` what it did. Where the weights to return are
    not `w` but, say, an average, it has a property `certified_w`. Attributes named in `kept` are
    part of a checkpoint, as are `w`, the counts and the random numbers.

    >>> import blockwolfe as bw
    >>> class Descent(bw.PrimalEngine):
    ...     def advance(self, max_visits, may_go_on):
    ...         if may_go_on():
    ...             _, slope = self.value_and_subgradient(self.w)
    ...             self.w = self.within_bounds(self.w - slope / self.lam / (self.counts.steps + 1))
    ...             self.count(steps=1)
    >>> class Batch(bw.Method):
    ...     name, words, has_dual = "batch", "batch subgradient", False
    ...     def start(self, setup):
    ...         return Descent(self, setup)
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> result = bw.solve(problem, 1.0, Batch(), max_passes=50)
    >>> result.certificate.primal < problem.primal([0, 0, 0, 0], 1.0), result.state
    (True, None)
    """

    kept: ClassVar[tuple[str, ...]] = ()
    w: np.ndarray = np.zeros(0)  # (each engine has its own)

    def __init__(self, method: Method, setup: Setup) -> None:
        self.method, self.lam, self.rng = method, setup.lam, setup.rng
        self.blocks, self.workers = setup.blocks, setup.workers
        self.n_blocks = len(setup.blocks)
        self.w = self.within_bounds(np.zeros(setup.blocks.n_features))
        self._counts = Counts(self.n_blocks)
        self._truth = initial_state(setup.blocks).store()
        self._own = setup.blocks.own()

    def prepare(self) -> None:
        """Compile whatever will run, so that no measured second goes into compiling."""
        prepare(self.blocks, self._truth, *self._own)

    # -- what subclasses work with -------------------------------------------------------------

    def within_bounds(self, w: np.ndarray) -> np.ndarray:
        """The weights nearest to w that the problem allows."""
        return within_bounds(self.blocks, w)

    def value_and_subgradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """(1) at any w, and a subgradient there, by one oracle call per block."""
        w = checked_w(w, self.blocks.n_features)
        found = self._ask(w, keep=True)
        self.count(visits=self.n_blocks, oracle_calls=self.n_blocks)
        return primal_value(self.blocks, found, self.lam), self.lam * w - self._psi(found)

    def count(self, **more: int) -> None:
        """Add to the counts, by their names in `Counts`."""
        added = {name: getattr(self._counts, name) + n for name, n in more.items()}
        self._counts = replace(self._counts, **added)

    def _ask(self, w: np.ndarray, keep: bool) -> Sweep:
        w = checked_w(w, self.blocks.n_features)  # (compiled code does not look at it again)
        return sweep(self.blocks, self._truth, w, *self._own, keep=keep, workers=self.workers)

    def _psi(self, found: Sweep) -> np.ndarray:
        """sum_i weight_i psi_i(y_i) of the outputs that were found."""
        outputs = listed(self.blocks, found.answers)
        at = (outputs.start, outputs.size, outputs.part, outputs.value)
        return rebuild_v(self.blocks, Store(*at, outputs.loss), self.workers)

    # -- what the driver asks ------------------------------------------------------------------

    @property
    def counts(self) -> Counts:
        """How much work was done."""
        return self._counts

    @property
    def fewest_visits(self) -> int:
        """A full pass."""
        return self.n_blocks

    def certify(self) -> Certificate:
        """What the weights to return are worth, by a full pass; no dual, and no gap."""
        w = self.certified_w
        found = self._ask(w, keep=False)
        self.count(certificate_calls=self.n_blocks)
        value = primal_of(self.blocks, found, w, self.lam)
        known = (value.exact, value.slack, value.resolution)
        return Certificate.primal_only(value.primal, self.n_blocks, self.lam, *known)

    def allows(self, w: np.ndarray) -> bool:
        """By the bounds of the problem."""
        return are_within_bounds(self.blocks, w)

    def to_save(self) -> dict[str, Any]:
        """Weights, counts, random numbers, and what is named in `kept`."""
        kept = {f"kept.{name}": getattr(self, name) for name in self.kept}
        counts, rng = vars(self._counts), plain_state(self.rng)
        return {"w": self.w, "counts": counts, "rng": rng, **kept}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        read = Reader(saved)
        self.w = read.array("w", np.float64, (self.blocks.n_features,))
        self._counts = record_of(Counts, read.inside("counts"))
        if self._counts.n_blocks != self.n_blocks:
            raise Misfit(f"counts has {self._counts.n_blocks} blocks; expected {self.n_blocks}.")
        restore_state(self.rng, read.given("rng"))
        for name in self.kept:
            setattr(self, name, _alike(getattr(self, name), read, f"kept.{name}"))
        self._check_scores()

    def _check_scores(self) -> None:
        """Refuse vectors of a file whose scores by a kernel are not those of their coefficients.

        (Steps are linear in w, scores and all: from a false one no true objective follows.)
        """
        kernel, shape = self.blocks.kernel, (self.blocks.n_features,)
        for name in ("w", *self.kept) if kernel is not None else ():
            given = getattr(self, name)
            if np.shape(given) == shape and not kernel.is_complete(given):
                raise Misfit(f"{name} has scores that are not those of its coefficients.")


def _alike(present: Any, read: Reader, name: str) -> Any:
    """A value of a file that is of the kind of the one that a fresh engine has."""
    if isinstance(present, np.ndarray):
        return read.array(name, present.dtype.type, present.shape, is_finite=False)
    found = read.given(name)
    number = (int, float, np.integer, np.floating)
    is_alike = type(found) is type(present) or (
        isinstance(found, (int, float)) and isinstance(present, number)
    )
    if present is not None and not is_alike:
        raise Misfit(f"{name} is of another kind than in a run.")
    return found
