from collections.abc import Iterator

import pytest

from tests.approvals.tool_server import ToolServer


@pytest.fixture(scope="session")
def _server() -> Iterator[ToolServer]:
    server = ToolServer()
    yield server
    server.close()


@pytest.fixture
def tool_server(_server: ToolServer, settings: object) -> ToolServer:
    """A managed tool on this machine, which outbound calls may reach here."""
    settings.ALLOW_PRIVATE = ["127.0.0.0/8"]  # type: ignore[attr-defined]
    _server.definition()
    return _server
