"""The list of changes for mutation testing is alive: each can be made, in one place."""

import ast
from pathlib import Path

import pytest

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
