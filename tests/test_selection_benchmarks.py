"""The benchmarks of label sets and 0/1 programs run and print their tables, on a small scale."""

from test_benchmarks import number, table_of


def test_assignments_are_integral():
    rows = table_of("program_speed.py", "--sizes", 9, "--programs", 2)
    assert rows[0]["integral"] == "2/2"
    assert all(number(row["ms, median"]) > 0 for row in rows)


def test_pairs_help_on_scenes(data_home):
    arguments = ["--models", "independent", "full", "--lam", 0.03, "--tol", 0.05]
    rows = table_of("multilabel_quality.py", *arguments, "--data-home", data_home)
    match = {row["model"]: number(row["exact match"]) for row in rows}
    assert match["blockwolfe, full"] > match["blockwolfe, independent"]
