"""Failures that a test or a demo may order, for the next so many calls."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class Mode(StrEnum):
    """What goes wrong, and whether the effect happens all the same."""

    NONE = "none"
    REFUSE = "refuse"  # no effect: answered with 422
    ERROR_500 = "error_500"  # no effect: answered with 500
    HANG = "hang"  # no effect: never answered
    COMMIT_THEN_DROP = "commit_then_drop"  # effect: the connection is reset
    COMMIT_LATE = "commit_late"  # effect after `seconds`, answered if anyone waits


class InvalidPlan(ValueError):
    """The order for failures cannot be understood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`mode` for the next `count` calls, of one invoice if one is named."""

    mode: Mode
    count: int = 1
    seconds: float = 30.0
    invoice_id: str | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Plan":
        """Read {"mode", "count"?, "seconds"?, "invoice_id"?}; raises `InvalidPlan`."""
        if unknown := body.keys() - {"mode", "count", "seconds", "invoice_id"}:
            raise InvalidPlan(f"unknown: {sorted(unknown)}")
        try:
            mode = Mode(body.get("mode", ""))
            count, seconds = int(body.get("count", 1)), float(body.get("seconds", 30))
        except (TypeError, ValueError) as error:
            raise InvalidPlan(str(error)) from error
        if not (1 <= count <= 1_000_000 and 0 <= seconds <= 600):
            raise InvalidPlan("count is from 1, seconds are from 0 to 600")
        invoice_id = body.get("invoice_id")
        return cls(mode=mode, count=count, seconds=seconds, invoice_id=invoice_id)


NO_FAILURE = Plan(mode=Mode.NONE)


class PlannedFailures:
    """The one plan in force; forgotten when the process ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plan = NO_FAILURE

    def order(self, plan: Plan) -> None:
        with self._lock:
            self._plan = plan

    def next_for(self, invoice_id: str) -> Plan:
        """The plan if it covers this call, which uses up one of its count."""
        with self._lock:
            plan = self._plan
            if plan.mode is Mode.NONE or plan.invoice_id not in (None, invoice_id):
                return NO_FAILURE
            left = plan.count - 1
            self._plan = replace(plan, count=left) if left else NO_FAILURE
            return plan
