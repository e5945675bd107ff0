"""A step rule: pairwise steps, within the stored corners as long as these promise half as much.

Import this file, and "bcfw+thrifty" is a method.
"""

from dataclasses import dataclass

import blockwolfe as bw

LOCAL, PAIRWISE = bw.Step.LOCAL, bw.Step.PAIRWISE


@bw.register
@dataclass(frozen=True)
class Thrifty(bw.Step):
    name = "thrifty"
    words = "thrifty pairwise steps"

    @staticmethod
    def choose(choices):
        """The direction to take, by the slopes of the dual; Numba compiles it."""
        is_enough = choices.local > 0.0 and choices.local >= 0.5 * choices.pairwise
        return LOCAL if is_enough else PAIRWISE
