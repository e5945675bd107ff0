"""How c2 of CRFsuite translates: test accuracy at c2, and of our chain at lam = 2 c2 / n.

    python benchmarks/crf_strength.py [--sets ocr-small] [--c2 0.1 1 10]

Both objectives have c2 |w|^2 beside a sum of losses; a CRF's are log losses, ours hinge losses that
count wrong positions. The last columns are those of a loss divided by the length.
"""

from __future__ import annotations

import warnings
from typing import Any

from common import machine, options, publish, table
from predictions_table import SETS, Data, lbfgs, structured

import blockwolfe as bw

HEADER = ["data", "c2", "CRFsuite", "CPU s", "by count", "CPU s ", "by share", "CPU s  "]


def line(name: str, c2: float, data: Data) -> list[Any]:
    """One strength on one set."""
    lam = 2.0 * c2 / len(data.Y)
    chains = [bw.tasks.Chain(task_loss=loss) for loss in ("hamming", "normalized_hamming")]
    found = [lbfgs(data, c2=c2)]
    found += [structured(bw.StructuredSVM(c, lam=lam, random_state=0), data) for c in chains]
    cells = ((f"{data.measures(one.Y_hat)['accuracy']:.4f}", one.cpu_seconds) for one in found)
    return [name, c2, *(value for pair in cells for value in pair)]


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["ocr-small"])
    parser.add_argument("--c2", type=float, nargs="+", default=[0.01, 0.1, 1.0, 3.0, 10.0])
    parser.add_argument("--at-most", type=int, help="examples of either part; all by default")
    given = parser.parse_args()
    warnings.simplefilter("ignore", bw.NotCertifiedWarning)
    rows = []
    for name in given.sets:
        data = SETS[name](given.data_home).first(given.at_most)
        rows += [line(name, c2, data) for c2 in given.c2]
    publish(given.output, table(HEADER, rows), machine())


if __name__ == "__main__":
    main()
