"""Exact steps over whole blocks (Crammer and Singer, 2001; Keerthi and others, 2008)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from blockwolfe.base.checks import check_integer, check_kind
from blockwolfe.errors import OptionError
from blockwolfe.methods.base import Setup
from blockwolfe.methods.bcfw.conjugate import Conjugate
from blockwolfe.methods.catalyst import Catalyst
from blockwolfe.methods.orders import VisitMethod
from blockwolfe.methods.whole_blocks.engine import WholeEngine
from blockwolfe.problem.blocks import Blocks
from blockwolfe.rules.registry import register
from blockwolfe.running.engine import Engine

__all__ = ["WholeBlocks"]


@register
@dataclass(frozen=True)
class WholeBlocks(VisitMethod):
    """Every visit maximises the dual over all labels of its example at once, exactly.

    For `Multiclass`, whose blocks are simplices of labels with features of one length: the
    maximum is a projection, once all labels are scored. Examples that a visit leaves as they were
    are passed over, longer each time (shrinking); certificates are of all examples. "auto" takes
    it where it can.

    Parameters
    ----------
    max_labels : most labels without weight that one visit may give some to; the highest of them.
    longest_wait : most passes in a row that an example which does not move is passed over; with 0
        all are visited in every pass.
    conjugate : `Conjugate()` for rounds of conjugate gradients over all labels with weight between
        passes, or None.
    catalyst : `Catalyst()` for visits at a larger lambda around a centre that moves, or None: fewer
        passes where lambda is small; rounds are made only when it is no longer at work.
    sampling : `Permutation()`, `Uniform()` or `Cyclic()`.
    certify_every : passes between certificates (each costs one oracle call per block).

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> bw.solve(problem, 1.0, "whole_blocks", tol=1e-6, random_state=0).status.name
    'CERTIFIED'
    """

    name: ClassVar[str] = "whole_blocks"
    needs: ClassVar[tuple[str, ...]] = ("maximize", "simplex")
    switches: ClassVar[dict[str, dict[str, Any]]] = {
        "conjugate": {"conjugate": Conjugate()},
        "catalyst": {"catalyst": Catalyst(every=2)},
    }

    max_labels: int = 32
    longest_wait: int = 32
    conjugate: Conjugate | None = field(default=None)
    catalyst: Catalyst | None = None

    def __post_init__(self) -> None:
        check_integer("max_labels", self.max_labels, 1)
        check_integer("longest_wait", self.longest_wait, 0)
        if self.conjugate is not None:
            check_kind("conjugate", self.conjugate, Conjugate, ["Conjugate()", "None"])
        if self.catalyst is not None:
            check_kind("catalyst", self.catalyst, Catalyst, ["Catalyst()", "None"])
        super().__post_init__()

    @property
    def words(self) -> str:
        """In what order, and what else it has."""
        parts = ["exact steps over all labels", self.sampling.words]
        parts += ["conjugate gradients"] if self.conjugate is not None else []
        parts += ["acceleration"] if self.catalyst is not None else []
        return ", ".join(parts)

    @property
    def is_monotone(self) -> bool:
        """Every step is an exact one: without acceleration, of the dual itself."""
        return self.catalyst is None

    @property
    def can_stall(self) -> bool:
        """Every step goes up, at last."""
        return True

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse bounds, with which the maximum is no projection."""
        if blocks.is_bounded:
            raise OptionError(
                f"method={self.name!r}: w has bounds, and the maximum over a whole block is then "
                "no projection; use 'bcfw+pairwise' or 'auto'."
            )

    def start(self, setup: Setup) -> Engine:
        """Visits, pass after pass."""
        return WholeEngine(self, setup)
