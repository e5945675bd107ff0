"""Tasks: structure x features x loss."""

from blockwolfe.tasks.base import CompiledOracle, Task
from blockwolfe.tasks.chain import Chain
from blockwolfe.tasks.graph import PairwiseGraph
from blockwolfe.tasks.graphs import Graph
from blockwolfe.tasks.inputs import Masked
from blockwolfe.tasks.losses import CostMatrix, Hamming, ZeroOne
from blockwolfe.tasks.multiclass import Multiclass
from blockwolfe.tasks.segments import Segments
from blockwolfe.tasks.slack import SlackRescaling
from blockwolfe.tasks.tree import Tree

__all__ = [
    "Chain",
    "CompiledOracle",
    "CostMatrix",
    "Graph",
    "Hamming",
    "Masked",
    "Multiclass",
    "PairwiseGraph",
    "Segments",
    "SlackRescaling",
    "Task",
    "Tree",
    "ZeroOne",
]
