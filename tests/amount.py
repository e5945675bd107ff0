"""How much of a product of many choices is tested: some of it, or with BLOCKWOLFE_ALL_TESTS all."""

import itertools
import os

ALL = bool(os.environ.get("BLOCKWOLFE_ALL_TESTS"))


def product(*choices, every):
    """All combinations of choices where ALL is set, else one in `every`.

    With `every` prime to the number of choices in each list, each pair of choices stays in.
    """
    found = list(itertools.product(*choices))
    return found if ALL else found[::every]
