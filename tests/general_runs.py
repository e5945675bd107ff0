"""Runs of the general form to try things on, and whether two of them are the same."""

import numpy as np

from blockwolfe import optimize as bo

BLOCKS = bo.Product([bo.Simplex(4), bo.L1Ball(3, 1.5), bo.Box(-1.0, 0.5, n=2), bo.Simplex(2)])
BALL = bo.L1Ball(11, 2.0)
METHODS = [
    ("bcfw", BLOCKS),
    ("bcfw+gap+pairwise", BLOCKS),
    ("bcfw+uniform+away", BLOCKS),
    ("bcfw+maxgap+corrective", BLOCKS),
    ("projected", BLOCKS),
    ("pairwise", BALL),
    ("fw", BALL),
    ("fcfw", BALL),
    ("raway", BALL),
]


def name_of(case):
    return case[0] if isinstance(case, tuple) else str(case)


def content(result):
    """All of a result but seconds."""
    columns = {n: result.trace[n] for n in result.trace.columns if "seconds" not in n}
    atoms = [
        (each.weights.tolist(), [atom.key for atom in each.atoms])
        for each in result.active_sets or []
    ]
    certificate = result.certificate
    numbers = [certificate.primal, certificate.dual, certificate.gap]
    rest = (certificate.block_gaps.tolist(), vars(result.counts), result.status, atoms, numbers)
    return columns, result.x, rest


def assert_same(found, expected):
    """To the bit."""
    for name, column in content(expected)[0].items():
        np.testing.assert_array_equal(content(found)[0][name], column, err_msg=name)
    np.testing.assert_array_equal(found.x, expected.x)
    assert content(found)[2] == content(expected)[2]


class Interrupting:
    """Raises KeyboardInterrupt at one call of all its functions."""

    def __init__(self, at):
        self.calls, self.at = 0, at

    def tick(self):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
