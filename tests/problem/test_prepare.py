"""What is run before a run, to have it compiled."""

import warnings

import numpy as np

import blockwolfe as bw
from blockwolfe.base import compiled
from blockwolfe.problem import state
from zoo import chain_data


def test_what_empty_memory_holds_is_not_told(monkeypatch):
    """In a rehearsal nothing fills the shares of v, which are then added up all the same."""
    add_rows, n_rehearsed = state._add_rows, 0

    def from_memory(shares, v, workers):
        nonlocal n_rehearsed
        if getattr(compiled._spent, "rehearses", False):
            n_rehearsed += 1
            shares = np.outer([np.inf, -np.inf], np.ones(len(v)))
        add_rows(shares, v, workers)

    monkeypatch.setattr(state, "_add_rows", from_memory)
    problem = bw.Problem(bw.tasks.Chain(3), *chain_data())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bw.solve(problem, 0.5, "bcfw", random_state=0).status.name == "CERTIFIED"
    assert n_rehearsed
