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
        **more,
    )


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
)
