"""Full passes that are certificate and step in one: made once, kept for the step, counted once."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.schema import Reader
from blockwolfe.methods.dual_engine import DualEngine
from blockwolfe.problem.sweep import Sweep
from blockwolfe.results.certificate import Certificate

__all__ = ["FullPassEngine"]


class FullPassEngine(DualEngine):
    """Base of engines whose every iteration begins with the oracles of all blocks at one w.

    A subclass calls `_full_answers` for what they found, and `_forget_pass` once the point moves.
    """

    is_free_to_certify = True
    _found: tuple[Certificate, Sweep] | None = None
    _is_counted = False  # whether the next full pass was counted before a checkpoint

    def certify(self) -> Certificate:
        """All oracles at the current point; remembered for the next iteration."""
        return self._full_answers()[0]

    def _full_answers(self) -> tuple[Certificate, Sweep]:
        """The certificate of the current point, and the pass that it came from."""
        if self._found is None:
            found = self._full_pass(keep=True)
            with uninterrupted():
                self._found = found
                if not self._is_counted:
                    self._count_pass()
                self._is_counted = False
        return self._found

    def _count_pass(self) -> None:
        self.ledger.counts.oracle_calls += self.n_blocks

    def _forget_pass(self) -> None:
        """The point is about to move: what was found, or counted, was of where it is now."""
        self._found, self._is_counted = None, False

    @property
    def has_visited_open(self) -> bool:
        """Every iteration visits all blocks."""
        return True

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """And forget the full pass that was made before the move."""
        super().shrink(rho, gap)
        self._forget_pass()

    def to_save(self) -> dict[str, Any]:
        """A full pass that no step has followed is made again, but not counted again."""
        return super().to_save() | {"is_counted": self._found is not None or self._is_counted}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        self._found, self._is_counted = None, Reader(saved).flag("is_counted")
