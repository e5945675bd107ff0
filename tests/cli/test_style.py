"""How help and errors read: flags have no type, names that are nearly right are named."""

import pytest
import typer

from blockwolfe.base.words import counted
from blockwolfe.cli.app import app
from blockwolfe.errors import closest, unknown_option
from blockwolfe.methods.registry import as_method


def commands():
    """Every command, with the words that call it."""
    top = typer.main.get_command(app)
    for name, command in top.commands.items():
        inner = getattr(command, "commands", {})
        yield [name], command
        yield from (([name, sub], each) for sub, each in inner.items())


@pytest.mark.parametrize("words", [[], *(words for words, _ in commands())], ids=" ".join)
def test_flags_are_shown_without_a_type(words, inside, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    shown = inside(*words, "--help").stdout
    assert "--help" in shown
    assert "<bool>" not in shown
    assert "BOOL" not in shown


def test_every_option_and_argument_says_what_it_is():
    for words, command in commands():
        for param in command.params:
            assert getattr(param, "help", None), f"{words}: {param.name}"


def test_options_stand_in_panels(inside, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    shown = inside("train", "--help").stdout
    titles = ["Arguments", "Options", "Data and features", "Strength of", "Method and budgets"]
    assert sorted(titles, key=shown.index) == titles
    assert shown.index("--column") < shown.index("Strength of") < shown.index("--lam-max")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["trian"], "'train'"),
        (["train", "chian", "x.txt", "-o", "m.npz"], "'chain'"),
        (["train", "chain", "x.txt", "-o", "m.npz", "--metod", "auto"], "--method"),
        (["train", "chain", "x.txt", "-o", "m.npz", "--method", "bcwf+gap"], "'bcfw+gap'"),
        (["train", "chain", "x.txt", "-o", "m.npz", "--method", "bcfw+gap+pairwize"],
         "'bcfw+gap+pairwise'"),
        (["train", "chain", "x.txt", "-o", "m.npz", "--set", "task_loss=haming"], "'hamming'"),
        (["train", "chain", "x.txt", "-o", "m.npz", "--format", "conlu"], "'conllu'"),
        (["data", "describe", "conll200"], "'conll2000'"),
        (["data", "descibe", "conll2000"], "'describe'"),
    ],
)  # fmt: skip
def test_did_you_mean(arguments, meant, inside):
    done = inside(*arguments)
    assert done.returncode == 2
    assert f"did you mean {meant}?" in done.stderr.lower()
    assert "?." not in done.stderr


def test_did_you_mean_in_a_file_of_options(inside, tmp_path):
    (tmp_path / "c.toml").write_text("lamm = 1\n")
    arguments = ["train", "chain", "x.txt", "-o", "m.npz", "--config", tmp_path / "c.toml"]
    assert "has 'lamm', which train does not know; did you mean lam?" in inside(*arguments).stderr


def test_nothing_is_meant_by_a_name_like_no_other():
    assert closest("sgd", ["bcfw", "fw"]) is None
    assert closest(3, ["bcfw"]) is closest("x" * 10**6, ["bcfw"]) is closest("fw", []) is None
    assert closest("HAMMING", ["hamming"]) == "hamming"
    text = str(unknown_option("method", "fww", ["fw"], " Own?"))
    assert text == "method='fww' is not known; did you mean 'fw'? Valid: 'fw'. Own?"
    with pytest.raises(ValueError, match=r"method='bcfw\+squared' is not known; valid"):
        as_method("bcfw+squared")


def test_one_and_many(inside, tmp_path):
    assert counted(1, "pass", "passes") == "1 pass"
    assert counted(1000, "pass", "passes") == "1,000 passes"
    (tmp_path / "a.txt").write_text("a X\nb Y\n")
    model = tmp_path / "m.npz"
    trained = inside("train", "chain", tmp_path / "a.txt", "-o", model, "--tol", "0.1")
    assert "1 block, " in trained.stdout
    assert "1 example\n" in inside("evaluate", model, tmp_path / "a.txt").stdout
    assert "1 example (columns)" in inside("inspect", model).stdout
