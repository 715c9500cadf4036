"""Call the correction system ourselves, for a tool that the agent carries out.

A call that got no answer may have happened. So the system is asked what became of
the key before anything is sent again, and what cannot be settled is reported as
unknown: never as a guess.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx

from examples.invoice.tool_definitions import TOOLS

_UNCERTAIN = frozenset({408, 409, 425, 429})
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is told about an effect: confirmed, failed or unknown."""

    outcome: str
    external_id: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class CorrectionSystem:
    """The system's HTTP interface."""

    http: httpx.Client

    @classmethod
    def connect(cls, url: str, *, timeout: float = 10.0) -> "CorrectionSystem":
        return cls(httpx.Client(base_url=url, timeout=timeout, trust_env=False))

    def carry_out(self, effect: Mapping[str, Any]) -> Report:
        """Do exactly what was approved, at most once.

        `effect` is what redeeming gave: tool, arguments, idempotency_key,
        fencing_token, not_after (RFC 3339).
        """
        report = self._settled(effect)
        for _ in range(_ATTEMPTS):
            if report is not None or _too_late(effect):
                break
            report = self._sent(effect) or self._settled(effect)
        return report or Report(outcome="unknown", evidence="no answer, nothing found")

    def _sent(self, effect: Mapping[str, Any]) -> Report | None:
        path = _tool_path(effect["tool"])
        headers = {
            "Idempotency-Key": effect["idempotency_key"],
            "Keyturn-Fence": str(effect["fencing_token"]),
        }
        try:
            answer = self.http.post(path, json=effect["arguments"], headers=headers)
        except httpx.TransportError:
            return None
        if answer.is_success:
            return Report(outcome="confirmed", external_id=answer.json()["external_id"])
        if answer.is_client_error and answer.status_code not in _UNCERTAIN:
            return Report(outcome="failed", evidence=answer.text[:500])
        return None

    def _settled(self, effect: Mapping[str, Any]) -> Report | None:
        """What the system says became of the key, if it says anything."""
        key = quote(effect["idempotency_key"], safe="")
        try:
            answer = self.http.get(f"{_tool_path(effect['tool'])}/by-key/{key}")
        except httpx.TransportError:
            return None
        if not answer.is_success:
            return None
        found = answer.json()
        return Report(outcome=found["state"], external_id=found["external_id"])


def _tool_path(name: str) -> str:
    return next(tool.path for tool in TOOLS if tool.name == name)


def _too_late(effect: Mapping[str, Any]) -> bool:
    deadline = effect.get("not_after")
    return deadline is not None and datetime.now(UTC) > datetime.fromisoformat(deadline)
