"""Structured SVMs trained to a certified optimum by block-coordinate Frank-Wolfe.

>>> import blockwolfe as bw
>>> digits = bw.datasets.digit_strings(n_strings=40)
>>> svm = bw.StructuredSVM(bw.tasks.Chain(n_labels=10), lam=0.1, tol=0.01)
>>> svm.fit(digits.X, digits.Y).certificate_.gap <= 0.01
True
"""

from blockwolfe import datasets, structures, tasks
from blockwolfe.data.vectorizer import TokenVectorizer
from blockwolfe.errors import (
    BlockwolfeError,
    DataNotFoundError,
    InputError,
    ModelFileError,
    NotCertifiedWarning,
    OptionError,
    OracleError,
)
from blockwolfe.estimator import StructuredSVM
from blockwolfe.methods.events import Event
from blockwolfe.methods.samplers import Cyclic, Permutation, Uniform
from blockwolfe.methods.settings import BCFW, FW, FrankWolfe
from blockwolfe.methods.solve import solve
from blockwolfe.problem.certificate import Certificate
from blockwolfe.problem.checks import TaskReport, check_task
from blockwolfe.problem.problem import Problem, certify
from blockwolfe.problem.state import State
from blockwolfe.report.displays import ConvergenceDisplay
from blockwolfe.results.result import Counts, Result
from blockwolfe.results.status import Status
from blockwolfe.results.trace import Trace, TraceRow
from blockwolfe.store import load

__version__ = "0.1.0"

__all__ = [
    "BCFW",
    "FW",
    "BlockwolfeError",
    "Certificate",
    "ConvergenceDisplay",
    "Counts",
    "Cyclic",
    "DataNotFoundError",
    "Event",
    "FrankWolfe",
    "InputError",
    "ModelFileError",
    "NotCertifiedWarning",
    "OptionError",
    "OracleError",
    "Permutation",
    "Problem",
    "Result",
    "State",
    "Status",
    "StructuredSVM",
    "TaskReport",
    "TokenVectorizer",
    "Trace",
    "TraceRow",
    "Uniform",
    "certify",
    "check_task",
    "datasets",
    "load",
    "solve",
    "structures",
    "tasks",
]
