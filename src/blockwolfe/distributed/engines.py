"""The engines by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from blockwolfe.distributed.processes import Processes
from blockwolfe.distributed.ray_actors import Ray, ray_library
from blockwolfe.distributed.remote import Care
from blockwolfe.distributed.runners import Runner, Serial, Threads
from blockwolfe.errors import OptionError, unknown_option

__all__ = ["WITH_WORKERS", "check_engine", "check_installed", "runner_of"]

ENGINES = ("serial", "threads", "processes", "ray")
WITH_WORKERS = ("processes", "ray")  # in other processes, which may be lost


def check_engine(engine: Any, address: Any) -> None:
    """Refuse an engine that is not known, and an address that is of no use."""
    if engine not in ENGINES:
        raise unknown_option("engine", engine, ENGINES)
    if address is not None and (engine != "ray" or not isinstance(address, str)):
        raise OptionError(
            f"address={address!r} is for engine='ray' alone, and the address of a Ray cluster, "
            f"such as 'auto' or 'ray://head:10001'; engine is {engine!r}."
        )


def check_installed(engine: str) -> None:
    """Refuse an engine whose library is missing: where it is to run, not where it is named."""
    if engine == "ray":
        ray_library()


def runner_of(
    engine: str, care: Care, address: str | None = None
) -> Callable[[int, Callable[[int], Any]], Runner]:
    """What makes a runner of so many shards, given the beginning of each."""
    if engine == "ray":
        return partial(Ray, care=care, address=address)
    if engine == "processes":
        return partial(Processes, care=care)
    return Serial if engine == "serial" else Threads
