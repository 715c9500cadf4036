"""Calling the API as an agent does."""

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

from tests.factories import Machine

type Answer = Any
"""Django's test response."""


@dataclass(frozen=True, slots=True)
class Api:
    """The API, seen with one agent's key."""

    client: Client

    @classmethod
    def of(cls, machine: Machine) -> "Api":
        return cls(machine.client())

    def get(self, path: str, **query: Any) -> Answer:
        return self.client.get(f"/api/v1/{path}", query)

    def post(
        self, path: str, body: Any = None, *, fence: int | None = None, **headers: str
    ) -> Answer:
        """`headers` have underscores for hyphens; a text or bytes body goes as it is."""
        sent = body if isinstance(body, str | bytes) else json.dumps(body or {})
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if fence is not None:
            named["Keyturn-Fence"] = str(fence)
        return self.client.post(
            f"/api/v1/{path}", sent, content_type="application/json", headers=named
        )
