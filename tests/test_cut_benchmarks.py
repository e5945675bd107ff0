"""The benchmark scripts of cuts run on a small scale."""

from test_benchmarks import number, table_of


def test_all_programs_agree_on_the_flow():
    (row,) = table_of("cut_speed.py", "--sizes", 400, "--strength", 1.0, "--repetitions", 1)
    assert number(row["blockwolfe ms"]) > 0
    assert number(row["scipy ms"]) > 0


def test_snakes_are_told_from_background(data_home):
    rows = table_of(
        "cut_quality.py", "--sets", "snakes", "--lam", 100, "--data-home", data_home, "--tol", 0.05
    )
    assert [number(row["node accuracy"]) > 0.99 for row in rows] == [True] * 3
