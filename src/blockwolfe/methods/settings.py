"""Methods and their options: small objects, checked when they are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_flag, check_integer, check_kind
from blockwolfe.errors import OptionError, unknown_option
from blockwolfe.methods.base import Engine, Method, Setup
from blockwolfe.methods.bcfw.cache import Cache, check_cache_cap
from blockwolfe.methods.bcfw.sampling import (
    Cyclic,
    GapSampling,
    MaxGap,
    Permutation,
    Sampling,
    Uniform,
)
from blockwolfe.methods.bcfw.steps import (
    FW,
    Away,
    BestOf,
    BlendedPairwise,
    Corrective,
    Pairwise,
    Step,
)
from blockwolfe.problem.blocks import Blocks

__all__ = ["BCFW", "Auto", "FrankWolfe", "Method", "as_method"]


_SAMPLINGS = ["Permutation()", "Uniform()", "Cyclic()", "GapSampling()", "MaxGap()"]
_SAMPLING_WORDS: dict[type, str] = {
    Permutation: "random permutations",
    Uniform: "uniform sampling",
    Cyclic: "blocks in turn",
    GapSampling: "gap sampling",
    MaxGap: "largest gap first",
}
_STEP_WORDS: dict[type, str] = {
    FW: "Frank-Wolfe steps",
    Pairwise: "pairwise steps",
    Away: "away steps",
    BestOf: "best of three steps",
    BlendedPairwise: "blended pairwise steps",
    Corrective: "corrective steps",
}
_PREDEFINED = "predefined steps"
_STEPS = ["FW()", "Pairwise()", "Away()", "BestOf()", "BlendedPairwise()", "Corrective()"]


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
        one by one; by default more than one only where `n_jobs` and a dear oracle make it pay.

    >>> BCFW(sampling=Uniform(), averaging=True).averaging
    True
    """

    name: ClassVar[str] = "bcfw"

    sampling: Sampling = field(default_factory=Permutation)
    step: Step = field(default_factory=FW)
    cache: Cache | None = None
    averaging: bool = False
    certify_every: int = 10
    line_search: str = "exact"
    batch_size: int | None = None

    def __post_init__(self) -> None:
        check_kind("sampling", self.sampling, Sampling, _SAMPLINGS)
        check_kind("step", self.step, Step, _STEPS)
        if self.cache is not None:
            check_kind("cache", self.cache, Cache, ["Cache()", "None"])
        check_flag("averaging", self.averaging)
        check_integer("certify_every", self.certify_every, 1)
        check_integer("batch_size", self.batch_size, 1, or_none=True)
        if self.cache is not None and self.batch_size not in (None, 1):
            raise OptionError(
                f"batch_size={self.batch_size} with a cache: a visit calls its oracle only if its "
                "stored corners will not do, so there is no batch; leave one of the two out."
            )
        if self.line_search not in ("exact", "safe"):
            raise unknown_option("line_search", self.line_search, ["exact", "safe"])

    @property
    def words(self) -> str:
        """Sampling, steps, and what else it has."""
        sampling, step = type(self.sampling), type(self.step)
        parts = [_SAMPLING_WORDS.get(sampling, sampling.__name__)]
        is_exact = self.step.line_search
        parts.append(_STEP_WORDS.get(step, step.__name__) if is_exact else _PREDEFINED)
        if self.cache is not None:
            parts.append("multi-plane cache" if self.cache.multi_plane else "cache")
        parts += ["averaging"] if self.averaging else []
        return ", ".join(parts)

    @property
    def full_pass_every(self) -> float:
        """The least of what certificates and the sampling rule ask for."""
        return min(self.certify_every, getattr(self.sampling, "refresh_every", np.inf))

    @property
    def keeps_corners(self) -> bool:
        """Whether blocks store their corners."""
        return self.step.needs_corners or self.cache is not None

    @property
    def is_monotone(self) -> bool:
        """With the exact line search, and for the last iterate."""
        return self.step.line_search and not self.averaging

    def check_blocks(self, blocks: Blocks) -> None:
        """The cap of the cache must leave room for the active sets."""
        check_cache_cap(self, blocks)

    def start(self, setup: Setup) -> Engine:
        """Visits block by block."""
        return _start(self, setup)


