"""Every task of the library, known by its name, and what goes with tasks."""

from blockwolfe.data.arcs import Arcs
from blockwolfe.data.vectorizers.arcs import ArcVectorizer
from blockwolfe.tasks.approximate.rough import (
    Additive,
    Beam,
    Greedy,
    Multiplicative,
    RoughOracle,
    Truncated,
)
from blockwolfe.tasks.approximate.task import Approximate
from blockwolfe.tasks.base import CompiledOracle, Task
from blockwolfe.tasks.chain import Chain
from blockwolfe.tasks.cut import Cut
from blockwolfe.tasks.labelling import LabellingTask
from blockwolfe.tasks.losses import CostMatrix, Hamming, ZeroOne
from blockwolfe.tasks.matching import Alignment, Links, Matching
from blockwolfe.tasks.multiclass import Multiclass
from blockwolfe.tasks.multilabel import Multilabel
from blockwolfe.tasks.pairwise_graph import PairwiseGraph
from blockwolfe.tasks.parsing import SpanningTree
from blockwolfe.tasks.part_functions import augment, finish
from blockwolfe.tasks.part_functions import oracles as part_oracles
from blockwolfe.tasks.pose import Pose
from blockwolfe.tasks.program import Program, ProgramInput
from blockwolfe.tasks.reading.graphs import Graph
from blockwolfe.tasks.reading.inputs import Masked
from blockwolfe.tasks.registry import register_task as register
from blockwolfe.tasks.segments import Segments
from blockwolfe.tasks.slack_rescaling import SlackRescaling
from blockwolfe.tasks.tree import Tree

for _task in (
    Approximate,
    Chain,
    Cut,
    Matching,
    Multiclass,
    Multilabel,
    PairwiseGraph,
    Pose,
    Program,
    Segments,
    SlackRescaling,
    SpanningTree,
    Tree,
):
    register(_task)

__all__ = [
    "Additive",
    "Alignment",
    "Approximate",
    "ArcVectorizer",
    "Arcs",
    "Beam",
    "Chain",
    "CompiledOracle",
    "CostMatrix",
    "Cut",
    "Graph",
    "Greedy",
    "Hamming",
    "LabellingTask",
    "Links",
    "Masked",
    "Matching",
    "Multiclass",
    "Multilabel",
    "Multiplicative",
    "PairwiseGraph",
    "Pose",
    "Program",
    "ProgramInput",
    "RoughOracle",
    "Segments",
    "SlackRescaling",
    "SpanningTree",
    "Task",
    "Tree",
    "Truncated",
    "ZeroOne",
    "augment",
    "finish",
    "part_oracles",
    "register",
]
