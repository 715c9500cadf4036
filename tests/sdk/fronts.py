"""What stands between a client and the server in memory, and fails as it is told."""

from collections.abc import Callable

import httpx

from keyturn import Client
from keyturn.testing import FakeApprover, _Client


class Front:
    """Stands before the people's server; `is_cut` says for whom it is not there."""

    def __init__(self, people: FakeApprover) -> None:
        self.people = people
        self.is_cut: Callable[[httpx.Request], bool] = lambda request: False

    def handle(self, request: httpx.Request) -> httpx.Response:
        if self.is_cut(request):
            raise httpx.ConnectError("refused")
        return self.people._server.handle(request)

    def client(self) -> Client:
        transport = httpx.MockTransport(self.handle)
        return Client("http://localhost", "kt_x", patience=0, transport=transport)

    def in_simulated_time(self) -> Client:
        """A client whose sleeps pass at once."""
        return _Client(self.people._server, httpx.MockTransport(self.handle))
