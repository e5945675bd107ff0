"""Labels of the nodes of any graph: the exact maximum, by branch and bound.

Our own bound (`graph`) settles most graphs; what it leaves open goes to toulbar2, an optional
dependency. toulbar2 counts in integers: scores are scaled so that all tables together stay within
what a float holds exactly, and the rounding that this costs is part of the bound returned.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from blockwolfe.errors import OptionError
from blockwolfe.structures import graph
from blockwolfe.structures.chain import FORBIDDEN

__all__ = ["maximize", "toulbar2"]

# Largest total of integer costs.
LARGEST = 1e15

_HIDING = threading.Lock()


def toulbar2() -> Any:
    """The module, or an error that names the extra that brings it.

    >>> toulbar2().__name__  # doctest: +SKIP
    'pytoulbar2'
    """
    try:
        import pytoulbar2
    except ImportError as error:
        raise OptionError(
            "exact decoding of graphs with cycles needs pytoulbar2, which is not installed: "
            "pip install 'blockwolfe[map]', or use decoder='approximate'."
        ) from error
    return pytoulbar2


@contextlib.contextmanager
def _without_mpi() -> Iterator[None]:
    """As if mpi4py were not installed, which pytoulbar2 imports whenever it makes a network.

    That import starts MPI in this process: Open MPI forks a daemon, leaves folders among the
    temporary files, and ends the process where the daemon dies. There is nothing to gain by it:
    a network is solved in the process that asks, also where that is one of many of an MPI job.
    """
    with _HIDING:  # (else a second thread would take what is hidden for what there was)
        known = {name: sys.modules[name] for name in ("mpi4py",) if name in sys.modules}
        sys.modules["mpi4py"] = None  # type: ignore[assignment]
        try:
            yield
        finally:
            del sys.modules["mpi4py"]
            sys.modules.update(known)


def maximize(unary: Any, pairwise: Any, edges: Any) -> tuple[np.ndarray, float]:
    """Best labels for `unary` (n, K), `pairwise` (m, K, K), `edges` (m, 2), and their score.

    The score is given as a bound: larger than that of the labels by rounding at most.

    >>> differ = 1 - np.eye(2)
    >>> labels, upper = maximize([[0.5, 0.0], [0.0, 0.0], [0.0, 0.2]], [differ] * 3,
    ...                          [[0, 1], [1, 2], [2, 0]])  # doctest: +SKIP
    >>> labels, round(upper, 6)  # doctest: +SKIP
    (array([0, 0, 1]), 2.7)
    """
    labels, upper = graph.maximize(unary, pairwise, edges)
    return settle(*graph.checked(unary, pairwise, edges), labels, upper)


def settle(
    unary: np.ndarray, pairwise: np.ndarray, ends: np.ndarray, labels: np.ndarray, upper: float
) -> tuple[np.ndarray, float]:
    """Better labels than those given, or the proof that there are none."""
    own = graph.score(unary, pairwise, ends, labels)
    if upper - own <= graph.TIGHT * (1.0 + abs(own)):
        return labels, upper
    n_nodes, n_labels = unary.shape
    node_cost, edge_cost, unit = _costs(unary, pairwise)
    cost = _cost_of(node_cost, edge_cost, ends, labels)
    with _without_mpi():
        network = toulbar2().CFN(ubinit=cost, resolution=0, verbose=-1)
    network.AddVariables(n_nodes, "x", 0, n_labels - 1)
    network.AddFunctions(np.arange(n_nodes), node_cost)
    network.AddFunctions(ends.astype(np.int64), edge_cost)
    found = network.Solve()  # (None: there is nothing below `ubinit`)
    best = labels if found is None else np.array(found[0], dtype=np.int64)
    rounding = (n_nodes + len(ends)) * unit
    return best, min(upper, graph.score(unary, pairwise, ends, best) + rounding)


def _costs(unary: np.ndarray, pairwise: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Integer costs >= 0 of all tables (as floats), and the score that one unit stands for."""
    is_forbidden = unary <= FORBIDDEN / 2
    top = unary.max(axis=1, keepdims=True)
    node = np.where(is_forbidden, 0.0, top - unary)
    edge = pairwise.max(axis=(1, 2), keepdims=True) - pairwise
    total = node.max(axis=1).sum() + edge.max(axis=(1, 2)).sum()
    if is_forbidden.any():
        node[is_forbidden] = 1.0 + total  # more than any allowed labelling
        total = node.max(axis=1).sum() + edge.max(axis=(1, 2)).sum()
    unit = max(total, 1e-300) / LARGEST
    return np.round(node / unit), np.round(edge / unit), float(unit)


def _cost_of(node: np.ndarray, edge: np.ndarray, ends: np.ndarray, labels: np.ndarray) -> float:
    along = node[np.arange(len(labels)), labels].sum()
    pairs = edge[np.arange(len(ends)), labels[ends[:, 0]], labels[ends[:, 1]]].sum()
    return float(along + pairs)
