"""A fuzzer: random cases against the promises of the library, for as long as one lets it run.

    python -m tools.fuzz --seconds 600 --jobs 2
    python -m tools.fuzz reproduce fuzz-failures/problems-17.json

A *family* is a module with ``run_case(seed, folder)``: deterministic in its seed, it writes into
`folder` alone, and raises `common.Violation` where a promise is broken. Whatever else it lets out,
a crash, a hang, a process or a file left behind is a violation too; `cases` and `workers` notice.
"""
