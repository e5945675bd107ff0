"""The saddle point of the structured SVM, and the steps of dual extragradient towards it.

    min_w max_z  r(w) - <w, v(z)> + ell(z),    v(z) = sum_i weight_i F_i (truth_i - z_i)

with z_i in the polytope of the outputs of block i, and r(w) = lam/2 |w|^2 (w within its bounds),
or |w| <= radius and no r. Distances are sigma/2 |w|^2 plus sum_i weight_i d(z_i), with d(z_i) =
|z_i - truth_i|^2 / 2 or the negative entropy. With the sums over all steps so far

    W = sum eta u_w    Y = sum eta v(u_z)    E = sum eta

a step of size eta (Nesterov's dual extrapolation) is

    w = argmax <Y, w> - E r(w) - sigma/2 |w|^2         z = the means at (F^T W, E)      (`visits`)
    u = the same from (w, z) on, pushed by eta times the gradients at (w, z)
    W += eta u_w,  Y += eta v(u_z),  E += eta

The average of u, with eta for weights, is what is returned: its v is Y / E, its w is W / E. With
Phi the sum of both maxima at (W, Y, E), the *credit*

    c = Phi(0) + sum eta (ell(u_z) - r(u_w)) - Phi(W, Y, E)

bounds the gap of the averages: with w the best for their means, and z for their weights,

    P(W / E) - D(average of u_z) <= (sigma/2 |w|^2 + sum_i weight_i d(z_i) + Phi(0) - c) / E

No step lowers it whose eta times the Lipschitz constant of the gradients is at most one. So no
constant has to be known (where projections are cut short, Phi is too, and the bound is about as
good as they are): eta is longer after a step that did not lower the credit, shorter after
another, and stays where the credit is low. A first eta that is far too long spends it at once, and
the method begins again with a shorter one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockwolfe.base.inner import inner
from blockwolfe.base.rounding import ROUNDING
from blockwolfe.base.schema import Reader
from blockwolfe.methods.extragradient.visits import LOSS, N_OVERFLOWS, VALUE, Sums
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import Store, rebuild_v

__all__ = ["Saddle", "WeightSide"]

# What becomes of eta after a step whose credit did not fall, after another, and at a new beginning.
LONGER, SHORTER, ANEW = 1.2, 0.7, 0.25
# After k steps eta is longer by no more than this over k: the best grow in proportion to k, and an
# average is dominated by no step.
GROWTH = 2.0
# Arrays that a checkpoint holds.
VECTORS = ("W", "Y", "at_z", "at_u", "number")
# Steps after which it is too late to begin again.
EARLY = 10
# An eta beyond this has long made every mean a single output.
MOST, LEAST = 1e12, 1e-300


@dataclass(frozen=True)
class WeightSide:
    """Where w may be, and its maxima; `lam` is 0 where there is a radius in its place."""

    lam: float
    sigma: float
    radius: float | None
    lower: np.ndarray
    upper: np.ndarray

    def within(self, w: np.ndarray) -> np.ndarray:
        """The nearest weights that are allowed."""
        if self.radius is not None:
            length = float(np.sqrt(inner(w, w)))
            return w * (self.radius / length) if length > self.radius else w
        return np.clip(w, self.lower, self.upper) if len(self.lower) else w

    def weights(self, Y: np.ndarray, E: float) -> np.ndarray:
        """Of the first half step."""
        return self.within(Y / (self.sigma + E * self.lam))

    def pushed(self, w: np.ndarray, E: float, eta: float, v: np.ndarray) -> np.ndarray:
        """Of the second, from those of the first on."""
        bend = self.sigma + E * self.lam
        return self.within((bend * w + eta * v) / (bend + eta * self.lam))

    def value(self, Y: np.ndarray, E: float, w: np.ndarray) -> float:
        """<Y, w> - E r(w) - sigma/2 |w|^2."""
        return inner(Y, w) - 0.5 * (self.sigma + E * self.lam) * inner(w, w)

    def penalty(self, w: np.ndarray) -> float:
        """r(w)."""
        return 0.5 * self.lam * inner(w, w)


@dataclass
class Saddle:
    """The sums of all steps so far, and of the pass at work: vectors of the length of w alone."""

    blocks: Blocks
    eta: float
    side: WeightSide
    E: float = 0.0
    phi: float = 0.0  # Phi(0) + sum eta (ell(u_z) - r(u_w))
    credit: float = 0.0
    done: int = 0  # blocks that the pass at work has visited
    n_steps: int = 0  # since the last beginning
    n_begun: int = 1
    reach: float = field(init=False)  # about the largest distance of means
    W: np.ndarray = field(init=False)
    Y: np.ndarray = field(init=False)
    w: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.eta = min(self.eta, MOST)
        d, n_blocks = self.blocks.n_features, len(self.blocks)
        self.W, self.Y = np.zeros(d), np.zeros(d)
        self.at_z, self.at_u, self.number = np.zeros(d), np.zeros(d), np.zeros(3)
        none = np.zeros(n_blocks, dtype=np.int64)
        empty = Store(none, none, np.zeros(0, dtype=np.int32), np.zeros(0), np.zeros(n_blocks))
        self.true = rebuild_v(self.blocks, empty)  # sum_i weight_i F_i truth_i
        self.w = self.side.weights(self.Y, self.E)
        self.reach = inner(self.blocks.weight, self.blocks.part_size.astype(float))

    @property
    def is_fresh(self) -> bool:
        """Whether no visit was made since the last beginning."""
        return self.n_steps == 0 and self.done == 0

    @property
    def share(self) -> float:
        """Of the step at work in the average."""
        return self.eta / (self.E + self.eta)

    @property
    def average_w(self) -> np.ndarray:
        """W / E; before the first step, where w begins."""
        return self.side.within(self.W / self.E) if self.E > 0.0 else self.w

    def sums(self) -> Sums:
        """For the next visits."""
        return Sums(self.W, self.w, self.at_z, self.at_u, self.number)

    def begin(self, side: WeightSide, factor: float = 1.0) -> None:
        """Begin anew, with eta times a factor."""
        self.side, self.eta = side, max(self.eta * factor, LEAST)
        self.E = self.phi = self.credit = 0.0
        self.n_steps = 0
        self.W[:], self.Y[:] = 0.0, 0.0
        self.w = side.weights(self.Y, self.E)
        self._begin_pass()

    def _begin_pass(self) -> None:
        self.done = 0
        self.at_z[:], self.at_u[:], self.number[:] = 0.0, 0.0, 0.0

    def finish(self) -> bool:
        """The step, after all blocks were visited; False where the method begins again instead."""
        phi = self.number[VALUE] + self.side.value(self.Y, self.E, self.w)
        if self.n_steps == 0:
            self.phi = phi
        credit = self.phi - phi
        is_spent = self.n_steps <= EARLY and not credit >= -self.reach
        if self.number[N_OVERFLOWS] or is_spent:
            self.begin(self.side, ANEW)
            self.n_begun += 1
            return False
        factor = self._factor(credit, ROUNDING * (abs(self.phi) + abs(phi)))
        self._step()
        self.eta, self.credit = min(self.eta * factor, MOST), credit
        self._begin_pass()
        return True

    def _factor(self, credit: float, noise: float) -> float:
        """What becomes of eta, now that the credit after the step before this one is known."""
        if self.n_steps == 0:
            return 1.0
        if credit < self.credit - noise:
            return SHORTER
        is_low = credit < -0.5 * self.reach
        return 1.0 if is_low else min(LONGER, 1.0 + GROWTH / (self.n_steps + 1.0))

    def _step(self) -> None:
        side, eta = self.side, self.eta
        u = side.pushed(self.w, self.E, eta, self.true - self.at_z)
        self.W += eta * u
        self.Y += eta * (self.true - self.at_u)
        self.phi += eta * (float(self.number[LOSS]) - side.penalty(u))
        self.E += eta
        self.n_steps += 1
        self.w = side.weights(self.Y, self.E)

    # -- checkpoints ---------------------------------------------------------------------------

    def to_save(self) -> dict[str, Any]:
        """Everything, with names that no engine has."""
        numbers = ("E", "eta", "phi", "credit", "done", "n_steps", "n_begun")
        return {f"saddle.{name}": getattr(self, name) for name in (*VECTORS, *numbers)}

    def restore(self, saved: dict[str, Any], side: WeightSide) -> None:
        """Go on as before `to_save`."""
        read = Reader(saved)
        for name in VECTORS:
            own = getattr(self, name)
            own[:] = read.array(f"saddle.{name}", np.float64, own.shape)
        self.E = read.number("saddle.E", least=0.0)
        self.eta = read.number("saddle.eta", least=LEAST, most=MOST)
        self.phi = read.number("saddle.phi", or_nan=True)
        self.credit = read.number("saddle.credit", or_nan=True)
        self.done = read.integer("saddle.done", most=len(self.blocks) - 1)
        self.n_steps = read.integer("saddle.n_steps")
        self.n_begun = read.integer("saddle.n_begun", least=1)
        self.side, self.w = side, side.weights(self.Y, self.E)
