"""Threads and processes: the number of workers never changes an answer."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

FILE = "problem/workers.py"
THREADS = "tests/problem/test_threads.py"
WORKERS = "tests/methods/test_workers.py"
CUT = "tests/problem/test_spans.py"

MUTANTS = [
    Mutant(
        FILE,
        "cuts = np.linspace(0, n, min(n, n_pieces) + 1).astype(int)",
        "cuts = np.linspace(0, n - 1, min(n, n_pieces) + 1).astype(int)",
        "the last block is answered by nobody",
        CUT,
    ),
    Mutant(
        FILE,
        "return min(early, default=end)",
        "return max(early, default=end)",
        "blocks without an answer keep their zeros: a false certificate",
        CUT,
    ),
    Mutant(
        FILE,
        "results[k] = fill(span, *mine)",
        "results[0] = fill(span, *mine)",
        "shares of v are lost",
        CUT,
    ),
]
