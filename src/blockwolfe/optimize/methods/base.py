"""What a method of the general form is: options, and an engine that puts them to work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from blockwolfe.base.checks import check_kind
from blockwolfe.errors import OptionError, closest, unknown_option
from blockwolfe.optimize.engine import OptimizeEngine
from blockwolfe.optimize.objectives.base import Objective
from blockwolfe.optimize.space import Setup, Space
from blockwolfe.optimize.step_sizes import Adaptive, ExactSearch, Predefined, ShortStep, StepSize
from blockwolfe.rules.registry import from_words, known, names_of
from blockwolfe.rules.steps import Step
from blockwolfe.running.engine import BaseMethod

__all__ = ["STEP_SIZES", "Optimizer", "StepMethod", "as_optimizer", "check_choice"]

# Words that set a step-size rule, as in "fw+predefined".
STEP_SIZES: dict[str, dict[str, Any]] = {
    "predefined": {"step_size": Predefined()},
    "exact": {"step_size": ExactSearch()},
    "adaptive": {"step_size": Adaptive()},
}


class Optimizer(BaseMethod, ABC):
    """Base of the methods: options, and how to put them to work.

    >>> from blockwolfe.optimize.methods import FrankWolfe
    >>> isinstance(FrankWolfe(), Optimizer), FrankWolfe().name
    (True, 'fw')
    """

    family: ClassVar[str] = "optimizer"
    is_split: ClassVar[bool] = False  # whether the blocks of a product are visited one by one

    def check(self, objective: Objective, space: Space) -> None:
        """Refuse, before any work, what the method cannot do."""
        return

    @abstractmethod
    def start(self, setup: Setup) -> OptimizeEngine:
        """The method at work."""


class StepMethod(Optimizer):
    """A method with steps along lines, whose length a step-size rule decides."""

    step_size: StepSize | None = None
    if TYPE_CHECKING:  # (an option, or a property)

        @property
        def step(self) -> Step:
            """Which way a visit goes."""

    def rule_for(self, objective: Objective) -> StepSize:
        """As asked for; else exact steps where they have a closed form, and adaptive ones."""
        if self.step_size is not None:
            return self.step_size
        if not self.step.line_search:
            return Predefined()
        return ExactSearch() if objective.is_quadratic else Adaptive()

    @property
    def is_monotone(self) -> bool:
        """Unless the length of steps is decided without looking at f."""
        is_blind = self.step_size is None and not self.step.line_search
        return not is_blind and not isinstance(self.step_size, (Predefined, ShortStep))

    @property
    def _search_words(self) -> str:
        if self.step_size is None:
            return ""
        return f", {type(self.step_size).__name__.lower()} step size"

    def _check_step_size(self) -> None:
        if self.step_size is not None:
            valid = ["ExactSearch()", "Adaptive()", "Predefined()", "ShortStep(L)", "None"]
            check_kind("step_size", self.step_size, StepSize, valid)


def check_choice(name: str, value: Any, kind: type) -> None:
    """Refuse what is no rule of a family."""
    check_kind(name, value, kind, [f"{choice.__name__}()" for choice in known(name).values()])


def as_optimizer(method: Any) -> Optimizer:
    """A method from its name, or itself; the name of a step alone is that of plain Frank-Wolfe.

    >>> as_optimizer("away").step, as_optimizer("bcfw+gap").sampling.name
    (Away(), 'gap')
    """
    if isinstance(method, Optimizer):
        return method
    if isinstance(method, BaseMethod):
        raise OptionError(
            f"method={method!r} is one for structured SVMs (solve); here use a name such as "
            "'bcfw', or an object such as optimize.BlockFrankWolfe()."
        )
    if not isinstance(method, str):
        raise OptionError(
            f"method={method!r} is neither a name nor a method object such as "
            "optimize.FrankWolfe()."
        )
    head, steps = method.split("+")[0], known("step")
    near = None if head in (methods := known("optimizer")) else closest(head, steps)
    if head not in steps and near is not None and closest(head, methods) is None:
        raise unknown_option("method", method, [*steps, *names_of("optimizer")], meant=near)
    found: Optimizer = from_words("optimizer", f"fw+{method}" if head in steps else method)
    return found
