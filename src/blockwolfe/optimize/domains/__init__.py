"""Convex compact sets with linear oracles, one file for each kind."""

from blockwolfe.optimize.domains.base import Domain
from blockwolfe.optimize.domains.base_polytope import BasePolytope
from blockwolfe.optimize.domains.birkhoff import Birkhoff
from blockwolfe.optimize.domains.boxes import Box, L2Ball
from blockwolfe.optimize.domains.checking import DomainReport, check_domain
from blockwolfe.optimize.domains.flow import Flow
from blockwolfe.optimize.domains.k_sparse import KSparse
from blockwolfe.optimize.domains.nuclear import NuclearBall
from blockwolfe.optimize.domains.oracle import Oracle
from blockwolfe.optimize.domains.product import Product
from blockwolfe.optimize.domains.simplices import L1Ball, Simplex
from blockwolfe.optimize.domains.submodular import ConcaveOfCardinality, CutFunction
from blockwolfe.optimize.domains.vertices import Vertices

__all__ = [
    "BasePolytope",
    "Birkhoff",
    "Box",
    "ConcaveOfCardinality",
    "CutFunction",
    "Domain",
    "DomainReport",
    "Flow",
    "KSparse",
    "L1Ball",
    "L2Ball",
    "NuclearBall",
    "Oracle",
    "Product",
    "Simplex",
    "Vertices",
    "check_domain",
]
