"""The benchmark scripts run and print a table, on a small scale."""

import json
from pathlib import Path

import pytest

from amount import ALL
from scripts import run_script

FOLDER = Path(__file__).parents[1] / "benchmarks"


def table_of(script, *arguments):
    """Lines of the last Markdown table that a script prints, as cells."""
    printed = run_script(FOLDER / script, *arguments)
    assert "cores, Python" in printed
    lines = [line for line in printed.splitlines() if line.startswith("|")]
    header, _, *body = ([cell.strip() for cell in line[1:-1].split("|")] for line in lines)
    return [dict(zip(header, line, strict=True)) for line in body]


def test_speed_of_visits():
    """(it compares the dual with that of numpy)"""
    printed = run_script(FOLDER / "speed.py", "--small")
    assert "same dual" in printed
    assert "SSG step" in printed


def test_visits_over_stored_corners():
    (row,) = table_of("corner_visits.py", "--small", "--lams", 0.01)
    assert number(row["corners per block"]) > 1
    assert number(row["visit over stored corners"]) > 0 < number(row["bare oracle"])


def test_visits_beside_the_oracle():
    arguments = ["--small", "--warm-up", 1, "--repetitions", 1]
    permuted, in_turn = table_of("visits_speed.py", *arguments)
    assert (permuted["order"], in_turn["order"]) == ("permuted", "in turn")
    assert number(permuted["oracle"]) > 0 < number(in_turn["averaged"])


def number(cell):
    return float(cell.replace(",", ""))


def test_gap_sampling_needs_fewer_calls_on_the_toy_problem(tmp_path):
    output = tmp_path / "toy.md"
    (row,) = table_of("toy_table.py", "--sizes", 30, "--seeds", 3, "--output", output)
    assert number(row["gap sampling"]) <= 1.2 * number(row["n + t"])
    assert 0.5 < number(row["uniform"]) / number(row["n t"]) < 2
    assert row["uniform"] in output.read_text()


def test_slow_calls_are_saved():
    options = ("--milliseconds", 0, "--strings", 8, "--tol", 0.2, "--seeds", 1)
    rows = table_of("slow_oracle_table.py", *options, "--methods", "auto", "cutting_plane+n")
    sparing, full = rows
    assert sparing["ending"] == full["ending"] == "CERTIFIED"
    assert full["of certificates"] == "0"
    assert number(sparing["calls"]) < number(full["calls"])


def test_message_passing_misses_little():
    pytest.importorskip("pytoulbar2")
    (row,) = table_of("graph_speed.py", "--sizes", 4, "--strengths", 0.2, "--repetitions", 2)
    assert number(row["missed"]) < 0.01
    assert number(row["toulbar2 ms"]) > 0


def test_longer_runs_of_letters_tell_more(data_home):
    arguments = ["--sets", "ocr-small", "--passes", 3, "--data-home", data_home]
    first, second = table_of("chain_orders.py", *arguments)
    assert (first["order"], second["order"]) == ("1", "2")
    assert number(second["on test"]) < number(first["on test"])


TABLES = {
    "ocr_small_table.py": (["--methods", "bcfw+gap", "auto", "--lam", 0.01], "method"),
    "large_table.py": (["--sets", "ocr", "--methods", "bcfw", "--no-crfsuite"], "lam"),
    "threads_table.py": (["--repetitions", 1, "--method", "bcfw"], "n_jobs"),
    "graph_quality.py": (["--edges", "none", "directed", "--lam", 0.1], "edges"),
}
LINES = {
    "ocr_small_table.py": {"bcfw+gap", "auto"},
    "large_table.py": {"1/n", "10/n"},
    "threads_table.py": {"1", "2"},
    "graph_quality.py": {"none", "directed"},
}
ENDINGS = {"CERTIFIED", "TIME_LIMIT"}
# Where numbers must lie: runs are short, but no worse than no training at all.
RANGES = {
    "gap": (0.0, 1.001),
    "P - best dual": (0.0, 1.001),
    "slack": (0.0, 1.0),
    "on test": (0.05, 1.0),
    "accuracy": (0.5, 1.0),
    "on the snake": (0.0, 1.0),
    "certify() s": (1e-6, 1e3),
    "visits per second": (1.0, 1e9),
}


