"""The data of the papers: golden values, test error, bounded memory. Skipped where it is absent."""

import os
import subprocess
import sys

import numpy as np
import pytest

import blockwolfe as bw

# Optimum of OCR-small lies between these, by long runs of independent programs.
GOLDEN = {0.01: (0.16451957, 0.16551065), 0.001: (0.03270102, 0.03369194)}


@pytest.fixture(scope="module")
def ocr_small(data_home):
    train = bw.datasets.load_ocr("small", "train", data_home)
    return bw.Problem(bw.tasks.Chain(26, task_loss="normalized_hamming"), train.X, train.Y)


@pytest.mark.parametrize("lam", GOLDEN)
def test_ocr_small_brackets_the_golden_values(ocr_small, data_home, lam):
    result = bw.solve(ocr_small, lam, "bcfw", tol=1e-2, random_state=0)
    assert ocr_small.n_features == 4082
    assert result.is_certified
    below, above = GOLDEN[lam]
    assert result.certificate.dual <= above
    assert result.certificate.primal >= below
    assert result.certificate.primal - below <= 1e-2 + above - below
    test = bw.datasets.load_ocr("small", "test", data_home)
    wrong = np.concatenate(
        [g != y for g, y in zip(ocr_small.task.predict(test.X, result.w), test.Y, strict=True)]
    )
    print(f"OCR-small, lam = {lam}: {result!r}, letter error on folds 1-9 {wrong.mean():.4f}")
    assert 0.18 < wrong.mean() < 0.30  # these lambdas overfit; see docs/decisions.md


MEMORY_SCRIPT = """
import resource, sys
import blockwolfe as bw
name, data_home = sys.argv[1:]
if name == "ocr-large":
    data, task = bw.datasets.load_ocr("large", "train", data_home), bw.tasks.Chain(26)
else:
    data, task = bw.datasets.load_conll2000("train", data_home), bw.tasks.Chain()
problem = bw.Problem(task, data.X, data.Y)
result = bw.solve(problem, 1 / len(problem), tol=0.0, max_passes=5)
assert result.certificate.exact and result.certificate.gap >= 0
if sys.platform == "linux":  # (where the other number begins at that of the process that asks)
    peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
else:
    scale = 1024 if sys.platform == "darwin" else 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // scale
print(problem.n_features, peak)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read with the resource module")
@pytest.mark.parametrize(("name", "d"), [("ocr-large", 4082), ("conll2000", 1_643_026)])
def test_large_sets_train_in_less_than_a_gigabyte(data_home, name, d):
    command = [sys.executable, "-c", MEMORY_SCRIPT, name, str(data_home)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    n_features, kilobytes = map(int, done.stdout.split())
    print(f"{name}: peak resident memory {kilobytes / 1024:.0f} MiB")
    assert n_features == d
    assert kilobytes < 1024 * 1024
