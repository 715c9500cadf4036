from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.sessions.conftest import house, run, session, strangers, who

if TYPE_CHECKING:
    from tests.checkpoints.toolserver import ToolServer

__all__ = ["house", "run", "session", "strangers", "who"]


@pytest.fixture
def toolserver(settings: object) -> "Iterator[ToolServer]":
    """A real HTTP server on this machine, which may be reached."""
    from tests.checkpoints.toolserver import ToolServer

    settings.ALLOW_PRIVATE = ["127.0.0.0/8"]  # type: ignore[attr-defined]
    with ToolServer() as server:
        yield server
