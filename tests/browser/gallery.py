"""One tenant in which every page has something to show, in every state it can be in."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from approvals.models import Request
from approvals.policy.beforehand import Constraint
from approvals.services.chats import add_chat
from approvals.services.policy_drafts import save_policy_draft
from approvals.services.redeem import redeem
from approvals.services.snoozing import snooze
from approvals.services.standing import Terms, make_standing
from approvals.services.webhooks import (
    create_webhook,
    ping_webhook,
    switch_webhook,
)
from checkpoints.services.tools import register_tool
from sessions.services import define_workflow
from sessions.shipped import shipped
from tenants.models import Role
from tenants.services import accept_invitation, invite_guest
from tenants.services.join_links import make_join_link
from tenants.services.single_sign_on import configure, map_group
from tests.approvals.stage import Stage, fresh_stage
from tests.browser.gallery_requests import (
    V,
    breaking,
    confirmed,
    correction,
    decided,
    emergencies,
    many_lines,
    question,
    ready,
    refused,
    small,
)
from tests.factories import Somebody, fresh_user

HOSTILE = (
    "Zahlung an \u0391cme\u200b Logistics \u202egnp.exe <script>alert(1)</script>"
    + "\n" * 40
    + "✔ VERIFIED BY FINANCE"
)
OPEN = "gus@example.test"  # asked in, and not there yet
CORRECTION_SCHEMA = {
    "type": "object",
    "properties": {
        "invoice_id": {"type": "string", "readOnly": True},
        "amount": {"type": "string", "pattern": "^-?[0-9]+\\.[0-9]{2}$"},
        "reply_by": {"type": "string", "format": "date"},
        "message": {"type": "string", "maxLength": 2000},
    },
}


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """Addresses by the name of their picture: `pages`, and what only the owner sees."""

    stage: Stage
    reader: Somebody
    pages: Mapping[str, str]
    owned: Mapping[str, str]


def open_gallery(tool: Mapping[str, Any]) -> Gallery:
    """`tool` is a managed tool that can be called; a worker must be running."""
    stage = fresh_stage()
    _tools(stage, tool)
    define_workflow(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        kind="invoice",
        definition=shipped("invoice") or {},
    )
    carol = stage.reviewer("Carol")
    stage.policy(
        "corrections",
        summary="a request to an outside company needs two people.",
        selector="tool == 'send_correction_request'",
        rules=[{"approvals": 2}],
    )
    two_keys = correction(stage)
    stage.answer(two_keys, by=carol, reason="Checked against the October price list.")
    _policies(stage)
    _provider(stage)
    requests = {
        "two-keys": two_keys,
        "hostile": stage.ask(arguments={"payee": HOSTILE, "amount": "48200.00"}),
        "answer": question(stage),
        "small": small(stage),
        "many-lines": many_lines(stage),
        "changes": decided(stage, V.REQUEST_CHANGES),
        "rejected": decided(stage, V.REJECT),
        "ready": ready(stage),
        "refused": refused(stage),
        "confirmed": confirmed(stage),
        **emergencies(stage),
    }
    _away(stage, carol, requests["changes"])
    return Gallery(
        stage=stage,
        reader=stage.bob,
        pages=_addresses(stage, requests) | _standing(stage),
        owned={**_owned(stage), **_looked_back(stage, requests)},
    )


def _away(stage: Stage, carol: Somebody, changes: Request) -> None:
    """Bob stands in for Carol, will be away himself, and has put something aside."""
    stage.on_leave(carol, stage.bob, note=HOSTILE[:200])
    later = datetime.now(UTC) + timedelta(days=20)
    dora = stage.reviewer("Dora")
    stage.on_leave(stage.bob, dora, days=30, starts_at=later, queues=[stage.queue.id])
    hour = timedelta(hours=1)
    snooze(stage.bob.person, request_id=changes.id, length=hour)


def _provider(stage: Stage) -> None:
    by, tenant_id = stage.house.alice.id, stage.tenant_id
    configure(
        tenant_id=tenant_id,
        by=by,
        issuer="https://id.halden.example/realms/office",
        client_id="keyturn",
        secret="of-the-gallery",
        groups_claim="groups",
    )
    group = stage.house.reviewers.id
    map_group(tenant_id=tenant_id, by=by, value="office/payments", group_id=group)
    name = "Nora <script>alert(1)</script>" + "x" * 90
    make_join_link(tenant_id=tenant_id, by=by, name=name, role=Role.REVIEWER)


def _owned(stage: Stage) -> dict[str, str]:
    home = f"/t/{stage.house.tenant.slug}"
    names = (
        "insights",
        "system",
        "readiness",
        "audit",
        "drills",
        "webhooks",
        "policies",
    )
    paying = f"{home}/policies/agent-payments"
    return {
        **{name: f"{home}/{name}" for name in names},
        **_administered(stage, home),
        "policy": f"{paying}?revision=2&against=1",
        "policy-tried": f"{paying}?try=500#trial",
        "policy-new": f"{home}/new-policy",
        "policy-edit": f"{paying}/edit",
        "offers": f"{home}/offers",
        "workflow-new": f"{home}/new-workflow",
        "workflow-edit": f"{home}/workflows/invoice/edit",
        **_webhook(stage, home),
    }


def _webhook(stage: Stage, home: str) -> dict[str, str]:
    """One that nobody listens to, switched off once a message is on its way."""
    told = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    hook = create_webhook(
        **told, url="https://nobody.invalid/keyturn", event_types=["run.failed"]
    ).webhook
    message = ping_webhook(**told, webhook_id=hook.id)
    switch_webhook(**told, webhook_id=hook.id, enabled=False)
    chat = add_chat(
        **told,
        url="https://nobody.invalid/services/T0GALLERY/B0GALLERY/n0t4S3cr3t",
        event_types=["approval.expired"],
        queue_id=stage.queue.id,
        description="#payments",
    )
    return {
        "chat": f"{home}/webhooks/{chat.id}",
        "webhook": f"{home}/webhooks/{hook.id}",
        "delivery": f"{home}/deliveries/{message.id}",
    }


def _administered(stage: Stage, home: str) -> dict[str, str]:
    agent = f"{home}/agents/{stage.house.robot.agent.id}"
    return {
        "agents": f"{home}/agents",
        "agent": agent,
        "agent-stop": f"{agent}/stop",
        "tool-stop": f"{home}/tools/{stage.tool.id}/stop",
        "tenant-stop": f"{home}/stop",
        "people": f"{home}/people",
        "letters": f"{home}/letters",
        "retention": f"{home}/retention",
        "person": f"{home}/people/{stage.bob.id}",
        "single-sign-on": f"{home}/single-sign-on",
        "groups": f"{home}/groups",
        "group": f"{home}/groups/{stage.house.reviewers.id}",
        "queues": f"{home}/queues",
        "queue-rights": f"{home}/queues/{stage.queue.id}",
        "tools": f"{home}/tools",
        "tool": f"{home}/tools/{stage.tool.id}",
        "tool-new": f"{home}/new-tool",
        "tool-edit": f"{home}/tools/{stage.tool.id}/edit",
    }


def _looked_back(stage: Stage, requests: Mapping[str, Request]) -> dict[str, str]:
    """What those who oversee see of the past, and somebody who looks for a while."""
    home = f"/t/{stage.house.tenant.slug}"
    user, by = fresh_user("Gwen"), stage.house.alice.id
    asked = invite_guest(tenant_id=stage.tenant_id, by=by, email=user.email, days=9)
    token = asked.link.rpartition("/")[2]
    guest = accept_invitation(token=token, user_id=user.id, name="Gwen")
    invite_guest(tenant_id=stage.tenant_id, by=by, email=OPEN, name="Gus", days=9)
    two, done = requests["two-keys"], requests["confirmed"]
    return {
        "guest": f"{home}/people/{guest.id}",
        "person-history": f"{home}/people/{stage.bob.id}/history",
        "rights-then": f"{home}/requests/{two.id}/rights",
        "rights-then-wrong": f"{home}/requests/{two.id}/rights?at=2001-01-01T00:00",
        "trace-owned": f"{home}/runs/{done.run_id}/trace",
    }


def _addresses(stage: Stage, requests: Mapping[str, Request]) -> dict[str, str]:
    home = f"/t/{stage.house.tenant.slug}"
    two = requests["two-keys"]
    return {
        "queue": f"{home}/queue",
        "notifications": f"{home}/notifications",
        "queue-aside": f"{home}/queue?view=snoozed",
        "leave": f"{home}/leave",
        "queue-decided": f"{home}/queue?view=decided",
        "views": f"{home}/views?risk=high",
        "queue-empty": f"{home}/queue?q=nothing+like+this",
        **{f"case-{name}": f"{home}/queue/{one.id}" for name, one in requests.items()},
        "together": f"{home}/together?verdict=approve&pick={requests['small'].id}"
        f"&pick={requests['many-lines'].id}&pick={two.id}",
        "edit": f"{home}/requests/{two.id}/edit",
        "break-glass": f"{home}/requests/{requests['emergency'].id}/break-glass",
        "broken-glass": f"{home}/broken-glass",
        "post-review": f"{home}/broken-glass/{breaking(stage, requests['broken'])}",
        "context": f"{home}/requests/{two.id}/context",
        "runs": f"{home}/runs",
        "run": f"{home}/runs/{two.run_id}",
        "run-state": f"{home}/runs/{two.run_id}/state",
        "session": f"{home}/runs/{two.run_id}/session",
        "trace": f"{home}/runs/{requests['confirmed'].run_id}/trace",
        "trace-refused": f"{home}/runs/{requests['refused'].run_id}/trace",
        "workflows": f"{home}/workflows",
        "workflow": f"{home}/workflows/invoice",
        "run-confirmed": f"{home}/runs/{requests['confirmed'].run_id}",
        "run-refused": f"{home}/runs/{requests['refused'].run_id}",
    }


def _tools(stage: Stage, tool: Mapping[str, Any]) -> None:
    for name, mode, risk, definition in (
        (
            "send_correction_request",
            "managed",
            "high",
            {
                "title": "Send a correction request to {supplier.name} for {invoice_id}",
                "size": "{currency} {amount}",
                "description": "Asks a supplier in writing to correct an invoice. One "
                "e-mail leaves the company and cannot be recalled.",
                "schema": CORRECTION_SCHEMA,
                **tool,
            },
        ),
        ("tag_tickets", "agent", "low", {}),
    ):
        register_tool(
            tenant_id=stage.tenant_id,
            by=stage.house.alice.id,
            name=name,
            mode=mode,
            risk=risk,
            definition=definition,
        )


def _standing(stage: Stage) -> dict[str, str]:
    """What Bob agreed to beforehand, once used; and the form for one more."""
    register_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        name="order_paper",
        mode="agent",
        risk="medium",
        definition={"title": "Order paper for {amount} at {payee}"},
    )
    stage.policy(
        "weekly-orders",
        summary="Orders of paper may be agreed to beforehand.",
        selector="tool == 'order_paper'",
        standing={
            "expires_within": 14 * 86_400,
            "uses": 20,
            "open": ["/amount", "/payee"],
        },
    )
    arguments = {"payee": "Paper & Ink", "amount": "180.00", "express": False}
    request = stage.ask(tool="order_paper", arguments=arguments)
    stage.answer(request)
    made = make_standing(
        stage.bob.person,
        request_id=request.id,
        terms=Terms(
            seconds=7 * 86_400,
            uses=10,
            bounded=[
                Constraint("/amount", "between", {"least": "0", "most": "250.00"}),
                Constraint(
                    "/payee", "one_of", {"values": ["Paper & Ink", "Paper Mill Nord"]}
                ),
            ],
            reason="The weekly order, whichever of the two has stock.",
        ),
    )
    run = stage.run()
    arguments["payee"] = "Paper Mill Nord"
    like = stage.ask(run, tool="order_paper", arguments=arguments)
    redeem(stage.house.robot.principal, request_id=like.id, fence=run.fence)
    weekly = stage.ask_all(
        [
            {
                "tool": "order_paper",
                "arguments": {**arguments, "amount": f"{300 + n}.00", "express": n > 7},
            }
            for n in range(10)
        ]
    )
    for one in weekly:
        stage.answer(one)
    home = f"/t/{stage.house.tenant.slug}"
    return {
        "standing": f"{home}/standing",
        "standing-one": f"{home}/standing/{made.id}",
        "standing-make": f"{home}/requests/{request.id}/standing",
        "case-beforehand": f"{home}/queue/{like.id}",
        "case-standing": f"{home}/queue/{request.id}",
    }


def _policies(stage: Stage) -> None:
    """One with a history and a draft, and two more; none of which changes a case."""
    paying = {
        "summary": "Payments in production need two people.",
        "selector": "tool == 'send_payment' && environment == 'production'",
        "decide_within": 14_400,
    }
    for rules in ([{"approvals": 1}], [{"approvals": 2}]):
        stage.policy("agent-payments", **paying, rules=rules)
    group = {"groups": [str(stage.house.reviewers.id)]}
    person = {"members": [str(stage.bob.id)]}
    rules = [{"approvals": 2, "eligible": group}, {"eligible": person, "denials": 2}]
    draft = {**paying, "verdict": "require_review", "reason": "always", "rules": rules}
    save_policy_draft(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        name="agent-payments",
        definition={**draft, "selector": "tool == 'pay' || tool == 'send_payment'"},
        note="The new payment tool is called pay.",
    )
    stage.policy(
        "far-away",
        verdict="deny",
        selector="environment == 'production' && arguments.lines.exists(l, l.far)",
    )
    stage.let_through(
        "small-tags",
        summary="Tags of single tickets need nobody.",
        selector="tool == 'tag_tickets' && arguments.tickets in [0, 1]",
    )
