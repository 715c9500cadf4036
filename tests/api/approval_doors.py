"""The doors of approvals and of what they let happen."""

from typing import Any, Final

from tests.api.door import PAGE, Door
from tests.api.world import World, action
from tests.approvals.stage import ARGUMENTS

APPROVAL: Final = "approvals/<uuid:id>"


def asked(world: World | None = None, **more: Any) -> dict[str, Any]:
    return action(
        target={"account": "7"},
        preconditions=[{"field": "po_matched", "equals": True, "max_age": 600}],
        explanation="Because.",
        tool_call_id="call-1",
        **({} if world is None else {"context": world.context}),
        risk="low",
        allowed_decisions=["approve", "reject", "respond"],
        response_schema={"type": "string"},
        decide_within=600,
        use_within=600,
        reviewed_only=True,
        **more,
    )


def around() -> dict[str, Any]:
    return {
        "subject": "customer-7",
        "risk": "low",
        "decide_within": 600,
        "use_within": 600,
    }


def hitl() -> dict[str, Any]:
    return {
        "action_requests": [
            {"name": "pay", "args": ARGUMENTS, "description": "Because."}
        ],
        "review_configs": [{"action_name": "pay", "allowed_decisions": ["approve"]}],
        "keyturn": around(),
    }


def human() -> dict[str, Any]:
    names = ("allow_ignore", "allow_respond", "allow_edit", "allow_accept")
    return {
        "action_request": {"action": "pay", "args": ARGUMENTS},
        "config": dict.fromkeys(names, True),
        "description": "Because.",
        "keyturn": around(),
    }


def free(*prefixes: str) -> tuple[str, ...]:
    names = ("arguments", "target", "response_schema", "preconditions/0/equals")
    return tuple(f"{prefix}/{name}" for prefix in prefixes for name in names)


def nullable(prefix: str) -> tuple[str, ...]:
    return (f"{prefix}/target", f"{prefix}/preconditions/0/equals")


OF_APPROVALS: Final = (
    Door(
        method="get",
        route="approvals",
        place="approvals",
        query=("status", "run", *PAGE),
    ),
    Door(
        method="post",
        route="approvals",
        place="approvals",
        body=lambda _: asked(subject="customer-7"),
        free=free(""),
        nullable=nullable(""),
    ),
    Door(
        method="get",
        route="standing-approvals",
        place="standing-approvals",
        query=PAGE,
    ),
    Door(
        method="get",
        route=APPROVAL,
        place="approvals/{pending}",
        query=("wait", "until"),
    ),
    Door(
        method="post",
        route=f"{APPROVAL}/withdraw",
        place="approvals/{pending}/withdraw",
        body=lambda _: {"reason": "not wanted"},
    ),
    Door(
        method="post",
        route=f"{APPROVAL}/revise",
        place="approvals/{unclear}/revise",
        body=lambda _: {
            "arguments": {**ARGUMENTS, "amount": "1.00"},
            "explanation": "Less.",
        },
        free=("/arguments",),
    ),
    Door(
        method="post",
        route=f"{APPROVAL}/redeem",
        place="approvals/{approved}/redeem",
        body=lambda _: {},
        fence=lambda world: world.approved.run.fence,
        optional_body=True,
    ),
    Door(
        method="post",
        route=f"{APPROVAL}/decisions",
        place="approvals/{pending}/decisions",
        who="member",
        body=lambda world: {
            "verdict": "respond",
            "digest": world.stage.digest(world.pending).hex(),
            "reason": "Ask them.",
            "response": "later",
        },
        free=("/response",),
    ),
    Door(
        method="post",
        route=f"{APPROVAL}/take-back",
        place="approvals/{answered}/take-back",
        who="member",
        body=lambda world: {"digest": world.stage.digest(world.answered).hex()},
    ),
    Door(
        method="post",
        route=f"{APPROVAL}/revoke",
        place="approvals/{approved}/revoke",
        who="member",
        body=lambda _: {"reason": "a mistake"},
    ),
    Door(
        method="get",
        route="effects/<uuid:id>",
        place="effects/{effect}",
    ),
    Door(
        method="post",
        route="effects/<uuid:id>/report",
        place="effects/{effect}/report",
        body=lambda _: {
            "attempt": 1,
            "outcome": "confirmed",
            "external_id": "CR-771",
            "evidence": {"status": 200},
        },
        free=("/evidence",),
        fence=lambda world: world.redeemed.run.fence,
    ),
    Door(
        method="post",
        route="compat/hitl-requests",
        place="compat/hitl-requests",
        body=lambda _: hitl(),
        free=("/action_requests/0/args",),
    ),
    Door(
        method="get",
        route="compat/hitl-requests/<uuid:id>",
        place="compat/hitl-requests/{hitl}",
        query=("wait",),
    ),
    Door(
        method="post",
        route="compat/human-interrupts",
        place="compat/human-interrupts",
        body=lambda _: human(),
        free=("/action_request/args",),
        nullable=("/description",),
    ),
    Door(
        method="get",
        route="compat/human-interrupts/<uuid:id>",
        place="compat/human-interrupts/{human}",
        query=("wait",),
    ),
    Door(
        method="post",
        route="compat/resumes",
        place="compat/resumes",
        body=lambda world: {
            "resume": [
                {
                    "interruptId": str(world.pending.id),
                    "status": "cancelled",
                    "payload": True,
                    "metadata": {"page": 7},
                }
            ]
        },
        free=("/resume/0/payload", "/resume/0/metadata"),
        nullable=("/resume/0/payload", "/resume/0/metadata"),
    ),
)
