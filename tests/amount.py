"""How much of a product of many choices is tested: some of it, or with BLOCKWOLFE_ALL_TESTS all."""

import itertools
import os

ALL = bool(os.environ.get("BLOCKWOLFE_ALL_TESTS"))


def some(number):
    """So many cases where ALL is set, else a third of them."""
    return number if ALL else number // 3


def product(*choices, every):
    """All combinations of choices where ALL is set, else one in `every`: each choice stays in.

    With `every` prime to the number of choices in each list, each pair of choices does, too.
    """
    numbers = list(itertools.product(*(range(len(given)) for given in choices)))
    taken = numbers if ALL else numbers[::every]
    for given, found in zip(choices, zip(*taken, strict=True), strict=True):
        assert set(found) == set(range(len(given))), "a choice is never tested"
    return [tuple(given[k] for given, k in zip(choices, row, strict=True)) for row in taken]
