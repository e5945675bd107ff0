"""Structured SVMs trained to a certified optimum by block-coordinate Frank-Wolfe."""
from blockwolfe import tasks
from blockwolfe.methods.samplers import Cyclic, Permutation, Uniform
from blockwolfe.methods.settings import BCFW, FW, FrankWolfe
from blockwolfe.methods.solve import solve
from blockwolfe.problem.problem import Problem, certify
