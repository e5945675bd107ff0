"""Excessive gap (Nesterov 2005; Zhang, Saha and Vishwanathan 2011).

With P_mu as in `smoothed`, w(alpha) = clip(v(alpha) / lam, l, u) and D as in the mathematics, the
method keeps a primal point w and a dual point alpha with an *excessive gap*:

    (E)  P_mu(w) <= D(alpha),    and so    P(w) - D(alpha) <= mu depth

Let a = alpha_mu(w) be the Gibbs distributions at w, which the maximum in P_mu(w) is at. A step of
size tau goes to

    u   = (1 - tau) alpha + tau a         w'     = (1 - tau) w + tau w(u)
    mu' = (1 - tau) mu                    alpha' = (1 - tau) alpha + tau a',   a' = alpha_mu'(w')

Why (E) holds again. What is maximised in P_mu', phi_w'(x) - mu' d(x) with phi_w(x) =
lam/2 |w|^2 + ell(x) - <w, v(x)>, is convex in w', and so at x = a' at most (1 - tau) (phi_w(x) -
mu d(x)) + tau phi_w(u)(x). Of these two terms

    phi_w(x) - mu d(x)  =  P_mu(w) - mu KL(x, a)  <=  D(alpha) - mu KL(x, a)
                       <=  D(u) + <grad D(u), alpha - u> - mu KL(x, a)       (D is concave)
    phi_w(u)(x)         =  D(u) + <grad D(u), x - u>                         (w(u) is best for u)

where KL is the divergence that goes with d. Since alpha' - u = tau (a' - a), and -D is smooth,

    P_mu'(w') <= D(alpha') + tau^2 |v(a') - v(a)|^2 / (2 lam) - mu' KL(a', a)

KL is at least |a'_i - a_i|_1^2 / 2 for each block (Pinsker), so that with R the mean square of
|psi_i(y)|, curvature = R / lam and tau^2 <= (1 - tau) mu / curvature, (E) holds again: mu falls as
1/k^2, and so does the gap. The first point is the step of size 1 from equal weights, with
mu = curvature. All of this holds for w within bounds.

No bound on the curvature is asked for. (E) itself is looked at after every trial, at no cost: P_mu'
is what the oracle returns. A trial that breaks it is given up, and the curvature is taken to
be larger; after one that keeps it, smaller. So the numbers prove (E) at every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from blockwolfe.base.checks import check_integer
from blockwolfe.base.compiled import uninterrupted
from blockwolfe.base.inner import inner
from blockwolfe.base.rounding import ROUNDING, UNITS
from blockwolfe.base.schema import Misfit, Reader
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.dual_engine import DualEngine
from blockwolfe.methods.every_part import check_parts
from blockwolfe.methods.excessive_gap.smoothed import Gibbs, Smoothed
from blockwolfe.problem.blocks import Blocks
from blockwolfe.problem.state import dual_value, weights_of, within_bounds
from blockwolfe.rules.registry import register
from blockwolfe.running.engine import Engine

__all__ = ["ExcessiveGap"]

# What becomes of the curvature after a trial that keeps the excessive gap, and after another.
FLATTER, STEEPER = 0.8, 2.0
# Below this, 1 / mu overflows.
LEAST_MU = 1e-200


@register
@dataclass(frozen=True)
class ExcessiveGap(Method):
    """Excessive gap: accelerated steps on a smoothed primal, whose gap falls as 1/k^2.

    It needs the expectation oracle (marginals) of all examples for every step, and keeps a few
    numbers for every part of every example. Its primal point is not that of its dual point:
    certificates pair the two, by a second full pass (``point="last"`` of `solve` leaves the primal
    point out, and the gap falls more slowly). Neither follows from a dual point alone, so it takes
    no `start`, and on a path it begins anew at every lambda.

    ``certify_every`` is the number of passes between certificates (each costs two oracle calls per
    example); one is also made when the bound on the gap, which every step knows, is small enough.

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> bw.solve(problem, 1.0, "excessive_gap", tol=1e-3).status.name
    'CERTIFIED'
    """

    name: ClassVar[str] = "excessive_gap"
    words: ClassVar[str] = "excessive gap"
    needs: ClassVar[tuple[str, ...]] = ("maximize", "marginals")
    takes_start: ClassVar[bool] = False
    sees_gaps: ClassVar[bool] = False

    certify_every: int = 10

    def __post_init__(self) -> None:
        check_integer("certify_every", self.certify_every, 1)

    @property
    def can_stall(self) -> bool:
        """Its gap falls until it is rounding."""
        return True

    @property
    def full_pass_every(self) -> float:
        """As asked for."""
        return float(self.certify_every)

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse what does not fit: the means of the dual point, and of two Gibbs distributions."""
        check_parts(self.name, blocks, n_each=7)

    def start(self, setup: Setup) -> Engine:
        """Steps, one after another."""
        return ExcessiveGapEngine(self, setup)


