"""Mutation testing: small changes of the source, each of which some test must notice.

Tools that make changes by themselves (mutmut, cosmic-ray) do not cope with compiled code: a change
of any compiled file makes Numba compile everything anew, and they know nothing of the cache. So
the changes are a list, by area, and tests run with compiled code interpreted (`interpreted`).

    python -m tools.mutants --jobs 16
"""
