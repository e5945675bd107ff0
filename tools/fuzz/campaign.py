"""Many cases: which comes next, who runs it, and what is said at the end."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tools.fuzz.cases import FAMILIES, Case, Outcome
from tools.fuzz.reproducer import save
from tools.fuzz.workers import Worker

__all__ = ["Campaign", "Tally"]

LONGEST_WORD = 24  # of what was drawn, that is counted; longer ones are for the reproducer alone
_MOST_KINDS = 40  # of what was drawn, that the table lists by name


class Tally:
    """What has been run of one family."""

    def __init__(self) -> None:
        self.cases, self.violations, self.seconds = 0, 0, 0.0
        self.drawn: dict[str, Counter[str]] = {}

    def add(self, outcome: Outcome) -> None:
        """Count one more case."""
        self.cases += 1
        self.violations += bool(outcome.message)
        self.seconds += outcome.seconds
        for name, what in outcome.drawn.items():
            if isinstance(what, str) and len(what) <= LONGEST_WORD:
                self.drawn.setdefault(name, Counter())[what] += 1

    def words(self) -> str:
        """What was drawn, most frequent first."""
        return "\n".join(
            f"{name}: " + ", ".join(f"{what} {n:,}" for what, n in counts.most_common(_MOST_KINDS))
            for name, counts in self.drawn.items()
        )


class Campaign:
    """Cases of some families for some seconds, by some worker processes."""

    def __init__(
        self, families: Sequence[str], seed: int, jobs: int, limit: float, failures: Path
    ) -> None:
        self.tallies = {name: Tally() for name in families}
        self.jobs, self.limit, self.failures = jobs, limit, failures
        self.console = Console()
        self._handed = Counter(dict.fromkeys(families, 0))
        self._seed, self._n_workers = seed, 0

    @property
    def violations(self) -> int:
        """How many there were."""
        return sum(tally.violations for tally in self.tallies.values())

    def run(self, seconds: float, cases: int | None = None) -> None:
        """For so long, or so many cases; those that have begun are brought to their end."""
        with tempfile.TemporaryDirectory(prefix="fuzz-") as root, self._progress() as progress:
            line = progress.add_task("", total=seconds, state="starting")
            workers = [self._worker(Path(root)) for _ in range(self.jobs)]
            began = time.monotonic()
            try:
                while True:
                    elapsed = time.monotonic() - began
                    if elapsed < seconds:
                        self._hand_out(workers, cases)
                    busy = [worker for worker in workers if worker.case is not None]
                    if not busy:
                        return
                    self._gather(busy)
                    progress.update(line, completed=min(elapsed, seconds), state=self._state())
            finally:
                for worker in workers:
                    worker.end()

    def _hand_out(self, workers: list[Worker], cases: int | None) -> None:
        """A case for everyone who has none; whoever is gone is replaced."""
        for k, worker in enumerate(workers):
            is_enough = cases is not None and self._handed.total() >= cases
            if worker.case is not None or is_enough:
                continue
            if not worker.is_alive:
                workers[k] = self._worker(worker.root.parent)
            workers[k].give(self._next())

    def _gather(self, busy: list[Worker]) -> None:
        """Wait until someone has something to say, but not for long."""
        wait([x for worker in busy for x in (worker.pipe, worker.process.sentinel)], timeout=0.5)
        for outcome in filter(None, (worker.take() for worker in busy)):
            self._count(outcome)

    def table(self) -> Table:
        """Families, cases, what was drawn, violations."""
        table = Table("family", "cases", "s each", "what was drawn", "violations")
        for name, tally in self.tallies.items():
            each = f"{tally.seconds / tally.cases:.3f}" if tally.cases else ""
            table.add_row(
                name, f"{tally.cases:,}", each, tally.words(), f"{tally.violations:,}",
                end_section=True,
            )  # fmt: skip
        return table

    def _next(self) -> Case:
        """Of the family that is furthest behind its proportion."""
        name = min(self._handed, key=lambda name: (self._handed[name] + 1) / FAMILIES[name])
        self._handed[name] += 1
        return Case(name, self._seed + self._handed[name] - 1)

    def _worker(self, root: Path) -> Worker:
        self._n_workers += 1
        return Worker(root / f"worker-{self._n_workers}", self.limit)

    def _count(self, outcome: Outcome) -> None:
        self.tallies[outcome.case.family].add(outcome)
        if outcome.message:
            path = save(outcome, self.failures)
            said = outcome.message.splitlines()[0][:300]
            self.console.print(f"{path}: {said}", style="red", markup=False, highlight=False)

    def _state(self) -> str:
        return "  ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        for name, tally in self.tallies.items():
            bad = f" ({tally.violations} violations)" if tally.violations else ""
            yield f"{name} {tally.cases:,}{bad}"

    def _progress(self) -> Progress:
        columns = (BarColumn(), TextColumn("{task.fields[state]}"), TimeRemainingColumn())
        return Progress(*columns, console=self.console, disable=not self.console.is_terminal)
