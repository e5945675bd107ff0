"""Files: archives, models, paths; whole or not there."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

ARCHIVE, MODEL, FILES, WEIGHTS = (
    "base/archive.py",
    "estimators/model_file.py",
    "base/files.py",
    "path/weights.py",
)
OWN = "tests/base/test_archive_promises.py"

MUTANTS = [
    Mutant(
        ARCHIVE,
        "with np.load(path, allow_pickle=False) as archive:\n            text",
        "with np.load(path, allow_pickle=True) as archive:\n            text",
        "a stranger's file runs code",
        OWN,
    ),
    Mutant(
        ARCHIVE,
        'if _digest(header, arrays) != header.get("digest"):',
        "if False:",
        "a file that was altered is loaded",
        OWN,
    ),
    Mutant(
        ARCHIVE,
        "for name in sorted(arrays):",
        "for name in sorted(arrays)[:1]:",
        "arrays that the digest does not cover",
        OWN,
    ),
    Mutant(
        ARCHIVE,
        'header["version"] > kind.version:',
        "False:",
        "a file of a later version is misread",
        OWN,
    ),
    Mutant(
        ARCHIVE,
        "if found != kind.format:\n",
        "if False:\n",
        "any npz is taken for a model",
        OWN,
    ),
    Mutant(
        FILES,
        "os.replace(temporary, path)",
        "path.write_bytes(open(temporary, 'rb').read())",
        "a crash in mid-write loses the old file",
        OWN,
    ),
    Mutant(
        FILES,
        "os.fsync(file.fileno())",
        "pass",
        "a power cut loses the old file and the new one",
        OWN,
    ),
    Mutant(
        MODEL,
        'svm.certificate_ = Certificate(block_gaps=arrays["block_gaps"], **header["certificate"])',
        'svm.certificate_ = Certificate(block_gaps=arrays["block_gaps"], **header["certificate"] | {"exact": True})',
        "an estimate is certified once it was saved",
        "tests/problem/test_inexact_bounds.py::test_slack_survives_files",
    ),
    Mutant(
        WEIGHTS,
        "weights._last[index] = value",
        "weights._last[index] = 0.0",
        "a path that was loaded goes on from other weights",
        "tests/path/test_walk.py",
    ),
    Mutant(
        WEIGHTS,
        "ROUNDING * scale)",
        "1e-3 * scale)",
        "weights of a path that are not those that were certified",
        "tests/path/test_walk.py",
    ),
    Mutant(
        WEIGHTS,
        "self._last = self[size - 1] if size else np.zeros(self.n_features)",
        "pass",
        "after a truncation differences are of another vector",
        "tests/path/test_walk.py",
    ),
]
