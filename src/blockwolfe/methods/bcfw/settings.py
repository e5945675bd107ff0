"""Block-coordinate Frank-Wolfe: its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from blockwolfe.base.checks import check_flag, check_integer, check_kind
from blockwolfe.errors import OptionError, unknown_option
from blockwolfe.methods.base import Method, Setup
from blockwolfe.methods.bcfw.cache import Cache, check_cache_cap
from blockwolfe.methods.bcfw.conjugate import Conjugate, check_conjugate
from blockwolfe.methods.bcfw.engine import BlockEngine
from blockwolfe.methods.catalyst import Catalyst, check_catalyst
from blockwolfe.problem.blocks import Blocks
from blockwolfe.rules.registry import known, register
from blockwolfe.rules.sampling import Permutation, Sampling
from blockwolfe.rules.steps import FW, Step
from blockwolfe.running.engine import Engine

__all__ = ["BCFW"]


def _named(family: str) -> list[str]:
    return [f"{choice.__name__}()" for choice in known(family).values()]


@register
@dataclass(frozen=True)
class BCFW(Method):
    """Block-coordinate Frank-Wolfe: one oracle call, one exact step, one block at a time.

    Parameters
    ----------
    sampling : `Permutation()`, `Uniform()`, `Cyclic()`, `GapSampling()` or `MaxGap()`.
    step : `FW()`, `Pairwise()`, `Away()`, `BestOf()`, `BlendedPairwise()` or `Corrective()`.
    cache : `Cache()` to let stored corners stand in for oracle calls, or None.
    averaging : return the weighted average of all iterates, with its own certificate.
        It often predicts better than the last iterate long before the optimum.
    certify_every : passes between certificates (each costs one oracle call per block).
        One is also made as soon as the gap estimate reaches `tol`.
    line_search : under bounds, "exact" or the shorter "safe" step of the paper.
    batch_size : blocks whose oracles are called together, at one w, before their steps are made
        one by one; by default more than one only where `n_jobs` and an expensive oracle make it
        pay. What was decided is in `result.method`.
    conjugate : `Conjugate()` for rounds of conjugate gradients over the weights of all stored
        corners between passes, or None. Not with averaging.
    catalyst : `Catalyst()` for visits at a larger lambda around a centre that moves, or None: fewer
        passes where lambda is small. Not with averaging or predefined steps; rounds of `conjugate`
        are made only when it is no longer at work.

    >>> BCFW(averaging=True).averaging
    True
    """

    name: ClassVar[str] = "bcfw"
    switches: ClassVar[dict[str, dict[str, Any]]] = {
        "predefined": {"step": FW(line_search=False)},
        "cache": {"cache": Cache()},
        "multiplane": {"cache": Cache(multi_plane=True)},
        "averaging": {"averaging": True},
        "conjugate": {"conjugate": Conjugate()},
        "catalyst": {"catalyst": Catalyst()},
    }

    sampling: Sampling = field(default_factory=Permutation)
    step: Step = field(default_factory=FW)
    cache: Cache | None = None
    averaging: bool = False
    certify_every: int = 10
    line_search: str = "exact"
    batch_size: int | None = None
    conjugate: Conjugate | None = None
    catalyst: Catalyst | None = None

    def __post_init__(self) -> None:
        check_kind("sampling", self.sampling, Sampling, _named("sampling"))
        check_kind("step", self.step, Step, _named("step"))
        if self.cache is not None:
            check_kind("cache", self.cache, Cache, ["Cache()", "None"])
        if self.conjugate is not None:
            check_kind("conjugate", self.conjugate, Conjugate, ["Conjugate()", "None"])
        if self.catalyst is not None:
            check_kind("catalyst", self.catalyst, Catalyst, ["Catalyst()", "None"])
            self._check_accelerated()
        check_flag("averaging", self.averaging)
        check_integer("certify_every", self.certify_every, 1)
        check_integer("batch_size", self.batch_size, 1, or_none=True)
        if self.has_hits and self.batch_size not in (None, 1):
            raise OptionError(
                f"batch_size={self.batch_size} with a cache: a visit calls its oracle only if its "
                "stored corners will not do, so there is no batch; leave one of the two out."
            )
        if self.conjugate is not None and self.averaging:
            raise OptionError(
                f"conjugate={self.conjugate} with averaging=True: the average is one over visits, "
                "and a round is none; leave one of the two out."
            )
        if self.line_search not in ("exact", "safe"):
            raise unknown_option("line_search", self.line_search, ["exact", "safe"])

    def _check_accelerated(self) -> None:
        """What acceleration does not go with."""
        if self.averaging or not self.step.line_search:
            other = "averaging=True" if self.averaging else f"step={self.step}"
            raise OptionError(
                f"catalyst={self.catalyst} with {other}: visits then are at a lambda that changes, "
                "and need exact steps and no average of them; leave one of the two out."
            )

    @property
    def words(self) -> str:
        """Sampling, steps, and what else it has."""
        parts = [self.sampling.words, self.step.words]
        if self.cache is not None:
            parts.append("multi-plane cache" if self.cache.multi_plane else "cache")
        parts += ["conjugate gradients"] if self.conjugate is not None else []
        parts += ["acceleration"] if self.catalyst is not None else []
        parts += ["averaging"] if self.averaging else []
        return ", ".join(parts)

    @property
    def full_pass_every(self) -> float:
        """The least of what certificates and the sampling rule ask for."""
        return min(self.certify_every, self.sampling.refresh_every)

    @property
    def keeps_corners(self) -> bool:
        """Whether blocks store their corners."""
        has_rounds = self.conjugate is not None
        return self.step.needs_corners or self.cache is not None or has_rounds

    @property
    def has_hits(self) -> bool:
        """Whether stored corners may stand in for oracle calls in any visit."""
        return self.cache is not None and not self.cache.multi_plane

    @property
    def is_monotone(self) -> bool:
        """With the exact line search, for the last iterate, and without acceleration."""
        return self.can_stall and self.catalyst is None

    @property
    def can_stall(self) -> bool:
        """With the exact line search, and for the last iterate."""
        return self.step.line_search and not self.averaging

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse a cap on the cache that is too small for any work, and what needs w itself."""
        check_cache_cap(self.cache, blocks)
        if self.conjugate is not None:
            check_conjugate(blocks)
        if self.catalyst is not None:
            check_catalyst(blocks)

    def start(self, setup: Setup) -> Engine:
        """Visits, pass after pass."""
        return BlockEngine(self, setup, self.keeps_corners)
