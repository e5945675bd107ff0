"""The general form: a smooth convex function over a product of sets with linear oracles."""

from blockwolfe.optimize import domains, objectives
from blockwolfe.optimize.active_set import ActiveSet
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains import (
    BasePolytope,
    Birkhoff,
    Box,
    ConcaveOfCardinality,
    CutFunction,
    Domain,
    DomainReport,
    Flow,
    KSparse,
    L1Ball,
    L2Ball,
    NuclearBall,
    Oracle,
    Product,
    Simplex,
    Vertices,
    check_domain,
)
from blockwolfe.optimize.methods import (
    BlockFrankWolfe,
    BlockProjectedGradient,
    FrankWolfe,
    FullyCorrective,
    MinNormPoint,
    RandomizedAway,
)
from blockwolfe.optimize.methods.base import Optimizer
from blockwolfe.optimize.minimize import minimize
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.objectives.checking import ObjectiveReport, check_objective
from blockwolfe.optimize.objectives.function import Function
from blockwolfe.optimize.objectives.least_squares import LeastSquares
from blockwolfe.optimize.objectives.logistic import Logistic
from blockwolfe.optimize.objectives.quadratic import Quadratic
from blockwolfe.optimize.objectives.squared_norm import SquaredNorm
from blockwolfe.optimize.result import OptimizeEvent, OptimizeResult
from blockwolfe.optimize.step_sizes import Adaptive, ExactSearch, Predefined, ShortStep, StepSize
from blockwolfe.optimize.submodular_minimum import SubmodularMinimum, minimize_submodular

__all__ = [
    "ActiveSet",
    "Adaptive",
    "Atom",
    "BasePolytope",
    "Birkhoff",
    "BlockFrankWolfe",
    "BlockProjectedGradient",
    "Box",
    "ConcaveOfCardinality",
    "CutFunction",
    "Domain",
    "DomainReport",
    "ExactSearch",
    "Flow",
    "FrankWolfe",
    "FullyCorrective",
    "Function",
    "KSparse",
    "L1Ball",
    "L2Ball",
    "LeastSquares",
    "Logistic",
    "MinNormPoint",
    "NuclearBall",
    "Objective",
    "ObjectiveReport",
    "OptimizeEvent",
    "OptimizeResult",
    "Optimizer",
    "Oracle",
    "Predefined",
    "Product",
    "Quadratic",
    "RandomizedAway",
    "ShortStep",
    "Simplex",
    "SquaredNorm",
    "StepSize",
    "SubmodularMinimum",
    "Vertices",
    "check_domain",
    "check_objective",
    "domains",
    "minimize",
    "minimize_submodular",
    "objectives",
]
