"""What the trace says of rounds."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.distributed.shard import Report
from blockwolfe.distributed.watching import Log
from sharding import LAM, TOL, problem_of


def report(seconds, gain=0.0):
    return Report(np.zeros(1), 0.0, 0.0, 0.0, gain, seconds, None)


def test_numbers_of_rounds():
    log = Log(3, is_concurrent=True)
    assert log.numbers() == {}
    log.add([report(1.0, 0.5), report(3.0, 0.25), None], 4.0)
    log.add([report(2.0), report(1.0), report(1.5)], 4.0)
    found = log.numbers()
    assert found["rounds"] == 2
    assert found["local_gain"] == 0.75
    assert found["communication_share"] == pytest.approx(1 - 5 / 8)
    assert found["slowest_shard"] == 1
    log.begin_pass()
    log.add([report(1.0), report(0.0), report(0.0)], 2.0)
    assert log.numbers() == pytest.approx(
        {"rounds": 3, "local_gain": 0.0, "communication_share": 0.5, "slowest_shard": 0}
    )


def test_one_after_another_is_no_communication():
    log = Log(2, is_concurrent=False)
    log.add([report(1.0), report(3.0)], 4.0)
    assert log.numbers()["communication_share"] == 0.0


def test_rounds_in_trace_and_summary():
    problem = problem_of("chain-dense")
    result = bw.solve(
        problem, LAM, bw.Sharded(2, "serial", "bcfw", rounds=3), tol=TOL, random_state=0
    )
    trace = result.trace
    assert trace["rounds"].tolist() == (3 * trace["passes"]).tolist()
    share = trace["communication_share"][1:]
    assert ((share >= 0.0) & (share <= 1.0)).all()
    assert set(trace["slowest_shard"][1:]) <= {0, 1}
    assert f"{trace['rounds'][-1]}, " in dict(result.rows())["rounds"]
    # Alone, the shards cannot gain more together than all of them did in the joint step and more.
    dual = np.array([row.dual for row in trace])
    assert (trace["local_gain"][1:] >= 0.0).all()
    assert np.isfinite(dual).all()
    alone = bw.solve(problem, LAM, "bcfw", tol=TOL, random_state=0)
    assert "rounds" not in dict(alone.rows())
    assert not alone.trace["rounds"].any()
