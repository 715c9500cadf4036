"""One action after the other in a run, when a framework calls several at once.

A run has one writer. Each action claims it, so that two at once would take the run from
each other.
"""

from __future__ import annotations

import asyncio
import threading
from weakref import WeakKeyDictionary

from keyturn.work import AsyncRun, Run

_guard = threading.Lock()
_of_threads: WeakKeyDictionary[Run, threading.Lock] = WeakKeyDictionary()
_of_loops: WeakKeyDictionary[AsyncRun, asyncio.Lock] = WeakKeyDictionary()


def turn_of(run: Run) -> threading.Lock:
    """Held by whoever acts in the run now."""
    with _guard:
        return _of_threads.setdefault(run, threading.Lock())


def async_turn_of(run: AsyncRun) -> asyncio.Lock:
    """The same for an event loop."""
    with _guard:
        return _of_loops.setdefault(run, asyncio.Lock())
