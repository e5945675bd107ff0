"""Shards in a Ray cluster: an actor each, wherever Ray has a core for it.

What all shards get in a message, w above all, is put into the object store once.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from blockwolfe.base.optional import optional
from blockwolfe.distributed.remote import Care, GoneError, Remote, Worker
from blockwolfe.distributed.travel import Answer, Desk, opened
from blockwolfe.errors import OptionError, ShardLostError

__all__ = ["Ray", "importing_alike", "ray_library"]


def ray_library() -> Any:
    """Ray; an error that names the extra where it is not installed."""
    return optional("ray", "ray", 'For engine="ray"')


class _Actor(Worker):
    """The actor of one shard, as seen from outside."""

    def __init__(self, number: int, ray: Any, make: Any) -> None:
        super().__init__(number)
        self._ray, self._actor = ray, make.remote()
        self.owed: list[Any] = []  # references to answers, the oldest first

    @property
    def is_owing(self) -> bool:
        return bool(self.owed)

    def send(self, own: bytes, common: Any) -> None:
        self.owed.append(self._actor.answer.remote(own, common))

    def receive(self) -> Answer:
        try:
            message = self._ray.get(self.owed[0])
        except self._ray.exceptions.RayError as error:
            raise GoneError(f"was lost by Ray ({_why(error)})") from error
        del self.owed[0]
        return opened(message)

    def kill(self) -> None:
        with contextlib.suppress(Exception):  # (whatever Ray says of what is gone already)
            self._ray.kill(self._actor)


def _why(error: Exception) -> str:
    """What Ray says of an error, without its advice: the line that names a reason."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = next((line for line in lines if "because" in line), lines[0] if lines else "")
    return reason.partition(" Some common causes")[0].rstrip(". ") or type(error).__name__


class Ray(Remote):
    """An actor for every shard, in the cluster at `address`, that in use, or a local one."""

    def __init__(
        self,
        n_shards: int,
        beginning: Callable[[int], Any],
        care: Care,
        address: str | None = None,
    ) -> None:
        self._ray = ray_library()
        self._is_own = _connect(self._ray, n_shards, address)
        try:
            self._check_room(n_shards)
            actor = self._ray.remote(Desk)
            self._make = actor.options(
                num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
            )
            super().__init__(n_shards, beginning, care)
        except BaseException:
            self._disconnect()
            raise

    def _check_room(self, n_shards: int) -> None:
        """Refuse actors that would wait for a core for ever."""
        n_cores = int(self._ray.cluster_resources().get("CPU", 0))
        if n_cores < n_shards:
            raise OptionError(
                f"n_shards={n_shards}: the Ray cluster has {n_cores} cores, and each shard needs "
                "one; use fewer shards, or a larger cluster."
            )

    def _new(self, number: int) -> _Actor:
        with self._cluster():
            return _Actor(number, self._ray, self._make)

    def _shared(self, common: bytes) -> Any:
        with self._cluster():
            return self._ray.put(common)

    def _ready(self, workers: Sequence[Any], seconds: float) -> list[Any]:
        of = {worker.owed[0]: worker for worker in workers}
        with self._cluster():
            ready, _ = self._ray.wait(list(of), num_returns=1, timeout=seconds)
        return [of[one] for one in ready]

    @contextlib.contextmanager
    def _cluster(self) -> Iterator[None]:
        """An error of Ray that is not of one actor means that the cluster is gone or full."""
        try:
            yield
        except self._ray.exceptions.RayError as error:
            raise ShardLostError(
                f"the Ray cluster can no longer be used ({_why(error)}), and the dual point is "
                "lost with it. Give a checkpoint to go on from."
            ) from error

    def end(self) -> None:
        """Let the actors go, and the cluster that was started for them."""
        super().end()
        self._disconnect()

    def _disconnect(self) -> None:
        if self._is_own:
            self._is_own = False
            self._ray.shutdown()


@contextlib.contextmanager
def importing_alike() -> Iterator[None]:
    """Workers of a cluster that is started here can import what this process can."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        yield
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


def _connect(ray: Any, n_shards: int, address: str | None) -> bool:
    """Make sure that there is a cluster; whether the connection is ours to end."""
    if ray.is_initialized():
        known = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", known):
            raise OptionError(
                f"address={address!r}: Ray is connected to {known} already; call ray.shutdown() "
                "first, or leave address out."
            )
        return False
    quiet = {"logging_level": "ERROR", "log_to_driver": False, "configure_logging": False}
    if address is None:
        # (cores are counted, not held: a shard for each may be more than there are)
        n_cores = max(n_shards, os.cpu_count() or 1)
        with importing_alike():
            ray.init(address="local", num_cpus=n_cores, include_dashboard=False, **quiet)
        return True
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise OptionError(f"address={address!r}: {_refusal(error)}") from error
    return True


def _refusal(error: BaseException) -> str:
    """Why there is no connection to a cluster, and what to do."""
    if any("AuthenticationError" in type(cause).__name__ for cause in _causes(error)):
        return (
            "the Ray cluster there asks for a token. Set RAY_AUTH_MODE=token, with the token of "
            "the cluster in ~/.ray/auth_token or RAY_AUTH_TOKEN_PATH, before this process starts."
        )
    return (
        f"no Ray cluster answers there ({error}). Start one by `ray start --head`, or leave "
        "address out for a local one."
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those that have led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
