"""The table of all changes: which were noticed, by what, and the survivors with their reasons."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter

from tools.mutants.changes import MUTANTS
from tools.mutants.run import Outcome, limits_of, outcomes


def main() -> int:
    """Run; 1 where the list is wrong about a change."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="changes whose file or tests contain this")
    given = parser.parse_args()
    chosen = [m for m in MUTANTS if given.only in f"{m.file} {m.tests}"]
    for mutant in chosen:
        mutant.changed()
    limits = limits_of((mutant.tests for mutant in chosen), given.jobs)
    found = []
    for outcome in outcomes(chosen, given.jobs, limits):
        found.append(outcome)
        _show(outcome)
    return _sum_up(found)


def _show(outcome: Outcome) -> None:
    mark = " " if outcome.is_expected else "!"
    name = f"{outcome.mutant.name[:84]:84}"
    row = f"{mark} {outcome.ending:8} {outcome.seconds:6.1f} s  {name}  {outcome.noticed_by}"
    print(row, flush=True)


def _sum_up(found: list[Outcome]) -> int:
    counts = Counter(outcome.ending for outcome in found)
    print(f"\n{len(found)} changes: " + ", ".join(f"{n} {ending}" for ending, n in counts.items()))
    for outcome in found:
        if outcome.ending == "survived":
            reason = outcome.mutant.survives or f"NOT NOTICED: {outcome.mutant.why}"
            print(f"  {outcome.mutant.name}\n    -> {outcome.mutant.after.strip()}\n    {reason}")
    return 0 if all(outcome.is_expected for outcome in found) else 1


if __name__ == "__main__":
    sys.exit(main())
