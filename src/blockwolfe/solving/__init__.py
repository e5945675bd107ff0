"""`solve`: a structured SVM at one lambda, to a certified gap."""

# Shards are a method that is known once its file is loaded, like those in `methods`.
from blockwolfe.distributed import method as shards

__all__ = ["shards"]
