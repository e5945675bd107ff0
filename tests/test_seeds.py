"""Seeds of every kind."""

import numpy as np
import pytest

from blockwolfe.base.seeds import generator
from blockwolfe.errors import OptionError


def first_number(random_state):
    return generator(random_state).random()


@pytest.mark.parametrize("make", [lambda: 3, lambda: np.random.RandomState(3)])
def test_the_same_seed_gives_the_same_numbers(make):
    assert first_number(make()) == first_number(make())


def test_an_open_seed_follows_numpys_global_one():
    np.random.seed(5)  # noqa: NPY002
    numbers = [first_number(None), first_number(None)]
    np.random.seed(5)  # noqa: NPY002
    assert [first_number(None), first_number(None)] == numbers
    assert numbers[0] != numbers[1]


def test_a_generator_goes_on_where_it_is():
    rng = np.random.default_rng(0)
    assert first_number(rng) != first_number(rng)


@pytest.mark.parametrize("bad", ["seven", -1, 1.5])
def test_other_things_are_refused(bad):
    with pytest.raises(OptionError, match="random_state"):
        generator(bad)
