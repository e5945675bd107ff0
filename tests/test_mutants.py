"""The list of changes for mutation testing is alive: each can be made, in one place."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from blockwolfe.base import lanes
from tools.mutants.changes import MUTANTS
from tools.mutants.mutant import ROOT, Mutant, MutantError


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_change_can_be_made(mutant):
    changed = mutant.changed()
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(mutant.path.read_text()))
    for selector in mutant.tests.split():
        file, *names = selector.split("::")
        text = (ROOT / file).read_text()
        assert all(f"def {name.split('[')[0]}(" in text for name in names), selector


def test_the_list_is_long_and_few_are_accepted_as_survivors():
    assert len(set(MUTANTS)) == len(MUTANTS) >= 120
    assert sum(bool(mutant.survives) for mutant in MUTANTS) <= 0.1 * len(MUTANTS)


def test_a_change_that_cannot_be_made_is_an_error():
    with pytest.raises(MutantError, match="found 0 times"):
        Mutant("errors.py", "no such text", "", "", "").changed()
    with pytest.raises(MutantError, match="times"):
        Mutant("errors.py", "class ", "", "", "").changed()
    assert Path(ROOT / "src" / "blockwolfe" / "errors.py").exists()


def test_all_that_is_written_in_llvms_words_has_a_stand_in():
    source = (ROOT / "tools" / "mutants" / "interpreted.py").read_text()
    made = {of.name for of in ast.parse(source).body if isinstance(of, ast.FunctionDef)}
    assert {name for name in lanes.__all__ if name.islower()} <= made


def test_tests_run_interpreted():
    visit = "tests/methods/test_dense.py::test_every_visit_is_that_of_the_mathematics"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "tools.mutants.interpreted", f"{visit}[chain-bounded-forward-none]"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "1 passed" in done.stdout, done.stdout[-2000:]
