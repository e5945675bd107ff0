"""Online exponentiated gradient (Collins and others, 2008)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from blockwolfe.base.checks import check_positive, check_share
from blockwolfe.base.compiled import call, uninterrupted
from blockwolfe.base.ragged import starts
from blockwolfe.base.schema import Reader
from blockwolfe.base.seeds import plain_state, restore_state
from blockwolfe.methods.base import Setup
from blockwolfe.methods.dual_engine import DualEngine
from blockwolfe.methods.every_part import check_parts
from blockwolfe.methods.exponentiated.visits import Gibbs, GibbsWork, visit_gibbs
from blockwolfe.methods.orders import VisitMethod
from blockwolfe.problem.blocks import Blocks
from blockwolfe.rules.passes import Passes
from blockwolfe.rules.registry import register
from blockwolfe.running.engine import Engine

__all__ = ["OnlineEG"]


@register
@dataclass(frozen=True)
class OnlineEG(VisitMethod):
    """Online exponentiated gradient: dual weights that are Gibbs distributions, block by block.

    It needs the expectation oracle (marginals), and keeps a number for every part of every
    example: logarithms of dual weights. The first visit of a block gives every output some weight,
    which may lower the dual; later ones never do. A dual point does not determine those
    logarithms, so it takes no `start`.

    Parameters
    ----------
    eta : size of each block's first step: weights are multiplied by exp(eta H_i(y; w)). Then it
        adapts: longer after a step that was taken, half as long after one that would have
        lowered the dual.
    head_start : where distributions begin: the weight of an output is multiplied by
        exp(head_start) for every part that it shares with the true one. With 0 all outputs begin
        alike, which is far from the optimum where there are many.
    sampling : `Permutation()`, `Uniform()` or `Cyclic()`.
    certify_every : passes between certificates (each costs one oracle call per block).

    >>> import blockwolfe as bw
    >>> problem = bw.Problem(bw.tasks.Multiclass(), [[0.0], [1.0]], [0, 1])
    >>> bw.solve(problem, 1.0, "online_eg", tol=1e-3, random_state=0).status.name
    'CERTIFIED'
    """

    name: ClassVar[str] = "online_eg"
    needs: ClassVar[tuple[str, ...]] = ("maximize", "marginals")
    takes_start: ClassVar[bool] = False

    eta: float = 0.1
    head_start: float = 2.0

    def __post_init__(self) -> None:
        check_positive("eta", self.eta)
        check_share("head_start", self.head_start, highest=100.0)
        super().__post_init__()

    @property
    def words(self) -> str:
        """In what order."""
        return f"online exponentiated gradient, {self.sampling.words}"

    @property
    def can_stall(self) -> bool:
        """Once every block is on its Gibbs distribution, the dual never falls."""
        return True

    def check_blocks(self, blocks: Blocks) -> None:
        """Refuse what does not fit: potentials and means of all parts."""
        check_parts(self.name, blocks, n_each=3)

    def start(self, setup: Setup) -> Engine:
        """Visits, pass after pass."""
        return OnlineEngine(self, setup)


class OnlineEngine(DualEngine):
    """One visit after another, each to a Gibbs distribution."""

    def __init__(self, method: OnlineEG, setup: Setup) -> None:
        super().__init__(setup, has_average=False, keeps_corners=False)
        blocks, self.rng = self.blocks, setup.rng
        self.method: OnlineEG = method
        self.passes = Passes(self.n_blocks, method.sampling, setup.rng)
        n_parts = blocks.parts_of
        self.gibbs = Gibbs(
            start=starts(n_parts),
            n_parts=n_parts,
            potential=np.zeros(int(n_parts.sum())),
            scale=np.zeros(self.n_blocks),
            eta=np.zeros(self.n_blocks),
            is_there=np.zeros(self.n_blocks, dtype=np.bool_),
        )
        self._begin()
        most = int(blocks.marginal_size.max())
        self._gibbs_work = GibbsWork(
            np.zeros(blocks.n_parts), np.zeros(most, dtype=np.int32), np.zeros(most)
        )
        self._marginal_scratch = blocks.marginal_scratch()

    def _begin(self) -> None:
        """Distributions that begin near the truth, which no block is at yet."""
        method, gibbs, truth = self.method, self.gibbs, self.blocks.truth
        at = np.repeat(gibbs.start, np.diff(truth.start)) + truth.part
        gibbs.potential[:], gibbs.scale[:], gibbs.is_there[:] = 0.0, 0.0, False
        gibbs.potential[at], gibbs.eta[:] = method.head_start * truth.value, method.eta

    def _prepare_visits(self) -> None:
        self._visit(0)

    def advance(self, max_visits: int, may_go_on: Callable[[], bool]) -> None:
        """Visit the blocks that the sampling rule asks for."""
        self.point.make_room_for_means(self.blocks.marginal_size)
        self.passes.run(max_visits, may_go_on, self._visit)

    def _visit(self, until: int) -> None:
        blocks, point, passes = self.blocks, self.point, self.passes
        oracle, data = blocks.marginals, blocks.packed_data
        of_blocks = (blocks.weight, oracle, blocks.step_features, blocks.is_bounded, data)
        scratch = (self.own[1], self._marginal_scratch)
        arrays = (self.gibbs, point.arrays, self.ledger.notes, self._gibbs_work, point.work)
        which = (passes.order, (passes.done, until), float(point.lam))
        with uninterrupted():
            kind = (blocks.kind, str(oracle._numba_type_))
            passes.done = int(call(visit_gibbs, kind, *which, *of_blocks, *scratch, *arrays))

    def shrink(self, rho: float, gap: np.ndarray) -> None:
        """And begin anew: outputs whose weights are as good as zero could not come back."""
        super().shrink(rho, gap)
        self._begin()
        self.passes.leave()

    def to_save(self) -> dict[str, Any]:
        """And distributions, the pass at work, and the state of the random numbers."""
        names = ("potential", "scale", "eta", "is_there")
        kept = {f"gibbs.{name}": getattr(self.gibbs, name) for name in names}
        return super().to_save() | kept | self.passes.to_save() | {"rng": plain_state(self.rng)}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as before `to_save`."""
        super().restore(saved)
        read, n_blocks = Reader(saved), self.n_blocks
        self.gibbs = self.gibbs._replace(
            potential=read.array("gibbs.potential", np.float64, self.gibbs.potential.shape),
            scale=read.array("gibbs.scale", np.float64, (n_blocks,), least=0.0),
            eta=read.array("gibbs.eta", np.float64, (n_blocks,), least=0.0),
            is_there=read.array("gibbs.is_there", np.bool_, (n_blocks,)),
        )
        self.passes.restore(saved)
        restore_state(self.rng, read.given("rng"))
