"""How sure a fitted estimator is: the next best outputs, margins, and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from blockwolfe.base.checks import check_integer, check_positive
from blockwolfe.errors import InputError
from blockwolfe.structures.space import Scored
from blockwolfe.tasks.reading.inputs import count, n_examples
from blockwolfe.tasks.registry import known_tasks, task_named

__all__ = ["HowSureEstimator", "asked"]

_WORDS = {
    "n_best": "its next best outputs",
    "margins": "margins",
    "marginals": "probabilities",
    "best_temperature": "a temperature: it has no probabilities",
}


def asked(task: Any, name: str) -> Callable[..., Any]:
    """A method of a task that it need not have; an `InputError` that names the tasks that do.

    >>> asked(object(), "margins")
    Traceback (most recent call last):
    ...
    blockwolfe.errors.InputError: the task object does not offer margins; those that do: ...
    """
    found = getattr(task, name, None)
    if callable(found):
        return found
    others = [kind for kind in known_tasks() if callable(getattr(task_named(kind), name, None))]
    raise InputError(
        f"the task {type(task).__name__} does not offer {_WORDS[name]}; those that do: "
        f"{', '.join(others)}. A task of your own offers them by a method {name}."
    )


class HowSureEstimator:
    """What `StructuredSVM` says besides its best outputs."""

    task_: Any
    w_: Any
    _check_input: Callable[[Any], None]

    def _n_best(self, X: Any, k: int) -> list[list[Scored]]:
        check_integer("n_best", k, 1)
        found: list[list[Scored]] = self._ask("n_best", X, k)
        return found

    def margins(self, X: Any) -> Any:
        """How much worse, by score, the best other output is: for each choice of the prediction.

        For sequences and graphs one number per position: the score of the best output, less that
        of the best output with another label there. 0 is a tie; inf means that nothing else is
        possible. For parses it is a number per word (another head), for segments per segment (the
        best output without it), for matchings per candidate link, sorted by source and target (the
        best output that has it, or has it not), for sets of labels per label.

        >>> import blockwolfe as bw
        >>> svm = bw.StructuredSVM(lam=0.1, tol=1e-6).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        >>> svm.margins([[0.6], [3.0]]).round(2)
        array([0.2, 5. ])
        """
        return self._ask("margins", X)

    def marginals(self, X: Any, temperature: float | None = None) -> Any:
        """Probabilities: that of an output is exp(score / temperature) / Z.

        For each x an array with a row per position and a column per label in the order of
        `classes_`; for parses a row per word and a column per head, 0 the root; for a label or a
        set of labels per x one array, a row per x.

        Training makes scores for decisions, not for probabilities: without a `temperature` the one
        that `fit_temperature` found is used, and 1 where it was not called.

        >>> import blockwolfe as bw
        >>> svm = bw.StructuredSVM(lam=0.1, tol=1e-6).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        >>> svm.marginals([[0.6], [3.0]]).round(2)
        array([[0.45, 0.55],
               [0.01, 0.99]])
        """
        if temperature is None:
            temperature = getattr(self, "temperature_", 1.0)
        return self._ask("marginals", X, check_positive("temperature", temperature))

    def fit_temperature(self, X: Any, y: Any) -> Any:
        """Set `temperature_` to that at which the outputs y of X, *not* trained on, are likeliest.

        >>> import blockwolfe as bw
        >>> svm = bw.StructuredSVM(lam=0.1, tol=1e-6).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        >>> svm.fit_temperature([[0.0], [0.8], [0.9], [1.0]], ["a", "a", "b", "b"]).temperature_ < 1
        True
        """
        check_is_fitted(self, "w_")
        best_temperature = asked(self.task_, "best_temperature")
        self._check_input(X)
        if n_examples(X, y) == 0:
            raise InputError("X is empty; expected examples that were not trained on.")
        self.temperature_ = float(best_temperature(X, y, self.w_))
        return self

    def _ask(self, name: str, X: Any, *options: Any) -> Any:
        check_is_fitted(self, "w_")
        method = asked(self.task_, name)
        self._check_input(X)
        if getattr(X, "ndim", 1) < 2 and count(X, "X") == 0:
            return []
        return method(X, self.w_, *options)
