"""The ball of the nuclear norm (sum of singular values), by the leading pair of singular vectors.

With the gradient as a matrix G of singular values sigma_1 >= sigma_2 >= ..., the minimum of
<G, S> over the ball is -radius * sigma_1, at S = -radius * u_1 v_1^T.

What an inexact pair does. For unit vectors u, v with u^T G v = s <= sigma_1, the Frank-Wolfe gap
computed from -radius * u v^T is too small by radius * (sigma_1 - s): it would certify too much.
Here v is the answer of Lanczos iterations that run until rounding stops them, and u = G v / s
with s = |G v|. Then rho = |G^T u - s v| bounds the distance from s to a singular value; for a
start vector that is not orthogonal to the leading one this is sigma_1, and
sigma_1 - s <= rho (<= rho^2 / (sigma_1 - sigma_2) where these differ). `_leading` accepts
rho <= 1e-12 * s only, and calls the dense decomposition otherwise, so that gaps are right to
radius * 1e-12 * sigma_1, the order of the rounding in <G, X> itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError, svds

from blockwolfe.base.checks import check_positive
from blockwolfe.optimize.atoms import Atom
from blockwolfe.optimize.domains.base import Domain
from blockwolfe.optimize.domains.reading import read_shape
from blockwolfe.optimize.domains.scaled import and_radius
from blockwolfe.optimize.domains.simplices import project_on_l1_ball

__all__ = ["NuclearBall"]

_DENSE_UP_TO = 128  # rows or columns: below, all singular vectors cost no more than one pair
_RESIDUAL = 1e-12  # of a pair that is accepted, relative to its singular value


class NuclearBall(Domain):
    """Matrices whose singular values sum to at most `radius`.

    Parameters
    ----------
    shape : pair of int
        Rows and columns. Points are these matrices row by row, as `X.ravel()` gives them.
    radius : float, default=1.0
        The largest nuclear norm.

    Examples
    --------
    >>> ball = NuclearBall((2, 3), radius=4.0)
    >>> gradient = np.array([[0.0, 5.0, 0.0], [1.0, 0.0, 0.0]])
    >>> abs(ball.minimize(gradient.ravel()).dense().reshape(2, 3)).round(12)
    array([[0., 4., 0.],
           [0., 0., 0.]])
    """

    has_projection = True
    inexactness = _RESIDUAL

    def __init__(self, shape: Any, radius: float = 1.0) -> None:
        super().__init__(read_shape("shape", shape, n_dimensions=2), is_polytope=False)
        self.radius = check_positive("radius", radius)

    def minimize(self, gradient: np.ndarray) -> Atom:
        """A matrix of rank one; radius * e_0 e_0^T where the gradient is zero."""
        gradient = self._vector("gradient", gradient)
        largest = float(np.abs(gradient).max())
        if largest == 0.0:
            return Atom.unit(self.size, 0, self.radius)
        # (at scale 1, so that no square overflows or is lost)
        u, v = _leading(gradient.reshape(self.shape) / largest)
        return Atom.owning(np.outer(-self.radius * u, v).ravel())

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest matrix: singular vectors stay, singular values go to the l1 ball."""
        matrix = self._vector("x", x).reshape(self.shape)
        u, sizes, v = np.linalg.svd(matrix, full_matrices=False)
        if sizes.sum() <= self.radius:
            return matrix.ravel().copy()
        return ((u * project_on_l1_ball(sizes, self.radius)) @ v).ravel()

    def distance(self, x: np.ndarray) -> float:
        """The Euclidean distance, by singular values alone."""
        matrix = self._vector("x", x).reshape(self.shape)
        sizes = np.linalg.svd(matrix, compute_uv=False)
        return float(np.linalg.norm(sizes - project_on_l1_ball(sizes, self.radius)))

    def __repr__(self) -> str:
        return f"NuclearBall({self.shape}{and_radius(self.radius)})"


def _leading(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The leading singular vectors, of length 1."""
    if min(matrix.shape) > _DENSE_UP_TO:
        found = _leading_by_lanczos(matrix)
        if found is not None:
            return found
    u, _, v = np.linalg.svd(matrix, full_matrices=False)
    return u[:, 0], v[0]


def _leading_by_lanczos(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The same by ARPACK, from one start vector always; None where the residual is too large."""
    start = np.random.default_rng(0).normal(size=min(matrix.shape))
    try:
        _, _, rows = svds(matrix, k=1, v0=start, return_singular_vectors="vh")
    except ArpackError:
        return None
    v = rows[0] / np.linalg.norm(rows[0])
    image = matrix @ v
    size = float(np.linalg.norm(image))
    u = image / size
    residual = float(np.linalg.norm(matrix.T @ u - size * v))
    return (u, v) if residual <= _RESIDUAL * size else None
