"""The papers' experiments, made again: `python -m experiments --help`.

`core` is what all share; every other file is one group of figures: what is run, how it is drawn,
and which sentences of the paper it tests.
"""
