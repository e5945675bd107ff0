"""Random small problems of every task, with every output listed by code of its own.

Nothing here calls the package to find features, losses or outputs: they are written anew from the
mathematics and from what the docstrings of the tasks say of the layout of w. Of a fitted task only
what it documents as learned is read (labels, pairs, anchors, vocabulary).
"""
