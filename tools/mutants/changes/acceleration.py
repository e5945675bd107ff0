"""Acceleration by proximal points: its centre, its strength, its certificates."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

CATALYST, ACCELERATED = "methods/catalyst.py", "tests/methods/test_catalyst.py"

MUTANTS = [
    Mutant(
        CATALYST,
        "= max(0.5 * self.lam * total, 0.0), visits",
        "= 0.0, visits",
        "the gap that is estimated leaves out how far w is from the dual point",
        ACCELERATED,
    ),
    Mutant(
        CATALYST,
        "moved = share * (now + beta * (now - before[part]))",
        "moved = share * (now - beta * (now - before[part]))",
        "the centre moves back in the place of on",
        ACCELERATED,
    ),
    Mutant(
        CATALYST,
        "point.raw, point.rest, self.strength / strength",
        "point.raw, point.rest, strength / self.strength",
        "w jumps where the strength changes",
        ACCELERATED,
    ),
    Mutant(
        CATALYST,
        "        if self.distance > left or is_slow:",
        "        if False:",
        "a strength that is too large stays: the run hardly moves",
        ACCELERATED,
    ),
    Mutant(
        CATALYST,
        "self._share_left(point) < MOST_LEFT",
        "self._share_left(point) < 1e9",
        "acceleration where blocks do not interfere: four times the visits",
        ACCELERATED,
    ),
    Mutant(
        "methods/accelerated.py",
        "            self._centre.take_up(self.point, pull, state.v)\n",
        "            pass\n",
        "a run that begins at a state of an accelerated one begins with far worse weights",
        ACCELERATED,
    ),
    Mutant(
        "methods/accelerated.py",
        "super().take(found, gap - self._centre.distance)",
        "super().take(found, gap)",
        "the gap of the ledger holds the distance besides the gaps of blocks",
        ACCELERATED,
    ),
    Mutant(
        "methods/dual_engine.py",
        "return None if self.point.rest is None else self.point.weights",
        "return None",
        "certificates are at v / lam while visits are elsewhere",
        ACCELERATED,
    ),
    Mutant(
        "running/driver.py",
        "if now.is_finite and not self.engine.is_settled:",
        "if False:",
        "an accelerated run stalls where its dual falls for long",
        ACCELERATED,
    ),
]
