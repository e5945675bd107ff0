"""What features of words are worth: held-out accuracy of taggers of UD English EWT.

    python benchmarks/features_table.py [--column upos]

Each line has the templates of those above it, too; the last is what `WordFeatures` has. Default
options, trained on four fifths of the training set and measured on the last.
"""

from __future__ import annotations

from typing import Any

from common import machine, options, publish, table
from predictions_table import structured, treebank

import blockwolfe as bw
from blockwolfe.data.vectorizers.words import TAG_TEMPLATE

HEADER = ["features", "weights", "held out", "CPU s"]
LINES = dict(
    zip(
        ("the word, its shape", "its beginnings", "its ends", "words around it", "and their forms"),
        TAG_TEMPLATE.splitlines(),
        strict=True,
    )
)


def line(words: str, template: str, given: Any) -> list[Any]:
    """One set of templates."""
    data = treebank(given.column, given.data_home, template).first(given.at_most).held_out()
    svm = bw.StructuredSVM(bw.tasks.Chain(), random_state=0)
    found = structured(svm, data)
    accuracy = data.measures(found.Y_hat)["accuracy"]
    return [words, len(svm.coef_), f"{accuracy:.4f}", found.cpu_seconds]


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--column", default="upos", help="what is predicted")
    parser.add_argument("--at-most", type=int, help="sentences to train on; all by default")
    lines = list(range(len(LINES)))
    parser.add_argument("--lines", type=int, nargs="+", choices=lines, default=lines)
    given = parser.parse_args()
    templates = ["\n".join(list(LINES.values())[: k + 1]) for k in lines]
    rows = [line(list(LINES)[k], templates[k], given) for k in given.lines]
    publish(given.output, table(HEADER, rows), machine())


if __name__ == "__main__":
    main()