@dataclass(frozen=True)
class Auto(Method):
    """Gap sampling and active-set steps; a cache where it pays, which the first passes measure.

    What it chose, and why, is in `result.note` and in the trace.

    >>> Auto().averaging
    False
    """

    name: ClassVar[str] = "auto"

    averaging: bool = False

    def __post_init__(self) -> None:
        check_flag("averaging", self.averaging)

    @property
    def words(self) -> str:
        """What it chose is in the method of the result."""
        return "auto, averaging" if self.averaging else "auto"

    @property
    def is_monotone(self) -> bool:
        """For the last iterate."""
        return not self.averaging

    @property
    def full_pass_every(self) -> float:
        """As of the methods it chooses from."""
        return BCFW(sampling=GapSampling()).full_pass_every

    def start(self, setup: Setup) -> Engine:
        """Visits that choose how to go on."""
        return _start(self, setup)


@dataclass(frozen=True)
class FrankWolfe(Method):
    """Batch Frank-Wolfe: all oracles, then one joint step; every iteration is certified for free.

    ``line_search=False`` takes the predefined step 2/(k+2).

    >>> FrankWolfe(line_search=False)
    FrankWolfe(line_search=False)
    """

    name: ClassVar[str] = "fw"

    line_search: bool = True

    def __post_init__(self) -> None:
        check_flag("line_search", self.line_search)

    @property
    def words(self) -> str:
        """Whether its steps are predefined."""
        return "batch Frank-Wolfe" if self.line_search else f"batch Frank-Wolfe, {_PREDEFINED}"

    @property
    def is_monotone(self) -> bool:
        """With the exact line search."""
        return self.line_search

    @property
    def full_pass_every(self) -> float:
        """Every pass is one."""
        return 1.0

    def start(self, setup: Setup) -> Engine:
        """Joint steps of all blocks."""
        return _start(self, setup)


def _start(method: Method, setup: Setup) -> Engine:
    from blockwolfe.methods.engines import make_engine  # (which knows the settings)

    return make_engine(method, *setup)


_BCFW_WORDS: dict[str, Callable[[Any], Any]] = {
    "uniform": lambda method: replace(method, sampling=Uniform()),
    "permutation": lambda method: replace(method, sampling=Permutation()),
    "cyclic": lambda method: replace(method, sampling=Cyclic()),
    "gap": lambda method: replace(method, sampling=GapSampling()),
    "maxgap": lambda method: replace(method, sampling=MaxGap()),
    "predefined": lambda method: replace(method, step=FW(line_search=False)),
    "pairwise": lambda method: replace(method, step=Pairwise()),
    "away": lambda method: replace(method, step=Away()),
    "best": lambda method: replace(method, step=BestOf()),
    "blended": lambda method: replace(method, step=BlendedPairwise()),
    "corrective": lambda method: replace(method, step=Corrective()),
    "cache": lambda method: replace(method, cache=Cache()),
    "multiplane": lambda method: replace(method, cache=Cache(multi_plane=True)),
    "averaging": lambda method: replace(method, averaging=True),
}


def as_method(method: Any) -> Method:
    """A method from its name, or itself.

    >>> as_method("bcfw+uniform+averaging").averaging
    True
    """
    if isinstance(method, Method):
        return method
    if not isinstance(method, str):
        raise OptionError(
            f"method={method!r} is neither a name nor a method object such as BCFW()."
        )
    head, *words = method.split("+")
    if head == "fw":
        return _with_words(FrankWolfe(), method, words, {"predefined": _predefined_batch})
    if head == "auto":
        return _with_words(Auto(), method, words, {"averaging": _BCFW_WORDS["averaging"]})
    if head == "bcfw":
        return _with_words(BCFW(), method, words, _BCFW_WORDS)
    combined = [f"bcfw+{word}" for word in _BCFW_WORDS]
    raise unknown_option("method", method, ["auto", "bcfw", "fw", *combined])


def _predefined_batch(method: FrankWolfe) -> FrankWolfe:
    return replace(method, line_search=False)


def _with_words(method: Any, name: str, words: list[str], known: dict[str, Any]) -> Any:
    for word in words:
        if word not in known:
            base = name.split("+", maxsplit=1)[0]
            raise unknown_option("method", name, [base, *(f"{base}+{w}" for w in known)])
        method = known[word](method)
    return method
