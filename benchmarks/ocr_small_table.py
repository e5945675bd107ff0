"""Time and passes to certified gaps on OCR-small, for every step rule, with and without a cache.

python benchmarks/ocr_small_table.py [--time-limit 60] [--lam 0.01 0.001] [--methods auto ...]

With the defaults this takes up to an hour; a run ends as soon as its last target is certified.
"""

from __future__ import annotations

from itertools import product

from common import machine, ocr, options, publish

import blockwolfe as bw

STEPS = ["", "+pairwise", "+away", "+best", "+blended", "+corrective"]
METHODS = [
    f"bcfw+{sampling}{step}{cache}"
    for sampling, step, cache in product(["uniform", "gap"], STEPS, ["", "+cache"])
]
TARGETS = (1e-1, 1e-2, 1e-3, 1e-4)
FINE_TARGETS = {0.01: (1e-6,)}  # beyond reach in such a time at smaller lam


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--lam", type=float, nargs="+", default=[0.01, 0.001])
    parser.add_argument("--methods", nargs="+", default=[*METHODS, "auto"])
    parser.add_argument("--seeds", type=int, default=1, help="runs of each method; medians")
    given = parser.parse_args()
    problem = ocr("small", given.data_home).problem
    for lam in given.lam:
        found = bw.compare(
            problem,
            lam,
            given.methods,
            budget=given.time_limit,
            seeds=range(given.seeds),
            targets=TARGETS + FINE_TARGETS.get(lam, ()),
            verbose=1,
        )
        publish(given.output, f"OCR-small, at most {given.time_limit:g} s.", found.to_markdown())
    publish(given.output, machine())


if __name__ == "__main__":
    main()
