"""Timing calls, and what is made of the times."""

import statistics
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.db import connections


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Milliseconds of each call, and calls per second over all clients."""

    name: str
    times: tuple[float, ...]
    rate: float

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.times, n=100)[94]

    @property
    def p99(self) -> float:
        return statistics.quantiles(self.times, n=100)[98]


def in_turns(
    calls: Mapping[str, Callable[[int], object]], *, count: int
) -> list[Figure]:
    """Each once, `count` times over: what else the machine does falls on all of them.

    The first round is not counted.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(count + 1):
        for name, call in calls.items():
            began = time.perf_counter()
            call(number)
            times[name].append((time.perf_counter() - began) * 1000)
    return [
        Figure(name=name, times=tuple(each[1:]), rate=0) for name, each in times.items()
    ]


def measured(
    name: str, call: Callable[[int], object], *, count: int, clients: int = 1
) -> Figure:
    """`count` calls from each of `clients` threads; `call` gets the client's number."""
    times: list[float] = []

    def client(number: int) -> None:
        try:
            for _ in range(count):
                began = time.perf_counter()
                call(number)
                times.append((time.perf_counter() - began) * 1000)
        finally:
            connections.close_all()  # else the pool is out of what ended threads hold

    threads = [threading.Thread(target=client, args=(n,)) for n in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(times) < count * clients:
        raise RuntimeError(f"{name}: a call failed, as was printed above")
    rate = len(times) / (time.perf_counter() - began)
    return Figure(name=name, times=tuple(times), rate=rate)
