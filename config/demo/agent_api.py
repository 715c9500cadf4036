"""The API as an agent reads it, with its key: for looking, not for working."""

from dataclasses import dataclass
from typing import Any, Final

import httpx

type Json = dict[str, Any]

_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class AgentApi:
    """Reads what the agent of `key` may read. Raises httpx errors."""

    url: str
    key: str

    def get(self, path: str, **query: str | int) -> Json:
        """One document."""
        answer = httpx.get(
            f"{self.url}/api/v1/{path}",
            params=query,
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=30,
            trust_env=False,
        )
        document: Json = answer.raise_for_status().json()
        return document

    def list(self, path: str, **query: str | int) -> list[Json]:
        """The newest of a list."""
        items: list[Json] = self.get(path, limit=_MOST, **query)["items"]
        return items
