"""The benchmark scripts of parsing run and print a table, on a small scale."""

from test_benchmarks import number, table_of


def test_speed_of_trees():
    rows = table_of("spanning_tree_speed.py", "--sizes", 5, 60, "--repetitions", 2)
    assert [row["words"] for row in rows] == ["5", "60"]
    assert number(rows[0]["networkx, us"]) > 0
    assert rows[1]["networkx, us"] == "-"


def test_quality_of_parses(data_home):
    options = ["--sentences", 150, "--lam", 0.1, "--tol", 0.3, "--time-limit", 5]
    rows = table_of("parsing_quality.py", *options, "--data-home", data_home)
    found = {row["model"]: row for row in rows}
    assert number(found["SpanningTree"]["test UAS"]) > 0.5
    assert number(found["SpanningTree"]["trees"]) == 1
    assert number(found["each word alone"]["trees"]) < 1
    assert number(found["head is the word before"]["test UAS"]) < 0.4
