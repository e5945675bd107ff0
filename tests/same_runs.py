"""Whether two runs are the same, to the bit."""

import numpy as np

# Columns of a trace that differ all the same.
SECONDS = ("seconds", "oracle_seconds", "communication_share", "slowest_shard")


def content(result):
    """All of a result but seconds, as arrays."""
    certificate = result.certificate
    columns = {f"trace.{n}": result.trace[n] for n in result.trace.columns if n not in SECONDS}
    return columns | {
        "w": result.w,
        "v": np.zeros(0) if result.last_state is None else result.last_state.v,
        "block_gaps": certificate.block_gaps,
        "numbers": np.array([certificate.primal, certificate.dual, certificate.gap]),
        "counts": np.array(list(vars(result.counts).values())),
        "method": np.array(repr(result.method)),
        "status": np.array(result.status.name),
    }


def assert_same(found, expected):
    """Of two contents."""
    assert set(found) == set(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
