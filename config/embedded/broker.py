"""The embedded broker: Kombu's file-system transport, with its races closed.

As shipped it writes a message under its final name, so that a consumer can take a
half-written one; hands messages over through the shared temporary folder; and may drop
a message whose queue another thread is just declaring.
"""

import fcntl
import os
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem
from kombu.transport.filesystem import exchange_queue_t
from kombu.transport.virtual import BrokerState
from kombu.utils.json import dumps, loads

POLLING_INTERVAL = 0.05  # seconds; a message starts after half of that, on average


def ensure(data_dir: Path) -> None:
    """Make the broker's folders (0700)."""
    (data_dir / "broker").mkdir(mode=0o700, exist_ok=True)
    for folder in _folders(data_dir).values():
        Path(folder).mkdir(mode=0o700, exist_ok=True)


def transport_options(data_dir: Path) -> dict[str, Any]:
    """Return Celery's ``broker_transport_options`` for the broker in ``data_dir``."""
    return {**_folders(data_dir), "polling_interval": POLLING_INTERVAL}


def _folders(data_dir: Path) -> dict[str, str]:
    home = data_dir.absolute() / "broker"
    return {
        "data_folder_in": str(home / "messages"),
        "data_folder_out": str(home / "messages"),
        "control_folder": str(home / "exchanges"),
    }


class Channel(filesystem.Channel):
    """A channel whose messages and bindings appear and disappear whole."""

    # Kombu's own two declarations of it differ.
    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]
        folder = Path(self.data_folder_out)
        name = f"{time.time_ns():020}_{uuid.uuid4().hex}.{queue}.msg"
        _write(folder / f".{name}", folder / name, payload)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):
            if _queue_of(name) == queue:
                # Only one consumer's rename succeeds: that is the claim.
                claimed = folder / f".{uuid.uuid4().hex}.claimed"
                try:
                    (folder / name).rename(claimed)
                except FileNotFoundError:
                    continue
                message = loads(claimed.read_bytes())
                claimed.unlink()
                return message
        raise Empty

    def _purge(self, queue: str) -> int:
        folder = Path(self.data_folder_in)
        mine = [name for name in os.listdir(folder) if _queue_of(name) == queue]
        for name in mine:
            (folder / name).unlink(missing_ok=True)
        return len(mine)

    def _size(self, queue: str) -> int:
        return sum(_queue_of(name) == queue for name in os.listdir(self.data_folder_in))

    def _queue_bind(
        self, exchange: str, routing_key: str, pattern: str, queue: str
    ) -> None:
        file = self._exchange_file(exchange)
        binding = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with (file.parent / ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = self.get_table(exchange)
            if binding not in known:
                _write(file.with_suffix(".partial"), file, [binding, *known])


class Transport(filesystem.Transport):
    """Set as Celery's ``broker_transport``; the folders are made by :func:`ensure`."""

    Channel = Channel

    def __init__(self, client: Any, **options: Any) -> None:
        super().__init__(client, **options)  # type: ignore[no-untyped-call]
        # Kombu shares one memory of bindings between all threads, and notes a binding
        # before it is written: a thread that trusts the note publishes to nobody.
        self.state = BrokerState()


def _queue_of(name: str) -> str:
    """Return the queue a message's file name says; ``""`` for any other file."""
    if name.startswith(".") or not name.endswith(".msg"):
        return ""
    return name.partition(".")[2].removesuffix(".msg")


def _write(partial: Path, final: Path, content: Any) -> None:
    partial.write_text(dumps(content))
    partial.rename(final)
