"""Coroutines borrow a thread and a connection, and give both back."""

import pytest
from asgiref.sync import async_to_sync
from django.db import connections

from kernel.clock import database_now
from kernel.offload import offload


def test_the_connection_goes_back_when_the_work_is_done() -> None:
    used = []

    def work() -> None:
        database_now()
        used.append(connections["default"])  # this thread's own
        assert used[0].connection is not None

    async_to_sync(offload)(work)
    assert used[0].connection is None


def test_it_goes_back_when_the_work_fails_too() -> None:
    used = []

    def work() -> None:
        database_now()
        used.append(connections["default"])
        raise LookupError

    with pytest.raises(LookupError):
        async_to_sync(offload)(work)
    assert used[0].connection is None
