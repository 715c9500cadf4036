"""The tools: their names and schemas, and what each does. Nothing of MCP's wire."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keyturn import acting, calls
from keyturn.asks import Ask
from keyturn.client import AsyncClient
from keyturn.documents import Approval, Redeemed
from keyturn.errors import KeyturnError, NotNow
from keyturn.flows import is_over

Json = dict[str, Any]
Progress = Callable[[float, float | None, str], Awaitable[None]]
LONGEST = 86_400  # seconds that one call may wait
LOOK = 10.0  # seconds between two signs of life while somebody is waited for

_TEXT = {"type": "string", "minLength": 1}
_OBJECT = {"type": "object"}


@dataclass(frozen=True, slots=True)
class Desk:
    """What a tool works with: the client, and a way to show that it is still there."""

    client: AsyncClient
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One tool. `reads` says that it changes nothing."""

    description: str
    work: Callable[..., Awaitable[Json]]
    needed: Mapping[str, Json]
    optional: Mapping[str, Json] = dataclasses.field(default_factory=dict)
    reads: bool = False

    def schema(self) -> Json:
        """Closed: a misspelt name must never become a default."""
        return {
            "type": "object",
            "properties": {**self.needed, **self.optional},
            "required": list(self.needed),
            "additionalProperties": False,
        }


# -- Asking and waiting -----------------------------------------------------------------


async def request_approval(
    desk: Desk,
    *,
    tool: str,
    arguments: Json,
    subject: str | None = None,
    key: str | None = None,
    **more: Any,
) -> Json:
    asked = await desk.client.request_approval(
        Ask(tool=tool, arguments=arguments, **more),
        subject=subject,
        key=None if key is None else calls.key_from(tool, key),
    )
    return _told(asked)


async def get_decision(desk: Desk, *, approval: str) -> Json:
    return _told(await desk.client.get_approval(approval))


async def wait_for_decision(
    desk: Desk, *, approval: str, timeout_seconds: float = 600
) -> Json:
    return _told(await wait_for(desk, approval, timeout_seconds))


async def wait_for(desk: Desk, approval: str, seconds: float) -> Approval:
    """Wait for people, with signs of life; after `seconds` what there is."""
    begun = desk.client.now()
    while True:
        gone = desk.client.now() - begun
        left = max(0.0, seconds - gone)
        found = await desk.client.wait(approval, timeout=min(left, LOOK))
        if is_over(found, "done") or left == 0:
            return found
        message = f"{found.tool} waits for a person: {found.review_url}"
        await desk.progress(desk.client.now() - begun, seconds, message)


async def list_pending(desk: Desk) -> Json:
    page = await desk.client.list_approvals(status="pending", limit=100)
    return {"pending": [_told(one) for one in page.items]}


# -- Acting -----------------------------------------------------------------------------


async def redeem(desk: Desk, *, approval: str) -> Json:
    redeemed = await _redeem(desk, approval)
    effect: Json = _plain(dataclasses.asdict(redeemed.effect))
    return {"effect": effect, "token": redeemed.token}


async def _redeem(desk: Desk, approval: str) -> Redeemed:
    flow = acting.redeem_when_ready(desk.client, approval, timeout=0)
    return (await desk.client.drive(flow)).redeemed


async def report_effect(
    desk: Desk,
    *,
    effect: str,
    outcome: calls.Outcome,
    external_id: str | None = None,
    evidence: Json | None = None,
) -> Json:
    found = await desk.client.get_effect(effect)
    attempt = found.attempts[-1]
    told = await desk.client.report_effect(
        effect,
        fence=attempt.fence,
        attempt=attempt.number,
        outcome=outcome,
        external_id=external_id,
        evidence=evidence,
    )
    await desk.client.drive(acting.end_run_of(desk.client, found, outcome))
    return dataclasses.asdict(told)


async def permission_prompt(
    desk: Desk, *, tool_name: str, input: Json, tool_use_id: str | None = None
) -> Json:
    """What is approved, and confirmed, is that this permission was handed over once."""
    key = tool_use_id and calls.key_from("permission", tool_name, tool_use_id)
    ask = Ask(tool=tool_name, arguments=input, tool_call_id=tool_use_id)
    try:
        asked = await desk.client.request_approval(ask, key=key or None)
        await wait_for(desk, asked.id, LONGEST)
        redeemed = await _redeem(desk, asked.id)
        await report_effect(
            desk,
            effect=redeemed.effect.id,
            outcome="confirmed",
            evidence={"permission": "handed over"},
        )
    except KeyturnError as no:  # also what nobody expects: no answer is no permission
        return {"behavior": "deny", "message": _why(no)}
    return {"behavior": "allow", "updatedInput": redeemed.effect.arguments}


def _why(no: KeyturnError) -> str:
    if isinstance(no, NotNow) and no.approval.response is not None:
        return f"{no} (the answer: {no.approval.response})"
    return str(no)


# -- What is offered --------------------------------------------------------------------

_APPROVAL = {"approval": {**_TEXT, "description": "its id"}}
OFFERS: Mapping[str, Offer] = {
    "request_approval": Offer(
        description="Ask people whether one exact action may happen. Nothing happens by"
        " asking. Then wait_for_decision; act only after redeem, with the arguments"
        " that redeem returns.",
        work=request_approval,
        needed={
            "tool": {**_TEXT, "description": "what would be done, as one word"},
            "arguments": {**_OBJECT, "description": "the exact action"},
        },
        optional={
            "target": {"description": "what or whom it is done to"},
            "explanation": {"type": "string", "description": "why; shown as untrusted"},
            "risk": {"enum": ["low", "medium", "high", "critical"]},
            "tool_call_id": _TEXT,
            "subject": {**_TEXT, "description": "on whose behalf"},
            "key": {**_TEXT, "description": "the same key finds the same question"},
            "decide_within": {"type": "integer", "minimum": 1},
        },
    ),
    "get_decision": Offer(
        description="Where a question stands: `next` says what to do.",
        work=get_decision,
        needed=_APPROVAL,
        reads=True,
    ),
    "wait_for_decision": Offer(
        description="Wait until somebody has answered, or for timeout_seconds.",
        work=wait_for_decision,
        needed=_APPROVAL,
        optional={
            "timeout_seconds": {"type": "number", "minimum": 0, "maximum": LONGEST}
        },
        reads=True,
    ),
    "list_pending": Offer(
        description="The questions that nobody has answered yet.",
        work=list_pending,
        needed={},
        reads=True,
    ),
    "redeem": Offer(
        description="Use an approval up, once, right before acting: it is verified"
        " again. Act with the arguments and the idempotency_key that it returns, then"
        " report_effect.",
        work=redeem,
        needed=_APPROVAL,
    ),
    "report_effect": Offer(
        description="Say what came of the action. Say `unknown` when you do not know.",
        work=report_effect,
        needed={
            "effect": {**_TEXT, "description": "its id, from redeem"},
            "outcome": {"enum": ["confirmed", "failed", "unknown"]},
        },
        optional={"external_id": _TEXT, "evidence": _OBJECT},
    ),
    "permission_prompt": Offer(
        description="For a coding agent's permission-prompt option: asks people, waits,"
        " and answers allow, with the input that was approved, or deny.",
        work=permission_prompt,
        needed={"tool_name": _TEXT, "input": _OBJECT},
        optional={"tool_use_id": _TEXT},
    ),
}


def _told(approval: Approval) -> Json:
    told: Json = _plain(dataclasses.asdict(approval))
    return told


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.isoformat() if isinstance(value, datetime) else value
