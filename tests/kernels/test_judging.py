"""What is no kernel is warned of."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import blockwolfe as bw
from blockwolfe.errors import KernelWarning
from blockwolfe.kernels.judging import judge
from blockwolfe.kernels.kernel import Kernel

X = np.random.default_rng(3).normal(size=(300, 5))


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "laplacian", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_kernels_are_not_warned_of(name, form):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judge(Kernel(name).fit(form(X[:50])), 0)
        judge(Kernel(name).fit(form(np.repeat(X[:2], 20, axis=0))), 0)  # (of low rank)
        judge(Kernel(name).fit(form(X[:1])), 0)
        judge(Kernel(name).fit(form(X * 0.0)), 0)


def test_sigmoid_is_not_positive_semidefinite():
    with pytest.warns(
        KernelWarning, match="kernel='sigmoid' is not positive semidefinite: among 200"
    ):
        judge(Kernel("sigmoid", gamma=2.0, coef0=-1.0).fit(X), 0)


def test_a_function_that_is_not_symmetric():
    def one_sided(A, B):
        return A @ B.T + A[:, :1]

    with pytest.warns(KernelWarning, match="kernel=one_sided is not symmetric: between positions"):
        judge(Kernel(one_sided).fit(X), 0)


def test_rounding_is_no_asymmetry():
    noise = np.random.default_rng(0).normal(size=(300, 300))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judge(Kernel("precomputed").fit(X @ X.T + np.eye(300) + 1e-12 * noise), 0)


def test_the_positions_of_a_warning_are_those_of_training():
    G = X @ X.T + 10 * np.eye(300)
    G[250:, :250] += 7.0
    with pytest.warns(KernelWarning) as seen:
        judge(Kernel("precomputed").fit(G), 1)
    message = str(seen[0].message)
    s, t = map(int, re.search(r"positions (\d+) and (\d+) of", message).groups())
    assert f"it is {G[s, t]:.6g}, and {G[t, s]:.6g} the other way" in message
    assert abs(G[s, t] - G[t, s]) > 6.0


@pytest.mark.parametrize("is_zero", [True, False])
def test_negative_matrices(is_zero):
    G = np.zeros((4, 4)) if is_zero else -np.eye(4)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        judge(Kernel("precomputed").fit(G), 0)
    assert len(seen) == (not is_zero)


def test_the_warning_is_public():
    assert bw.KernelWarning is KernelWarning
    assert issubclass(KernelWarning, UserWarning)
