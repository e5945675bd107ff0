"""`make demo`: read strings of handwritten digits, with a certificate.

The digits follow a hidden rule from one to the next. A chain learns the rule together with
the shapes; a model of single digits cannot. Data: scikit-learn's bundled digit images.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

import blockwolfe as bw
from blockwolfe.cli.demo_picture import draw

OUTPUT = Path("demo-output")


def main(folder: Path = OUTPUT, n_strings: int | None = None) -> None:
    """Train both models, print the certificate and the errors, draw the report.

    `n_strings` makes it a small one, of that many strings to train on and to test.
    """
    console = Console()
    train, test = (_strings(split, n_strings) for split in ("train", "test"))
    console.print(f"[bold]Strings of handwritten digits[/bold]: {train!r}")
    options: dict[str, Any] = {"lam": 0.01, "tol": 1e-3, "random_state": 0}
    chain = bw.StructuredSVM(bw.tasks.Chain(n_labels=10), verbose=1, **options)
    chain.fit(train.X, train.Y)
    alone = bw.StructuredSVM(bw.tasks.Chain(n_labels=10, transition=False), **options)
    alone.fit(train.X, train.Y)
    errors = {
        "each digit alone": 1.0 - alone.score(test.X, test.Y),
        "chain": 1.0 - chain.score(test.X, test.Y),
    }
    for name, error in errors.items():
        console.print(f"test error, {name:17s} {100 * error:5.2f} %")
    draw(chain, alone, test, errors, folder / "report.png")
    page = bw.write_report(
        folder / "report.html",
        chain,
        train=(train.X, train.Y),
        held_out=(test.X, test.Y),
        command="make demo",
    )
    console.print(f"report: [bold]{folder / 'report.png'}[/bold] and [bold]{page}[/bold]")


def _strings(split: str, n_strings: int | None) -> Any:
    size = {} if n_strings is None else {"n_strings": n_strings}
    return bw.datasets.digit_strings(split=split, **size)


if __name__ == "__main__":
    main()
