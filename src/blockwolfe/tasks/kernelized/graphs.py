"""Kernels over the nodes of graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from blockwolfe.data.graphs import Graph
from blockwolfe.kernels.inputs import stack
from blockwolfe.tasks.kernelized.task import Kernelized
from blockwolfe.tasks.reading.inputs import n_positions

__all__ = ["KernelGraphs"]


class KernelGraphs(Kernelized):
    """Base of tasks that label the nodes of a `Graph`."""

    def _graphs(self, X: Any) -> Any:
        """X as graphs, with a kernel those without node inputs."""
        graphs = super()._graphs(X)  # type: ignore[misc]
        if self.kernel_ is None:
            return graphs
        lengths = (n_positions(x.nodes, f"X[{i}].nodes") for i, x in enumerate(graphs))
        return [replace(x, nodes=np.zeros((n, 0))) for x, n in zip(graphs, lengths, strict=True)]

    def _stacked(self, X: Any) -> tuple[Any, np.ndarray]:
        nodes = [x.nodes for x in super()._graphs(X)]  # type: ignore[misc]
        return stack(nodes), np.array([n_positions(each) for each in nodes])

    def _with_nodes(self, X: Any, rows: list[np.ndarray]) -> list[Graph]:
        return [replace(x, nodes=own) for x, own in zip(X, rows, strict=True)]

    def _widened(self, n_inputs: int) -> Any:
        layout = self.layout_
        return layout._replace(n_node_features=layout.n_node_features + n_inputs)
