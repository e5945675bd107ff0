"""What the benchmark scripts share: the name of the machine, the real data, Markdown tables."""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import blockwolfe as bw

ROOT = Path(__file__).parents[1]
# The loss with which the papers compare methods; the objective begins at 1.
PAPERS = "normalized_hamming"


def data_home() -> Path | None:
    """The folder with the real datasets, where there is one."""
    named = os.environ.get("BLOCKWOLFE_DATA")
    beside = ROOT.parent / "shared" / "data"
    return Path(named) if named else (beside if beside.is_dir() else None)


def machine() -> str:
    """The machine and the versions that a figure belongs to, in one line."""
    return (
        f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numba {version('numba')}, numpy {version('numpy')}, blockwolfe {bw.__version__}"
    )


def _processor() -> str:
    """The model name where Linux tells it; elsewhere what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def options(description: str | None, needs_data: bool = False) -> argparse.ArgumentParser:
    """A parser with the options that all scripts have."""
    parser = argparse.ArgumentParser(
        description=(description or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--output", type=Path, help="also append the tables to this file")
    if needs_data:
        parser.add_argument(
            "--data-home",
            default=data_home(),
            help="folder of the real data; without it, they are downloaded",
        )
    return parser


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; floats with three digits, NaN as a dash."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def publish(output: Path | None, *paragraphs: str) -> None:
    """Print paragraphs as they come; append them to a file where one is named."""
    text = "\n\n".join(paragraphs) + "\n"
    print(text, flush=True)
    if output is not None:
        with output.open("a") as file:
            file.write(text + "\n")


class Timed(NamedTuple):
    """What a function returned, and what it took."""

    value: Any
    seconds: float
    cpu_seconds: float


def timed(function: Callable[[], Any]) -> Timed:
    """Call it once."""
    began, cpu_began = time.perf_counter(), time.process_time()
    value = function()
    return Timed(value, time.perf_counter() - began, time.process_time() - cpu_began)


def warm_up(problem: bw.Problem, lam: float, method: Any, **more: Any) -> None:
    """Compile what a method needs, so that no figure contains it."""
    bw.solve(problem, lam, method, tol=0.0, max_passes=1, random_state=0, **more)


class Benchmark(NamedTuple):
    """A training problem with its test split and the measure that its literature uses."""

    problem: bw.Problem
    test: bw.datasets.Dataset
    measure: str
    score: Callable[[Any, Any], float]

    def test_score(self, w: np.ndarray) -> float:
        """The measure at w, on the test split."""
        return self.score(self.test.Y, self.problem.task.predict(self.test.X, w))


def ocr(subset: str, home: Any) -> Benchmark:
    """Handwritten words, measured by the share of wrong letters."""
    train, test = (bw.datasets.load_ocr(subset, split, home) for split in ("train", "test"))
    problem = bw.Problem(bw.tasks.Chain(26, task_loss=PAPERS), train.X, train.Y)
    return Benchmark(problem, test, "letter error", letter_error)


def conll2000(home: Any) -> Benchmark:
    """Text chunking, measured by the F1 of whole chunks."""
    train, test = (bw.datasets.load_conll2000(split, home) for split in ("train", "test"))
    problem = bw.Problem(bw.tasks.Chain(task_loss=PAPERS), train.X, train.Y)
    return Benchmark(problem, test, "chunk F1", lambda Y, Z: bw.datasets.chunk_f1(Y, Z).f1)


def letter_error(Y: Any, Y_hat: Any) -> float:
    """Share of positions with a wrong label."""
    return float(np.mean(np.concatenate(Y) != np.concatenate(Y_hat)))
