"""A generator for every registered task; a task without one is an error, not an omission."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import blockwolfe as bw
from blockwolfe.tasks.registry import known_tasks, task_named
from tools.fuzz.drawing import labellings, links, poses, segments, selections
from tools.fuzz.drawing.listed import Block, Drawn
from tools.fuzz.drawing.own import KINDS, own

__all__ = ["GENERATORS", "check_generators", "draw_problem", "tasks_of_the_package"]

Generator = Callable[[np.random.Generator], Drawn]


def slack_rescaling(rng: np.random.Generator) -> Drawn:
    """Any task that can list its outputs, with the other hinge."""
    inner = GENERATORS[str(rng.choice([name for name in GENERATORS if name in LISTED]))](rng)

    def blocks(fitted: object) -> list[Block]:
        return [replace(block, is_slack=True) for block in inner.blocks(fitted.task_)]  # type: ignore[attr-defined]

    def own_bounds(fitted: object) -> list[tuple[slice, float, float]]:
        return inner.own_bounds(fitted.task_)  # type: ignore[attr-defined]

    task = bw.tasks.SlackRescaling(inner.task)
    drawn = replace(inner, task=task, blocks=blocks, own_bounds=own_bounds)
    # (its oracle scores every output, while predictions are by the task that it rescales)
    return replace(drawn, is_exact=True, predicts_best=inner.is_exact)


def approximate(rng: np.random.Generator) -> Drawn:
    """A task whose visits ask a rough oracle, and whose certificates are its own."""
    name = str(rng.choice(["Chain", "Multiclass", "Tree", "Matching"]))
    inner = GENERATORS[name](rng)
    how: bw.tasks.RoughOracle = bw.tasks.Multiplicative(float(rng.uniform(0.3, 1.0)))
    if name == "Chain" and inner.task.transition:
        how = bw.tasks.Beam(int(rng.integers(1, 4)))
    elif rng.random() < 0.3:
        how = bw.tasks.Additive(float(10.0 ** rng.uniform(-3, 0)))

    def blocks(fitted: object) -> list[Block]:
        return inner.blocks(fitted.task_)  # type: ignore[attr-defined]

    def own_bounds(fitted: object) -> list[tuple[slice, float, float]]:
        return inner.own_bounds(fitted.task_)  # type: ignore[attr-defined]

    task = bw.tasks.Approximate(inner.task, how)
    drawn = replace(inner, task=task, blocks=blocks, own_bounds=own_bounds)
    return replace(drawn, is_slow=not how.is_compiled)


GENERATORS: dict[str, Generator] = {
    "Approximate": approximate,
    "Chain": labellings.chain,
    "Cut": labellings.cut,
    "Matching": links.matching,
    "Multiclass": labellings.multiclass,
    "Multilabel": selections.multilabel,
    "PairwiseGraph": labellings.pairwise_graph,
    "Pose": poses.pose,
    "Program": selections.program,
    "Segments": segments.segments,
    "SlackRescaling": slack_rescaling,
    "SpanningTree": links.spanning_tree,
    "Tree": labellings.tree,
}
# What slack rescaling is drawn over, and how often slower tasks are drawn.
LISTED = {
    "Chain",
    "Cut",
    "Matching",
    "Multiclass",
    "Multilabel",
    "Segments",
    "SpanningTree",
    "Tree",
}
SHARE = {"Approximate": 0.5, "Program": 0.3, "Pose": 0.5, "SlackRescaling": 0.6}
OWN_SHARE = 0.15


def tasks_of_the_package() -> set[str]:
    """Names of registered tasks that modules of the package define; no examples of docstrings."""
    classes = map(task_named, known_tasks())
    ours = (task for task in classes if task.__module__.startswith("blockwolfe."))
    return {task.__name__ for task in ours if hasattr(sys.modules[task.__module__], task.__name__)}


def check_generators() -> None:
    """Refuse to run where a task of the package is registered that no generator draws."""
    missing = tasks_of_the_package() - set(GENERATORS)
    if missing:
        raise LookupError(
            f"no generator draws {', '.join(sorted(missing))}: write one in tools/fuzz/drawing "
            "(its features, loss and outputs, from its documentation and not from its code), and "
            "name it in GENERATORS of tools/fuzz/drawing/tasks.py."
        )


def draw_problem(rng: np.random.Generator) -> Drawn:
    """A task with data."""
    names = list(GENERATORS)
    share = np.array([SHARE.get(name, 1.0) for name in names])
    name = str(rng.choice(names, p=share / share.sum()))
    drawn = GENERATORS[name](rng)
    if name in LISTED and rng.random() < OWN_SHARE:
        kind = str(rng.choice(KINDS))
        fit = lambda d: bw.Problem(d.task, d.X, d.Y).task  # noqa: E731
        own_drawn = own(rng, drawn, kind, fit)
        return replace(own_drawn, words={"task": f"own ({kind})"})
    return replace(drawn, words={"task": name})
