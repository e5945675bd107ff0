"""Threads and processes: the number of workers never changes an answer."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

FILE = "problem/workers.py"
THREADS = "tests/problem/test_threads.py"
WORKERS = "tests/methods/test_workers.py"
CUT = "tests/problem/test_spans.py"

CLAIMS, CREW = "base/claims.py", "problem/crew.py"

MUTANTS = [
    Mutant(
        CLAIMS,
        "cuts = begin + np.arange(n_pieces + 1) * (end - begin) // max(n_pieces, 1)",
        "cuts = begin + np.arange(n_pieces + 1) * (end - begin - 1) // max(n_pieces, 1)",
        "the last block is answered by nobody",
        CUT,
    ),
    Mutant(
        FILE,
        "return int(min(self.each(lambda k: fill(pieces, self._own_of(k)))))",
        "return int(max(self.each(lambda k: fill(pieces, self._own_of(k)))))",
        "blocks without an answer keep their zeros: a false certificate",
        CUT,
    ),
    Mutant(
        CLAIMS,
        "for k in range(0, len(self.cuts) - 1, n_pieces):",
        "for k in range(0, len(self.cuts) - n_pieces, n_pieces):",
        "shares of v are lost",
        CUT,
    ),
    Mutant(
        CREW,
        "            self.error = error\n",
        "            pass\n",
        "an error in a thread is lost, and with it the blocks that were not answered",
        CUT,
    ),
]
