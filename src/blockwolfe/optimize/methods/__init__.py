"""Methods of the general form: importing this makes them known by name."""

from blockwolfe.optimize.methods.frank_wolfe import BlockFrankWolfe, FrankWolfe
from blockwolfe.optimize.methods.fully_corrective import FullyCorrective, MinNormPoint
from blockwolfe.optimize.methods.projected import BlockProjectedGradient
from blockwolfe.optimize.methods.randomized_away import RandomizedAway

__all__ = [
    "BlockFrankWolfe",
    "BlockProjectedGradient",
    "FrankWolfe",
    "FullyCorrective",
    "MinNormPoint",
    "RandomizedAway",
]
