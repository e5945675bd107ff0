"""The benchmark scripts run and print a table, on a small scale."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


def table_of(script, *arguments):
    """Lines of the last Markdown table that a script prints, as cells."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *map(str, arguments)],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "cores, Python" in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    header, _, *body = ([cell.strip() for cell in line[1:-1].split("|")] for line in lines)
    return [dict(zip(header, line, strict=True)) for line in body]


def number(cell):
    return float(cell.replace(",", ""))


def test_gap_sampling_needs_fewer_calls_on_the_toy_problem(tmp_path):
    output = tmp_path / "toy.md"
    (row,) = table_of("toy_table.py", "--sizes", 30, "--seeds", 3, "--output", output)
    assert number(row["gap sampling"]) <= 1.2 * number(row["n + t"])
    assert 0.5 < number(row["uniform"]) / number(row["n t"]) < 2
    assert row["uniform"] in output.read_text()


def test_the_cache_saves_slow_calls():
    without, cached = table_of(
        "slow_oracle_table.py", "--milliseconds", 0, "--strings", 8, "--tol", 0.2
    )
    assert without["ending"] == cached["ending"] == "CERTIFIED"
    assert without["cache hits"] == "0"
    assert number(cached["calls"]) < number(without["calls"])


def test_message_passing_misses_little():
    pytest.importorskip("pytoulbar2")
    (row,) = table_of("graph_speed.py", "--sizes", 4, "--strengths", 0.2, "--repetitions", 2)
    assert number(row["missed"]) < 0.01
    assert number(row["toulbar2 ms"]) > 0


@pytest.mark.parametrize(
    ("script", "arguments", "n_lines"),
    [
        ("ocr_small_table.py", ["--methods", "bcfw+gap", "auto", "--lam", 0.01], 2),
        ("large_table.py", ["--sets", "ocr", "--methods", "bcfw", "--no-crfsuite"], 2),
        ("threads_table.py", ["--repetitions", 1, "--method", "bcfw"], 2),
        ("graph_quality.py", ["--edges", "none", "directed", "--lam", 0.1], 2),
    ],
)
def test_tables_of_real_data(data_home, script, arguments, n_lines):
    arguments = [*arguments, "--time-limit", 0.3, "--data-home", data_home]
    assert len(table_of(script, *arguments)) == n_lines
