"""Files: archives, models, paths; whole or not there."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

ARCHIVE, FILES, UNZIPPING, WEIGHTS = (
    "base/archive.py",
    "base/files.py",
    "base/unzipping.py",
    "path/weights.py",
)
OWN = "tests/base/test_archive_promises.py"

MUTANTS = [
    Mutant(
        UNZIPPING,
        "array = npy.read_array(file, allow_pickle=False)",
        "array = npy.read_array(file, allow_pickle=True)",
        "a stranger's file runs code, were it not for the types that are looked at before",
        OWN,
        survives="a second line of defence: arrays of objects are refused by their type before",
    ),
    Mutant(
        UNZIPPING,
        "        if dtype.kind not in _KINDS or dtype.itemsize == 0 or dtype.names is not None:",
        "        if dtype.itemsize == 0 or dtype.names is not None:",
        "types that are none of ours reach numpy and compiled code",
        f"{OWN} tests/base/test_archive.py",
    ),
    Mutant(
        UNZIPPING,
        "if len(shape) > MOST_DIMENSIONS or n_bytes != info.file_size:",
        "if len(shape) > MOST_DIMENSIONS:",
        "a few bytes that claim a terabyte are given it",
        "tests/base/test_archive.py",
    ),
    Mutant(
        UNZIPPING,
        "        if total > most:\n",
        "        if False:\n",
        "a zip bomb expands",
        "tests/base/test_archive.py",
    ),
    Mutant(
        ARCHIVE,
        "    if not is_whole:\n",
        "    if False:\n",
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
        "{name} {array.dtype.str} {array.shape}",
        "{name}",
        "the same bytes as another type or shape are taken",
        "tests/base/test_archive.py",
    ),
    Mutant(
        ARCHIVE,
        "not 1 <= version <= kind.version:",
        "not 1 <= version:",
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
        "os.replace(file.name, path)",
        "path.write_bytes(open(file.name, 'rb').read())",
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
        WEIGHTS,
        "weights._last[index] = value",
        "weights._last[index] = 0.0",
        "a path that was loaded goes on from other weights",
        "tests/path/test_walk.py::test_weights_come_back_bit_by_bit_also_after_a_cut",
    ),
    Mutant(
        WEIGHTS,
        "ROUNDING * scale)",
        "1e-3 * scale)",
        "weights of a path that are not those that were certified",
        "tests/path/test_walk.py::test_weights_come_back_bit_by_bit_also_after_a_cut",
    ),
    Mutant(
        WEIGHTS,
        "self._last = self[size - 1] if size else np.zeros(self.n_features)",
        "pass",
        "after a truncation differences are of another vector",
        "tests/path/test_walk.py::test_weights_come_back_bit_by_bit_also_after_a_cut",
    ),
]