@pytest.mark.parametrize("script", TABLES)
def test_tables_of_real_data(data_home, script):
    arguments, key = TABLES[script]
    rows = table_of(script, *arguments, "--time-limit", 0.3, "--data-home", data_home)
    assert {row[key] for row in rows} == LINES[script]
    assert len(rows) == len(LINES[script])
    for row in rows:
        assert row.get("ending", "TIME_LIMIT") in ENDINGS
        for name in RANGES.keys() & row.keys():
            low, high = RANGES[name]
            assert low <= number(row[name]) <= high, (name, row)
        assert RANGES.keys() & row.keys()


@pytest.mark.parametrize("jobs", [1, 2] if ALL else [2])
def test_predictions_of_every_model_in_one_table(tmp_path, jobs):
    pytest.importorskip("pycrfsuite")
    records = tmp_path / "lines.jsonl"
    arguments = ["--sets", "digits", "--at-most", 60, "--records", records, "--jobs", jobs]
    rows = table_of("predictions_table.py", *arguments)
    assert [row["model"].split()[0] for row in rows] == [
        *("StructuredSVM,", "StructuredSVMCV,", "StructuredSVM,"),
        *("CRFsuite", "CRFsuite", "SVM", "CRFsuite"),
    ]
    assert all(number(row["accuracy"]) > 0.8 and number(row["CPU s"]) > 0 for row in rows)
    kept = [json.loads(line) for line in records.read_text().splitlines()]
    assert sum("tried" not in row for row in kept) == len(rows)
    assert sum("tried" in row for row in kept) == 9 + 3  # (c1 and c2 of CRFsuite, C of the SVM)


def test_lines_of_predictions_are_made_once(tmp_path):
    """What a crash has left is gone on from, tries on held-out data too."""
    records = tmp_path / "lines.jsonl"
    arguments = ["--sets", "digits", "--at-most", 30, "--records", records, "--models"]
    (first,) = table_of("predictions_table.py", *arguments, "linear")
    assert number(first["accuracy"]) > 0.5
    *tries, line = map(json.loads, records.read_text().splitlines())
    put(records, *tries, line | {"accuracy": 0.5})
    again, new = table_of("predictions_table.py", *arguments, "linear", "svm")
    assert again["accuracy"] == "0.5000"
    assert new["chosen"] == "lam = 5/n"
    assert len(records.read_text().splitlines()) == len(tries) + 2
    put(records, tries[0] | {"score": 2.0}, tries[1])
    (chosen,) = table_of("predictions_table.py", *arguments, "linear")
    assert chosen["chosen"].startswith(f"C = {tries[0]['tried']['C']}")
    assert len(records.read_text().splitlines()) == len(tries) + 1


def put(records, *rows):
    records.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_what_pairs_are_worth():
    arguments = ["--sets", "digits", "--at-most", 40, "--seeds", 2, "--tols", 0.05]
    last, best = table_of("pairs_table.py", *arguments)
    assert (last["point"], best["point"]) == ("last", "best")
    for row in (last, best):
        assert row["ending"] == "CERTIFIED"
        assert 0.0 < number(row["relative gap"]) <= 0.05
    assert number(last["of last"]) == 1.0


def test_strengths_of_a_crf():
    pytest.importorskip("pycrfsuite")
    arguments = ["--sets", "digits", "--at-most", 60, "--c2", 1]
    (row,) = table_of("crf_strength.py", *arguments)
    assert {row[name] for name in ("data", "c2")} == {"digits", "1"}
    assert all(0.5 < number(row[name]) < 1 for name in ("CRFsuite", "by count", "by share"))


def test_what_the_defaults_rest_on():
    rows = table_of("defaults_table.py", "--sets", "digits", "--at-most", 40)
    assert {row["loss"] for row in rows} == {"hamming", "normalized_hamming"}
    assert {row["point"] for row in rows} == {"best", "last"}
    assert all(row["ending"] == "CERTIFIED" for row in rows)
    assert all(number(row["relative gap"]) <= 0.01 < 0.5 < number(row["held out"]) for row in rows)


