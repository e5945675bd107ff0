"""The speed table of matchings, on a small scale; each row has checked that all solvers agree."""

from test_benchmarks import table_of


def test_solvers_agree():
    rows = table_of("matching_speed.py", "--sizes", 6, 12)
    assert [(row["scores"], row["n"]) for row in rows] == [
        (kind, n) for kind in ("trained", "flat", "sparse") for n in ("6", "12")
    ]
