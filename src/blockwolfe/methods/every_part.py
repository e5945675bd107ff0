"""What methods on the expectation oracle keep: numbers for every part of every example."""

from __future__ import annotations

from blockwolfe.base.memory import check_memory
from blockwolfe.errors import OptionError
from blockwolfe.problem.blocks import Blocks

__all__ = ["check_parts"]

BYTES = 8


def check_parts(name: str, blocks: Blocks, n_each: float) -> None:
    """Refuse, before any work, what does not fit: a Gibbs distribution gives every part weight."""
    if blocks.is_identity:
        raise OptionError(
            f"method={name!r} keeps a number for every part of every example, and the parts "
            "of this task are the features themselves; use 'bcfw' or 'ssg'."
        )
    blocks.marginal_scratch()  # (refuses data on which the oracle would take too long)
    check_memory(
        n_each * BYTES * float(blocks.parts_of.sum()),
        f"numbers for every part of every example (method {name!r})",
        "Use a method that keeps none, such as 'bcfw' or 'ssg'.",
    )
