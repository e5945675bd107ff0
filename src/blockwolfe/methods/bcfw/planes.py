"""Multi-plane scheduling: when passes over stored corners pay."""

from __future__ import annotations

from blockwolfe.base.schema import Misfit, Reader

__all__ = ["Planes"]


class Planes:
    """When passes over stored corners pay (Shah et al. 2015).

    While the last of them gained more dual per second than all passes since the last one that
    called the oracle.
    """

    def __init__(self) -> None:
        self._gain = self._seconds = self._last_rate = 0.0
        self._was_stock = False

    def note(self, is_stock: bool, gain: float, seconds: float) -> None:
        """A pass has ended."""
        if not is_stock:
            self._gain = self._seconds = 0.0
        self._gain += gain
        self._seconds += seconds
        self._last_rate, self._was_stock = gain / max(seconds, 1e-12), is_stock

    def prefers_stock(self) -> bool:
        """Whether the next pass should make do with stored corners."""
        if self._seconds == 0.0:
            return False
        return not self._was_stock or self._last_rate > self._gain / self._seconds

    def to_save(self) -> list[float]:
        """Plain numbers for a checkpoint."""
        return [self._gain, self._seconds, self._last_rate, float(self._was_stock)]

    def restore(self, saved: list[float]) -> None:
        """Go on as before `to_save`."""
        names = ("gain", "seconds", "last_rate", "was_stock")
        if not isinstance(saved, list) or len(saved) != len(names):
            raise Misfit("planes is no list of four numbers.")
        read = Reader(dict(zip(names, saved, strict=True)), "planes")
        self._gain, self._last_rate = read.number("gain"), read.number("last_rate")
        self._seconds = read.number("seconds", least=0.0)
        self._was_stock = bool(read.number("was_stock"))
