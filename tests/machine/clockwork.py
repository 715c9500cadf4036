"""Time goes on when a test says so: rows move back, and this process's deadlines too."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch
from uuid import UUID

import psycopg

from approvals.resume import act, recover
from checkpoints import effects, outbound, tools
from checkpoints.models import Tool
from checkpoints.tools import ToolStatus

MOVED: Final = {
    "approvals_request": ("created_at", "due_at", "decided_at"),
    "approvals_grant": ("created_at", "not_before", "expires_at", "due_at", "ended_at"),
    "approvals_decision": ("created_at",),
    "approvals_delegation": ("starts_at", "ends_at", "ended_at"),
    "approvals_resumejob": ("created_at", "due_at"),
    "agent_sessions_run": ("due_at",),
    "agent_sessions_fact": ("observed_at",),
    "checkpoints_effect": ("due_at",),
    "checkpoints_attempt": ("send_before",),
    "tenants_agentowner": ("since", "until"),
    "tenants_apikey": ("expires_at",),
}
# A sign-in's time is inside: in Unix seconds.
SIGN_INS: Final = """UPDATE approvals_decision SET authentication = jsonb_set(
    authentication, '{{at}}', to_jsonb((authentication ->> 'at')::float - {0}))
    WHERE tenant_id = '{1}' AND authentication ->> 'at' IS NOT NULL;"""
STATEMENT: Final = SIGN_INS + ";".join(
    f"UPDATE {table} SET "
    + ", ".join(f"{column} = {column} - interval '{{0}} s'" for column in columns)
    + " WHERE tenant_id = '{1}'"
    for table, columns in MOVED.items()
)


class Clock:
    """The monotonic clock of the modules that keep deadlines by it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def pass_by(
        self, connection: psycopg.Connection[Any], tenant_id: UUID, seconds: int
    ) -> None:
        """Let so many seconds go by for one tenant, and for this process."""
        connection.execute(STATEMENT.format(seconds, tenant_id))
        self.ahead += seconds


@contextmanager
def own_clock() -> Iterator[Clock]:
    """Give the modules that keep deadlines a clock that can be moved."""
    clock = Clock()

    def ask_status(tool: Tool, *, key: bytes) -> ToolStatus:
        """By the same clock as everything else: the real one is a default there."""
        asked = clock.monotonic()
        return replace(tools.ask_status(tool, key=key), asked=asked)

    with ExitStack() as stack:
        for module in (act, recover, effects, outbound, tools):
            stack.enter_context(patch.object(module, "time", clock))
        stack.enter_context(patch.object(recover, "ask_status", ask_status))
        yield clock
