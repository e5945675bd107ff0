"""Methods: what one is, the registry of all, and a file or folder for each family."""

# A method is known once its file is loaded.
from blockwolfe.methods import auto, frank_wolfe
from blockwolfe.methods.bcfw import settings
from blockwolfe.methods.cutting_plane import methods as cutting_planes
from blockwolfe.methods.excessive_gap import method as smoothing
from blockwolfe.methods.exponentiated import online
from blockwolfe.methods.extragradient import method as extragradient
from blockwolfe.methods.subgradient import batch, perceptron, stochastic

__all__ = [
    "auto",
    "batch",
    "cutting_planes",
    "extragradient",
    "frank_wolfe",
    "online",
    "perceptron",
    "settings",
    "smoothing",
    "stochastic",
]
