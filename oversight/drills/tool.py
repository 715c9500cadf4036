"""The drill's hand on its external tool: what it is told to do, and what it has done."""

from dataclasses import dataclass
from typing import Any, Final

import httpx

TIMEOUT: Final = 10  # seconds


@dataclass(frozen=True, slots=True)
class ToolHandle:
    """One tool of the process at `base` (see `tool_process`)."""

    base: str
    name: str

    def definition(self, **terms: Any) -> dict[str, Any]:
        """What is registered with Keyturn, with `terms` such as `resend`."""
        url = f"{self.base}/tools/{self.name}"
        return {"url": url, "status_url": f"{url}/{{key}}", **terms}

    def tell(self, **how: Any) -> None:
        """Change how it answers: `answer`, `honours_keys`, `fences`, `hold`."""
        self._ask("PUT", json=how)

    @property
    def calls(self) -> int:
        """How often it was called, whatever came of it."""
        return int(self._seen()["calls"])

    @property
    def held(self) -> int:
        """How many calls it holds back at this moment."""
        return int(self._seen()["held"])

    @property
    def fenced_off(self) -> int:
        """How many calls it refused because their fence was too old."""
        return int(self._seen()["fenced_off"])

    @property
    def effects(self) -> dict[str, int]:
        """How often it acted, by idempotency key."""
        effects: dict[str, int] = self._seen()["effects"]
        return effects

    def _seen(self) -> dict[str, Any]:
        seen: dict[str, Any] = self._ask("GET").json()
        return seen

    def _ask(self, method: str, **body: Any) -> httpx.Response:
        url = f"{self.base}/control/{self.name}"
        with httpx.Client(trust_env=False, timeout=TIMEOUT) as client:
            return client.request(method, url, **body).raise_for_status()
