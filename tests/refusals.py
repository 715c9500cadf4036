"""Expecting a verb to refuse, by the code that its caller sees."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kernel.problems import Problem


@contextmanager
def refused(
    code: str,
    *,
    status: int | None = None,
    pointer: str | None = None,
    detail: str = "",
) -> Iterator[None]:
    """The block must raise a problem with this code, and this status and place if given.

    `detail` is a part of what it must say."""
    with pytest.raises(Problem) as raised:
        yield
    assert raised.value.code == code
    assert status in {None, raised.value.status}
    assert pointer in {None, raised.value.pointer}
    assert detail in raised.value.detail