def test_more_features_of_words_tell_more(data_home):
    lines = range(5) if ALL else (0, 4)
    arguments = ["--at-most", 60, "--data-home", data_home, "--lines", *lines]
    rows = table_of("features_table.py", *arguments)
    found = [number(row["held out"]) for row in rows]
    assert len(rows) == len(lines)
    assert found[0] < found[-1]
    assert number(rows[0]["weights"]) < number(rows[-1]["weights"])


def test_differences_over_splits():
    arguments = ["--sets", "digits", "--at-most", 30, "--splits", 3, "--models", "linear"]
    ours, other = table_of("splits_table.py", *arguments)
    assert (number(ours["difference"]), number(ours["standard error"])) == (0.0, 0.0)
    apart = number(other["measure"]) - number(ours["measure"])
    assert number(other["difference"]) == pytest.approx(apart, abs=2e-4)
    assert number(other["standard error"]) > 0.0


def test_memory_of_methods(data_home):
    arguments = ["--set", "ocr-small", "--at-most", 40, "--passes", 5, "--data-home", data_home]
    names = ["bcfw", "extragradient+entropy", "extragradient+entropy+lean"]
    rows = table_of("memory_table.py", *arguments, "--methods", *names)
    assert [row["method"] for row in rows] == names
    assert number(rows[2]["MB"]) < 0.7 * number(rows[1]["MB"])


def test_the_general_form_beside_other_solvers():
    arguments = ["--small", "--seconds", 2, "--repetitions", 1, "--jobs", 2, "--problems"]
    wanted = ["l1 ball, d", "Birkhoff"]
    rows = {row[""]: row for row in table_of("optimize_table.py", *arguments, *wanted)}
    lasso, birkhoff = "l1 ball, dense 50 x 200", "Birkhoff, 5 x 5"
    assert list(rows["ours, `fw`"]) == ["", lasso, birkhoff]
    assert rows["scikit-learn's Lasso"][birkhoff] == ""
    cells = [rows["ours, `pairwise`"][birkhoff], rows["scikit-learn's Lasso"][lasso]]
    assert all(float(seconds) > 0.0 for cell in cells for seconds in cell.split(" / "))
    # (plain steps zigzag: they do not get there in 2 s)
    assert 1e-6 < float(rows["ours, `fw`"][lasso].split(" / ")[1].strip("()")) < 1e-1


def test_settings_over_folds():
    arguments = ["--sets", "digits", "--at-most", 30, "--splits", 2, "--folds", 5, "--models"]
    ours, same, other = table_of("splits_table.py", *arguments, "--settings", "5,0.01", "1000,0.01")
    assert (same["measure"], number(same["difference"])) == (ours["measure"], 0.0)
    assert other["model"] == "StructuredSVM, lam = 1000/n, tol = 0.01"
    assert number(other["difference"]) < 0.0


def test_one_label_beside_linear_svc():
    rows = table_of("multiclass_table.py", "--small")
    assert {row["data"] for row in rows} == {"text", "dense"}
    assert all(number(row["whole_blocks"]) >= 0.0 for row in rows)
    (row,) = table_of("multiclass_table.py", "--classes", "500", "--examples", "50")
    assert number(row["gap"]) > 0.0


def test_dense_features_beside_the_product():
    rows = table_of("dense_table.py", "--small")
    assert [row["values"] for row in rows] == ["float64", "float32"]
    assert all(number(row["visit"]) >= 0.0 < number(row["full pass"]) for row in rows)


def test_growth():
    rows = table_of("growth_table.py", "--sizes", "n", "--doublings", 1)
    assert [row["size"] for row in rows] == ["n", "n", "n: exponent"]
    assert all(number(row["visit us"]) > 0.0 < number(row["MB"]) for row in rows[:2])


def test_extremes():
    case = "a sequence of a million positions"
    (row,) = table_of("extremes_table.py", "--scale", 0.001, "--cases", case)
    assert row["data"] == case
    assert number(row["relative gap"]) > 0.0
