"""`make demo`: read strings of handwritten digits, with a certificate.

The digits follow a hidden rule from one to the next. A chain learns the rule together with
the shapes; a model of single digits cannot. Data: scikit-learn's bundled digit images.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import blockwolfe as bw

OUTPUT = Path("demo-output")


def main() -> None:
    """Train both models, print the certificate and the errors, draw the report."""
    console = Console()
    train = bw.datasets.digit_strings(split="train")
    test = bw.datasets.digit_strings(split="test")
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
    path = draw(chain, alone, test, errors)
    page = bw.write_report(
        OUTPUT / "report.html",
        chain,
        train=(train.X, train.Y),
        held_out=(test.X, test.Y),
        command="make demo",
    )
    console.print(f"report: [bold]{path}[/bold] and [bold]{page}[/bold]")


def draw(chain: Any, alone: Any, test: Any, errors: dict[str, float]) -> Path:
    """One picture: the certificate, the rule that was learned, and some test strings."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(13, 9), layout="constrained")
    grid = figure.add_gridspec(2, 3)
    bw.ConvergenceDisplay.from_estimator(chain).plot(
        axes=(figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1]))
    )
    bw.TransitionsDisplay.from_estimator(chain).plot(figure.add_subplot(grid[0, 2]))
    _draw_strings(figure.add_subplot(grid[1, :]), chain, alone, test)
    worst, best = (f"{100 * error:.1f} %" for error in errors.values())
    figure.suptitle(
        f"Handwritten digit strings: test error {worst} digit by digit, {best} as a chain; "
        f"certified gap {chain.certificate_.gap:.2g}"
    )
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / "report.png"
    figure.savefig(path, dpi=110)
    return path


def _draw_strings(axes: Any, chain: Any, alone: Any, test: Any, n_shown: int = 5) -> None:
    """Strings on which the two models differ, read by both."""
    both = list(zip(test.X, test.Y, chain.predict(test.X), alone.predict(test.X), strict=True))
    differing = [case for case in both if (case[2] != case[3]).any()] or both
    lines = []
    for x, _, _, _ in differing[:n_shown]:
        pictures = [image.reshape(8, 8) for image in x] + [np.zeros((8, 8))] * (8 - len(x))
        lines.append(np.pad(np.concatenate(pictures, axis=1), 1))
    axes.imshow(1.0 - np.concatenate(lines), cmap="gray")
    axes.set(xticks=[], yticks=[], title="Test strings that the two models read differently")
    for row, (_, y, with_chain, without) in enumerate(differing[:n_shown]):
        text = "   ".join(
            f"{name} {''.join(map(str, labels))}"
            for name, labels in (("true", y), ("chain", with_chain), ("alone", without))
        )
        axes.text(68, 10 * row + 5, text, va="center", family="monospace", fontsize=11)


if __name__ == "__main__":
    main()
