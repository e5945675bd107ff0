"""A clock that the test holds: time passes only where the test says so."""

from plain_tasks import Labels


class HeldClock:
    """In place of `time` and of the run's own `Clock`."""

    def __init__(self):
        self.now, self.looks = 0.0, 0

    def perf_counter(self):
        self.looks += 1
        return self.now

    monotonic = perf_counter
    __call__ = perf_counter

    def advance(self, seconds):
        self.now += seconds

    def __enter__(self):
        self._entered = self.now

    def __exit__(self, *_):
        self.now = self._entered


class Costly(Labels):
    """Its oracle takes `cost` seconds of a held clock, and the first call `first` more."""

    def __init__(self, clock, cost=1.0, first=0.0):
        super().__init__(3, 4)
        self.clock, self.cost, self.first = clock, cost, first
        self.calls = 0

    def augmented_decode(self, x, y, w):
        self.clock.now += self.cost + (self.first if self.calls == 0 else 0.0)
        self.calls += 1
        return super().augmented_decode(x, y, w)
