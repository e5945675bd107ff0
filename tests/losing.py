"""Workers of shards that are killed or stopped while they work."""

import contextlib
import os
import signal
import threading
import time

import numpy as np
import psutil


class Slow:
    """A sign for each number, by an oracle that takes its time."""

    def __init__(self, seconds=0.0, n_features=2):
        self.seconds, self.n_features = seconds, n_features

    def features(self, x, y):
        found = np.zeros(self.n_features)
        found[:2] = x * y, float(y)
        return found

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w):
        return max((-1, 1), key=lambda h: h * (x * w[0] + w[1]))

    def augmented_decode(self, x, y, w):
        time.sleep(self.seconds)
        return max((-1, 1), key=lambda h: (h != y) + h * (x * w[0] + w[1]))


_others = set()  # processes that other tests have left to be used again


def ignore_others():
    """Processes that are there now are not workers of shards (Ray takes idle ones: those may be)."""
    _others.update(child.pid for child in psutil.Process().children() if _is_loky(child))


def process_ids(engine):
    """The workers of all shards of this process, as the operating system knows them."""
    children = [c for c in psutil.Process().children(recursive=True) if c.pid not in _others]
    if engine == "processes":
        mine = {c.pid for c in psutil.Process().children()}
        return sorted(c.pid for c in children if c.pid in mine and _is_loky(c))
    return sorted(child.pid for child in children if name_of(child).startswith("ray::Desk"))


def name_of(process):
    """Its command line; nothing where it is gone."""
    with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return " ".join(process.cmdline())
    return ""


def _is_loky(process):
    return "loky" in name_of(process) and "resource_tracker" not in name_of(process)


@contextlib.contextmanager
def a_worker_is_sent(sent, engine, seconds, rng):
    """A signal to some worker after so many seconds, or once there is one; a list of its number."""
    hit, is_over = [], threading.Event()

    def send():
        is_over.wait(seconds)
        while not is_over.wait(0.01):
            found = process_ids(engine)
            if found:
                hit.append(int(rng.choice(found)))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(hit[0], sent)
                return

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield hit
    finally:
        is_over.set()
        thread.join()
        for pid in hit:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
