"""All changes, by area."""

from __future__ import annotations

from tools.mutants.changes import (
    acceleration,
    certificate,
    dual,
    files,
    general,
    kernels,
    losses,
    measures,
    oracles,
    pairs,
    paths,
    readers,
    running,
    sampling,
    shards,
    solvers,
    structures,
    visits,
    workers,
)
from tools.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

_AREAS = (
    acceleration,
    certificate,
    dual,
    visits,
    sampling,
    running,
    paths,
    losses,
    measures,
    pairs,
    structures,
    solvers,
    oracles,
    kernels,
    general,
    files,
    readers,
    workers,
    shards,
)

MUTANTS: list[Mutant] = [mutant for area in _AREAS for mutant in area.MUTANTS]
