"""What tasks on graphs of small width share: how nodes are eliminated, once for every graph.

The plans of all graphs lie in the integers of the scratch of marginals:

    ints[i]         where the plan of graph i begins,    i = 0 .. n - 1; ints[n] is where all end
    ints[ints[n]:]  scratch of `junction_tree.means_into`

(In scratch, not in the data: plans are made only when a method asks for sums.)
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from blockwolfe.base.compiled import jit
from blockwolfe.base.memory import check_memory
from blockwolfe.base.words import counted
from blockwolfe.errors import OptionError
from blockwolfe.structures import junction_tree
from blockwolfe.structures.elimination import Elimination, eliminate
from blockwolfe.tasks.part_functions import PartScratch
from blockwolfe.tasks.part_task import GraphInput, PartTask

__all__ = ["ByJunctionTree", "plan_in"]

# Of 2,000 nodes the order takes five seconds.
MOST_NODES = 2000
REMEDY = "Take sparser or smaller graphs, or a method that needs no sums, such as 'bcfw'."


@jit
def plan_in(ints: Any, i: int) -> tuple[Any, Any]:
    """The plan of graph i, and the rest of the scratch."""
    end = ints[ints[0] - 1]
    return ints[ints[i] : ints[i + 1]], ints[end:]


class ByJunctionTree(PartTask):
    """Base of tasks that label nodes, whose sums are made by junction trees."""

    classes_: np.ndarray

    def _marginal_fields(self, given: GraphInput) -> dict[str, Any]:
        fields = super()._marginal_fields(given)
        if not fields:
            return fields
        planned = functools.cache(lambda: _planned(given, len(self.classes_)))
        make = functools.partial(self._planned_scratch, given, planned)
        return fields | {"make_marginal_scratch": make}

    def _planned_scratch(self, given: GraphInput, planned: Any) -> PartScratch:
        """For one thread: plans, scratch of the sums, and room for tables and means."""
        plans, (n_ints, n_floats) = planned()
        n_labels, n_nodes = len(self.classes_), given.size[:, 0]
        n_means = n_nodes * n_labels + np.diff(given.edge.offset) * n_labels**2
        return PartScratch(
            augmented=np.zeros(self._most_parts(given)),
            buffer=np.zeros(0),
            ints=np.concatenate([plans, np.zeros(n_ints, dtype=np.int64)]),
            floats=np.zeros(2 * int(n_means.max()) + n_floats),
        )


def _planned(given: GraphInput, n_labels: int) -> tuple[np.ndarray, tuple[int, int]]:
    """The plans of all graphs, and the scratch that the largest needs."""
    offset, found = given.edge.offset, []
    for i, n_nodes in enumerate(given.size[:, 0]):
        if n_nodes > MOST_NODES:
            raise _too_many(i, int(n_nodes))
        ends = given.ends[offset[i] : offset[i + 1]]
        order = eliminate(int(n_nodes), ends, junction_tree.most_met(n_labels))
        if order is None:
            raise _too_wide(i, n_labels)
        found.append(order)
    sizes = _largest(found, n_labels)
    check_memory(8.0 * sizes[1], "tables of the oracle 'marginals'", REMEDY)
    plans = [junction_tree.plan_of(order) for order in found]
    begin = len(plans) + 1 + np.cumsum([0, *(len(plan) for plan in plans)])
    return np.concatenate([begin, *plans]).astype(np.int64), sizes


def _largest(found: list[Elimination], n_labels: int) -> tuple[int, int]:
    sizes = np.array([junction_tree.n_scratch(order, n_labels) for order in found])
    return int(sizes[:, 0].max()), int(sizes[:, 1].max())


def _too_wide(i: int, n_labels: int) -> OptionError:
    most = junction_tree.most_met(n_labels)
    return OptionError(
        f"the oracle 'marginals' sums over all labellings of a graph by tables, and X[{i}] has a "
        f"width of more than {most}: {counted(most + 2, 'node')} with {counted(n_labels, 'label')} "
        f"meet in one table of {n_labels}^{most + 2} entries, where at most "
        f"{junction_tree.MOST_STATES} are taken. {REMEDY}"
    )


def _too_many(i: int, n_nodes: int) -> OptionError:
    return OptionError(
        f"the oracle 'marginals' orders the nodes of a graph, in a time that grows as their cube: "
        f"X[{i}] has {n_nodes} nodes, where at most {MOST_NODES} are taken. {REMEDY}"
    )
