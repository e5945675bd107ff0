"""Every public name; `import blockwolfe` finds them here when one is first asked for."""

from blockwolfe import datasets, metrics, optimize, structures, tasks
from blockwolfe.comparison.compare import compare
from blockwolfe.comparison.result import Comparison
from blockwolfe.data.vectorizers.alignments import AlignmentVectorizer
from blockwolfe.data.vectorizers.tokens import TokenVectorizer
from blockwolfe.distributed.method import Sharded
from blockwolfe.distributed.problem import ShardedProblem
from blockwolfe.errors import (
    BlockwolfeError,
    DataNotFoundError,
    InputError,
    KernelWarning,
    MissingLibraryError,
    ModelFileError,
    OptionError,
    OracleError,
)
from blockwolfe.estimators.model_file import load
from blockwolfe.estimators.per_position import PerPosition
from blockwolfe.estimators.svm import StructuredSVM
from blockwolfe.integrations import MLflowCallback, TensorBoardCallback
from blockwolfe.methods.auto import Auto
from blockwolfe.methods.base import Method
from blockwolfe.methods.bcfw.cache import Cache
from blockwolfe.methods.bcfw.conjugate import Conjugate
from blockwolfe.methods.bcfw.settings import BCFW
from blockwolfe.methods.catalyst import Catalyst
from blockwolfe.methods.cutting_plane.methods import BundleMethod, CuttingPlane
from blockwolfe.methods.excessive_gap.method import ExcessiveGap
from blockwolfe.methods.exponentiated.online import OnlineEG
from blockwolfe.methods.extragradient.method import Extragradient
from blockwolfe.methods.frank_wolfe import FrankWolfe
from blockwolfe.methods.primal import PrimalEngine
from blockwolfe.methods.subgradient.batch import Subgradient
from blockwolfe.methods.subgradient.perceptron import Perceptron
from blockwolfe.methods.subgradient.stochastic import StochasticSubgradient
from blockwolfe.methods.whole_blocks.method import WholeBlocks
from blockwolfe.path.cv import StructuredSVMCV
from blockwolfe.path.grid import solve_grid
from blockwolfe.path.result import Breakpoint, Path, load_path
from blockwolfe.path.solve import solve_path
from blockwolfe.problem.check_task import TaskReport, check_task
from blockwolfe.problem.problem import Problem, certify
from blockwolfe.problem.state import State
from blockwolfe.report.displays.alignments import AlignmentDisplay
from blockwolfe.report.displays.calibration import CalibrationDisplay
from blockwolfe.report.displays.comparisons import ComparisonDisplay
from blockwolfe.report.displays.confusion import ConfusionDisplay
from blockwolfe.report.displays.convergence import ConvergenceDisplay
from blockwolfe.report.displays.gaps import BlockGapsDisplay
from blockwolfe.report.displays.label_pairs import LabelPairsDisplay
from blockwolfe.report.displays.labellings import LabellingDisplay
from blockwolfe.report.displays.parses import ParseDisplay
from blockwolfe.report.displays.paths import PathDisplay
from blockwolfe.report.displays.poses import PoseDisplay
from blockwolfe.report.displays.segmentation import SegmentationDisplay
from blockwolfe.report.displays.selections import SelectionDisplay
from blockwolfe.report.displays.transitions import TransitionsDisplay
from blockwolfe.report.displays.trees import TreeDisplay
from blockwolfe.report.outputs.weights import largest_weights
from blockwolfe.report.page.model import write_report
from blockwolfe.results.certificate import Certificate
from blockwolfe.results.counts import Counts
from blockwolfe.results.not_certified import NotCertifiedWarning
from blockwolfe.results.result import Result
from blockwolfe.results.status import Status
from blockwolfe.results.trace import Trace, TraceRow
from blockwolfe.rules.registry import register
from blockwolfe.rules.sampling import (
    Cyclic,
    GapSampling,
    MaxGap,
    Permutation,
    Sampling,
    Uniform,
)
from blockwolfe.rules.steps import (
    FW,
    Away,
    BestOf,
    BlendedPairwise,
    Corrective,
    Pairwise,
    Step,
)
from blockwolfe.running.checkpoint import Checkpoint
from blockwolfe.running.engine import Engine
from blockwolfe.running.events import Event
from blockwolfe.solving.solve import solve

__all__ = [
    "BCFW",
    "FW",
    "AlignmentDisplay",
    "AlignmentVectorizer",
    "Auto",
    "Away",
    "BestOf",
    "BlendedPairwise",
    "BlockGapsDisplay",
    "BlockwolfeError",
    "Breakpoint",
    "BundleMethod",
    "Cache",
    "CalibrationDisplay",
    "Catalyst",
    "Certificate",
    "Checkpoint",
    "Comparison",
    "ComparisonDisplay",
    "ConfusionDisplay",
    "Conjugate",
    "ConvergenceDisplay",
    "Corrective",
    "Counts",
    "CuttingPlane",
    "Cyclic",
    "DataNotFoundError",
    "Engine",
    "Event",
    "ExcessiveGap",
    "Extragradient",
    "FrankWolfe",
    "GapSampling",
    "InputError",
    "KernelWarning",
    "LabelPairsDisplay",
    "LabellingDisplay",
    "MLflowCallback",
    "MaxGap",
    "Method",
    "MissingLibraryError",
    "ModelFileError",
    "NotCertifiedWarning",
    "OnlineEG",
    "OptionError",
    "OracleError",
    "Pairwise",
    "ParseDisplay",
    "Path",
    "PathDisplay",
    "PerPosition",
    "Perceptron",
    "Permutation",
    "PoseDisplay",
    "PrimalEngine",
    "Problem",
    "Result",
    "Sampling",
    "SegmentationDisplay",
    "SelectionDisplay",
    "Sharded",
    "ShardedProblem",
    "State",
    "Status",
    "Step",
    "StochasticSubgradient",
    "StructuredSVM",
    "StructuredSVMCV",
    "Subgradient",
    "TaskReport",
    "TensorBoardCallback",
    "TokenVectorizer",
    "Trace",
    "TraceRow",
    "TransitionsDisplay",
    "TreeDisplay",
    "Uniform",
    "WholeBlocks",
    "certify",
    "check_task",
    "compare",
    "datasets",
    "largest_weights",
    "load",
    "load_path",
    "metrics",
    "optimize",
    "register",
    "solve",
    "solve_grid",
    "solve_path",
    "structures",
    "tasks",
    "write_report",
]
