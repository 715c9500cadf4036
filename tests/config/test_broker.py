"""The file-system broker under several producers and consumers at once."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection, Exchange, Queue
from kombu.simple import SimpleQueue

from config.embedded import broker

PRODUCERS, CONSUMERS, MESSAGES = 3, 3, 100


def connect(data_dir: Path) -> Connection:
    return Connection(
        "filesystem://localhost",
        transport=broker.Transport,
        transport_options=broker.transport_options(data_dir),
    )


def at_once(*work: Callable[[], None]) -> None:
    """Run all of it at the same time and pass on the first failure."""
    failures: list[BaseException] = []

    def guarded(one: Callable[[], None]) -> None:
        try:
            one()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.fixture(autouse=True)
def restless() -> Iterator[None]:
    """Switch threads as often as possible: Kombu's own transport then fails at once."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "a data folder"
    folder.mkdir()
    broker.ensure(folder)
    return folder


def test_every_message_arrives_whole_and_once(data_dir: Path) -> None:
    received: list[tuple[int, int]] = []
    produced = threading.Event()

    def produce(producer: int) -> None:
        with connect(data_dir) as connection:
            queue = SimpleQueue(connection, "work")
            for number in range(MESSAGES):
                queue.put([producer, number, "x" * 20_000])
            queue.close()

    def consume() -> None:
        with connect(data_dir) as connection:
            queue = SimpleQueue(connection, "work")
            while True:
                last = produced.is_set()
                try:
                    message = queue.get(block=False)
                except Empty:
                    if last:
                        break
                    continue
                producer, number, filling = message.payload
                assert len(filling) == 20_000
                received.append((producer, number))
                message.ack()
            queue.close()

    def produce_all() -> None:
        try:
            at_once(*(lambda n=n: produce(n) for n in range(PRODUCERS)))
        finally:
            produced.set()

    at_once(produce_all, *[consume] * CONSUMERS)
    expected = {(p, n): 1 for p in range(PRODUCERS) for n in range(MESSAGES)}
    assert Counter(received) == expected
    assert list((data_dir / "broker" / "messages").iterdir()) == []


def test_bindings_made_at_once_are_all_kept(data_dir: Path) -> None:
    exchange = Exchange("events", type="direct")

    def bind(number: int) -> None:
        with connect(data_dir) as connection:
            name = f"queue{number}"
            Queue(name, exchange, routing_key=name)(connection.channel()).declare()

    at_once(*(lambda n=n: bind(n) for n in range(16)))
    with connect(data_dir) as connection:
        channel: Any = connection.channel()
        bound = {entry.queue for entry in channel.get_table("events")}
    assert bound == {f"queue{number}" for number in range(16)}


def test_queues_do_not_see_each_others_messages(data_dir: Path) -> None:
    with connect(data_dir) as connection:
        one, other = SimpleQueue(connection, "a.b"), SimpleQueue(connection, "b")
        one.put("for a.b")
        assert (one.qsize(), other.qsize()) == (1, 0)
        with pytest.raises(Empty):
            other.get(block=False)
        assert other.clear() == 0
        assert one.clear() == 1
        one.close()
        other.close()
