"""The envelope: the canonical record of one revision, which is what people approve.

Everything that the four checks compare is inside, so nothing that was approved can
change without the digest changing.
"""

import hashlib
import secrets
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from approvals.policy import Obligation
from approvals.target import followed
from checkpoints.models import Checkpoint, Tool
from kernel.canonical import (
    APPROVAL_DOMAIN,
    approval_digest,
    canonical_bytes,
    effect_key,
)
from kernel.problems import Problem
from kernel.strict_json import parse
from sessions.models import Run, Session
from tenants.models import ApiKey

MOST_BYTES: Final = 4 * 1024 * 1024  # arguments are bounded at ingest; this is slack
# What reading a stored one may raise: erased, of another shape, or altered. Whoever can
# write to the database can put anything there; what is asked of nobody must not fail.
UNREADABLE: Final = (
    Problem,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Exactly what would be done."""

    tool: str
    arguments: dict[str, Any]
    target: Any = None
    preconditions: tuple[dict[str, Any], ...] = ()

    def with_arguments(self, arguments: dict[str, Any]) -> "Action":
        """Aimed where they aim. Raises `arguments_invalid` where that is not told."""
        target = followed(self.target, self.arguments, arguments)
        return replace(self, arguments=arguments, target=target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Who asks, from where: the rows that an envelope names."""

    session: Session
    run: Run
    checkpoint: Checkpoint
    pause: UUID
    key: ApiKey
    owners: tuple[UUID, ...]


def seal(
    *,
    asking: Asking,
    request: UUID,
    revision: int,
    tool: Tool,
    action: Action,
    obligation: Obligation,
    decide_by: datetime,
) -> tuple[bytes, bytes]:
    """The envelope's canonical bytes and their digest."""
    envelope = {
        **_position(asking),
        "request": str(request),
        "revision": revision,
        "tool": {
            "name": tool.name,
            "mode": tool.mode,
            "version": tool.version,
            "digest": bytes(tool.digest).hex(),
        },
        "arguments": action.arguments,
        "target": action.target,
        "preconditions": list(action.preconditions),
        "requester": _requester(asking),
        "policies": obligation.as_json()["policies"],
        "obligation": obligation.as_json(),
        "decide_by": decide_by.isoformat(timespec="microseconds"),
        "use_within": obligation.use_within,
        "nonce": secrets.token_hex(16),
    }
    return canonical_bytes(envelope), approval_digest(envelope)


def _position(asking: Asking) -> dict[str, Any]:
    return {
        "tenant": str(asking.run.tenant_id),
        "session": str(asking.session.id),
        "run": str(asking.run.id),
        "workflow": str(asking.run.workflow_id),
        "pause": str(asking.pause),
        "checkpoint": {
            "number": asking.checkpoint.number,
            "digest": bytes(asking.checkpoint.digest).hex(),
        },
    }


def _requester(asking: Asking) -> dict[str, Any]:
    creator = asking.key.created_by_id
    return {
        "agent": str(asking.key.agent_id),
        "key": str(asking.key.id),
        "environment": asking.key.environment,
        "key_creator": str(creator) if creator else None,
        "owners": sorted(map(str, asking.owners)),
        "subject": asking.session.subject,
    }


@dataclass(frozen=True)
class Envelope:
    """A stored envelope, read. Values come from the sealed bytes alone."""

    content: bytes

    @cached_property
    def record(self) -> dict[str, Any]:
        """The parsed record. Raises `Problem` if the bytes are not strict JSON."""
        record = parse(self.content, limit=MOST_BYTES)
        assert isinstance(record, dict)
        return record

    @cached_property
    def digest(self) -> bytes:
        """Recomputed from the stored bytes, never remembered."""
        return hashlib.sha256(APPROVAL_DOMAIN.encode() + b"\0" + self.content).digest()

    def is_intact(self, stated: bytes) -> bool:
        """Whether the bytes are canonical and are those that `stated` covers."""
        if self.digest != stated:
            return False
        try:
            return canonical_bytes(self.record) == self.content
        except Problem:
            return False

    @cached_property
    def obligation(self) -> Obligation:
        """The obligation pinned when the question was asked."""
        return Obligation.from_json(self.record["obligation"])

    @cached_property
    def decide_by(self) -> datetime:
        return datetime.fromisoformat(self.record["decide_by"])

    @property
    def action(self) -> Action:
        return Action(
            tool=self.record["tool"]["name"],
            arguments=self.record["arguments"],
            target=self.record["target"],
            preconditions=tuple(self.record["preconditions"]),
        )

    @property
    def requester(self) -> dict[str, Any]:
        requester: dict[str, Any] = self.record["requester"]
        return requester

    def effect_key(self) -> bytes:
        """The idempotency key of this action, 32 bytes."""
        return effect_key(
            tenant=UUID(self.record["tenant"]),
            request=UUID(self.record["request"]),
            tool=self.action.tool,
            target=self.action.target,
            arguments=self.action.arguments,
        )

    def sealed_action(self) -> bytes:
        """What an effect keeps of this action: canonical tool, target and arguments."""
        action = self.action
        return canonical_bytes(
            {
                "tool": action.tool,
                "target": action.target,
                "arguments": action.arguments,
            }
        )
