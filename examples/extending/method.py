"""A method without a dual point: averaged subgradient steps, each by one pass over all blocks.

Import this file, and "descent" is a method.
"""

from dataclasses import dataclass

import blockwolfe as bw


@bw.register
@dataclass(frozen=True)
class Descent(bw.Method):
    name = "descent"
    words = "averaged subgradient steps"
    has_dual = False  # its certificate has a primal, and no gap

    def start(self, setup):
        return AveragedSteps(self, setup)


class AveragedSteps(bw.PrimalEngine):
    kept = ("average",)  # beside w, in a checkpoint

    def __init__(self, method, setup):
        super().__init__(method, setup)
        self.average = self.w

    @property
    def certified_w(self):
        return self.average

    def advance(self, max_visits, may_go_on):
        if may_go_on():  # whether there is time for another pass
            share = 2.0 / (self.counts.steps + 2.0)
            _, slope = self.value_and_subgradient(self.w)
            self.w = self.within_bounds(self.w - share / self.lam * slope)
            self.average = self.average + share * (self.w - self.average)
            self.count(steps=1)
