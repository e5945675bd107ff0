"""The path on OCR-small: what the paper shows, and fresh certificates at many lambdas."""

import numpy as np
import pytest

import blockwolfe as bw
from amount import ALL

N_LAMS = 200 if ALL else 50


@pytest.fixture(scope="module")
def problem(data_home):
    train = bw.datasets.load_ocr("small", "train", data_home)
    return bw.Problem(bw.tasks.Chain(26, task_loss="normalized_hamming"), train.X, train.Y)


@pytest.mark.parametrize(
    ("eps", "lam_min"), [(0.1, None), (0.01, 0.005), *([(0.01, 300.0)] if ALL else [])]
)
def test_every_lambda_is_certified(problem, eps, lam_min):
    """(For the small eps the two ends of the path: the whole takes a minute, see benchmarks.)"""
    begin = 0.05 if lam_min == 0.005 else None
    path = bw.solve_path(problem, eps, lam_min, lam_max=begin, random_state=0, keep_states=True)
    assert path.status is bw.Status.CERTIFIED
    rng = np.random.default_rng(0)
    low = np.log(path.lam_min or path.breakpoints[-1].lam / 100.0)
    high = np.log(path.lam_max * (1.0 if begin else 3.0))
    gaps = [
        bw.certify(problem, path.state(problem, lam), lam).gap
        for lam in np.exp(rng.uniform(low, high, size=N_LAMS))
    ]
    assert max(gaps) <= eps
    assert max(gaps) > 0.5 * eps  # (else breakpoints would be closer than they need be)


def test_first_breakpoint_of_the_authors(problem):
    path = bw.solve_path(problem, 0.1, max_passes=0)
    assert path.lam_max == pytest.approx(4623.17337343666, rel=1e-8)
