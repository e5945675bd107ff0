"""Acceleration by proximal points: its centre, its strength, its certificates."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

CATALYST, ACCELERATED = "methods/catalyst.py", "tests/methods/test_catalyst.py"

MUTANTS = [
    Mutant(
        CATALYST,
        "        self.distance = 0.5 * self.lam * total",
        "        self.distance = 0.0",
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
        "methods/bcfw/engine.py",
        "super().take(found, gap - self._centre.distance)",
        "super().take(found, gap)",
        "the gap of the ledger holds the distance besides the gaps of blocks",
        ACCELERATED,
    ),
    Mutant(
        "methods/dual_engine.py",
        "weights = None if point.rest is None else point.weights",
        "weights = None",
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
