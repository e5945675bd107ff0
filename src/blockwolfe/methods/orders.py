"""What methods have in common whose visits do not tell the gap of a block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from blockwolfe.base.checks import check_integer, check_kind
from blockwolfe.errors import OptionError
from blockwolfe.methods.base import Method
from blockwolfe.rules.registry import known
from blockwolfe.rules.sampling import Permutation, Sampling

__all__ = ["VisitMethod"]


@dataclass(frozen=True, kw_only=True)
class VisitMethod(Method):
    """Base of methods that visit blocks in some order, and are certified now and then."""

    sees_gaps: ClassVar[bool] = False

    sampling: Sampling = field(default_factory=Permutation)
    certify_every: int = 10

    def __post_init__(self) -> None:
        check_integer("certify_every", self.certify_every, 1)
        rules = [rule for rule in known("sampling").values() if not rule.needs_gaps]
        valid = [f"{rule.__name__}()" for rule in rules]
        check_kind("sampling", self.sampling, Sampling, valid)
        if self.sampling.needs_gaps:
            raise OptionError(
                f"sampling={self.sampling!r} goes by gaps of blocks, which visits of "
                f"{type(self).__name__} do not tell; use {', '.join(valid)}, or the method BCFW."
            )

    @property
    def full_pass_every(self) -> float:
        """As asked for."""
        return float(self.certify_every)
