"""Commands take options in groups, users see each of them, and every field is passed on."""

import inspect
from dataclasses import dataclass

import pytest

from blockwolfe.cli.explore import Runs, Walk, compare, path
from blockwolfe.cli.groups import grouped
from blockwolfe.cli.options import Given
from blockwolfe.cli.train import Strength, Training, train


@dataclass(frozen=True, kw_only=True)
class Size:
    width: int
    height: int = 2


def test_fields_become_parameters_and_objects_again():
    seen = []

    @grouped
    def command(size: Size, name: str = "box") -> int:
        seen.append((size, name))
        return 0

    command(width=3)
    command(width=1, height=5, name="hat")
    assert seen == [(Size(width=3), "box"), (Size(width=1, height=5), "hat")]
    parameters = inspect.signature(command).parameters
    assert list(parameters) == ["width", "height", "name"]
    assert parameters["width"].default is inspect.Parameter.empty
    assert parameters["height"].annotation is int
    with pytest.raises(TypeError, match="depth"):
        command(width=1, depth=2)


@pytest.mark.parametrize(
    ("command", "groups"),
    [(train, (Given, Strength, Training)), (path, (Given, Walk)), (compare, (Given, Runs))],
)
def test_no_two_groups_share_an_option(command, groups):
    names = [name for kind in groups for name in inspect.signature(kind).parameters]
    assert len(set(names)) == len(names)
    assert set(names) <= set(inspect.signature(command).parameters)