class Trial(NamedTuple):
    """A step, all but made."""

    tau: float
    w: np.ndarray
    mu: float
    gibbs: Gibbs
    v: np.ndarray  # of the dual point after it
    excess: float  # D - P_mu there
    is_sound: bool  # whether that is >= 0, as far as rounding lets one tell


class ExcessiveGapEngine(DualEngine):
    """One expectation of all blocks after another, each a trial of a step."""

    def __init__(self, method: ExcessiveGap, setup: Setup) -> None:
        super().__init__(setup, has_average=False, keeps_corners=False)
        self.method = method
        self.smoothed = Smoothed(self.blocks, self.workers)
        self._restart()

    def _restart(self) -> None:
        """Forget all but the dual point, which stays until the first step."""
        self.mu = math.inf  # until the first step
        self.curvature = 0.0  # until the uniform distribution was seen
        self.excess = 0.0  # D - P_mu
        self._own_w: np.ndarray | None = None
        self._gibbs: Gibbs | None = None  # at w and mu; None: to be asked for again

    def prepare(self) -> None:
        """Compile the oracle of expectations as well."""
        super().prepare()
        self.smoothed.prepare()
        none = self.point.store()
        self.point.blend(0.0, none._replace(ell=none.ell[:0]))

    # -- what it knows -------------------------------------------------------------------------

    @property
    def primal_w(self) -> np.ndarray | None:
        """The w of (E); None before the first step."""
        return self._own_w

    @property
    def pair_estimate(self) -> float:
        """What P(w) - D is at most, by (E), up to rounding."""
        return max(self.mu * self.smoothed.depth - self.excess, 0.0) if self.has_begun else math.inf

    @property
    def has_begun(self) -> bool:
        """Whether there is a point with an excessive gap."""
        return math.isfinite(self.mu)

    @property
    def has_visited_open(self) -> bool:
        """Every step moves all blocks."""
        return True

    @property
    def fewest_visits(self) -> int:
        """All blocks."""
        return self.n_blocks

    # -- steps ---------------------------------------------------------------------------------

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """One expectation of all blocks: a trial."""
        if not may_go_on():
            return
        if self.curvature == 0.0:
            self._look_around()
            return
        trial = self._tried(self._recalled())
        with uninterrupted():  # (all of the step or none)
            self._count()
            if trial.is_sound:
                self._take(trial)
            self.curvature *= FLATTER if trial.is_sound else STEEPER

    def _count(self) -> None:
        counts = self.ledger.counts
        self.ledger.notes.last_visit[:] = counts.visits
        counts.visits += self.n_blocks
        counts.oracle_calls += self.n_blocks

    def _look_around(self) -> None:
        """The uniform distribution, and a first guess at the curvature there.

        From the truth to there, d changes by `depth` and D by the numbers that are compared with
        it: a mu of their ratio is of the right size. Others are found in a few trials.
        """
        gibbs, lam = self.smoothed.uniform(), self.lam
        guess = (0.5 * inner(gibbs.v, gibbs.v) / lam + gibbs.ell) / (self.smoothed.depth or 1.0)
        with uninterrupted():
            self._count()
            self._gibbs = gibbs
            self.curvature = guess if LEAST_MU < guess < math.inf else 1.0

    def _recalled(self) -> Gibbs:
        """The Gibbs distributions at the present point; a checkpoint does not keep them."""
        if self._gibbs is None:
            if self._own_w is None:
                self._gibbs = self.smoothed.uniform()
            else:
                self._gibbs = self.smoothed.at(self._own_w, self.mu, self.lam)
        return self._gibbs

    def _tried(self, gibbs: Gibbs) -> Trial:
        """The step of the size that the curvature allows, if it is as it is taken to be."""
        blocks, lam, v, tau = self.blocks, self.lam, self.point.v, self._step_size()
        ahead = weights_of(blocks, (1.0 - tau) * v + tau * gibbs.v, lam)
        # (a mixture of points within bounds is, up to rounding)
        before = ahead if self._own_w is None else self._own_w
        w = within_bounds(blocks, (1.0 - tau) * before + tau * ahead)
        mu = (1.0 - tau) * self.mu if self.has_begun else self.curvature
        least = UNITS * gibbs.terms / (self.smoothed.depth or 1.0)  # (rounding alone is left)
        mu = max(mu, least, LEAST_MU)
        found = self.smoothed.at(w, mu, lam)
        v = (1.0 - tau) * v + tau * found.v
        ell = (1.0 - tau) * float(self.point.arrays.ell.sum()) + tau * found.ell
        excess = dual_value(blocks, v, ell, lam) - found.value
        noise = ROUNDING * (found.terms + ell + 0.5 * inner(v, v) / lam)
        return Trial(tau, w, mu, found, v, excess, excess >= -noise)

    def _step_size(self) -> float:
        """The largest tau with tau^2 <= (1 - tau) mu / curvature; the first step is whole."""
        if not self.has_begun:
            return 1.0
        return 2.0 / (1.0 + math.sqrt(1.0 + 4.0 * self.curvature / self.mu))

    def _take(self, trial: Trial) -> None:
        point = self.point
        point.make_room_for_means(self.blocks.marginal_size)
        point.blend(trial.tau, trial.gibbs.store)
        point.put(trial.v)
        self._own_w, self._gibbs = trial.w, trial.gibbs
        self.mu, self.excess = trial.mu, trial.excess
        self.ledger.counts.steps += 1

    # -- lambdas, checkpoints ----------------------------------------------------

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """And begin anew: what was smoothed at the lambda before has no excessive gap here."""
        super().shrink(rho, gap)
        self._restart()

    def move_to_loss(self) -> None:
        super().move_to_loss()
        self._restart()

    def to_save(self) -> dict[str, Any]:
        """And the primal point, and what (E) is made of."""
        own_w = np.zeros(0) if self._own_w is None else self._own_w
        return super().to_save() | {
            "gap.mu": self.mu,
            "gap.curvature": self.curvature,
            "gap.excess": self.excess,
            "gap.w": own_w,
            "gap.log_sizes": self.smoothed.log_sizes,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        self._restart()
        read, blocks = Reader(saved), self.blocks
        self.mu = read.number("gap.mu", least=LEAST_MU)
        self.curvature = read.number("gap.curvature", least=0.0)
        self.excess = read.number("gap.excess")
        sizes = read.array("gap.log_sizes", np.float64, (self.n_blocks,), least=0.0)
        self.smoothed.log_sizes = sizes
        if not self.has_begun:
            return
        self._own_w = read.array("gap.w", np.float64, (blocks.n_features,))
        if not self.allows(self._own_w):
            raise Misfit("gap.w has entries outside of the bounds.")
