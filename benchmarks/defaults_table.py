"""What the defaults rest on: held-out accuracy by loss, lambda and the point that is returned.

    python benchmarks/defaults_table.py [--sets ocr-small conll] [--time-limit 60]

Trained on four fifths of the training set, measured on the last; test data are not looked at. All
runs end at the default tolerance or at the time limit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from common import machine, options, publish, table, timed, warm_up
from predictions_table import SETS, Data

import blockwolfe as bw

HEADER = ["data", "loss", "lam", "point", "ending", "relative gap", "held out", "CPU s"]
TOL = 1e-2


class Setting(NamedTuple):
    """A way to train."""

    loss: str
    times: float  # lam n
    point: str


SETTINGS = [
    Setting("normalized_hamming", 1.0, "last"),  # the papers'
    Setting("normalized_hamming", 1.0, "best"),
    Setting("hamming", 1.0, "last"),
    Setting("hamming", 1.0, "best"),
    Setting("hamming", 5.0, "last"),
    Setting("hamming", 5.0, "best"),  # the defaults
    Setting("hamming", 30.0, "best"),
]


def line(name: str, setting: Setting, data: Data, time_limit: float) -> list[Any]:
    """One way on one set."""
    problem = bw.Problem(bw.tasks.Chain(task_loss=setting.loss), data.X, data.Y)
    lam = setting.times / len(problem)
    given = {"time_limit": time_limit, "point": setting.point, "random_state": 0}
    warm_up(problem, lam, "auto")
    result, _, seconds = timed(lambda: bw.solve(problem, lam, tol=TOL, **given))
    accuracy = data.measures(problem.task.predict(data.X_test, result.w))["accuracy"]
    gap = float(result.certificate.relative_gap)
    ending = result.status.name
    words = [name, setting.loss, f"{setting.times:g}/n", setting.point]
    return [*words, ending, gap, f"{accuracy:.4f}", seconds]


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--at-most", type=int, help="examples to train on; all by default")
    given = parser.parse_args()
    for name in given.sets:
        data = SETS[name](given.data_home).first(given.at_most).held_out()
        rows = [line(name, setting, data, given.time_limit) for setting in SETTINGS]
        publish(given.output, table(HEADER, rows))
    publish(given.output, machine())


if __name__ == "__main__":
    main()
