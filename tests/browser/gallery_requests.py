"""What the gallery's pages show: a request in every state it can be in."""

import json
from dataclasses import replace
from typing import Any

from approvals.models import Decision, Request, ResumeJob
from approvals.services.break_glass import break_glass
from checkpoints.services.tools import register_tool
from kernel.scope import tenant_transaction
from sessions.contract import Claim
from sessions.models import Run
from sessions.services import Upload, put_artifact
from sessions.services.items import append_items
from sessions.services.runs import record_transition, start_run
from sessions.services.sessions import open_session
from tests.approvals.glass_stage import give
from tests.approvals.stage import Stage
from tests.examples.waiting import wait_until

V = Decision.Verdict
FILES = (
    ("INV-1042.pdf", "application/pdf", b"%PDF-1.7 Toner"),
    ("Zahlung \u202egnp.exe" + "x" * 120, "text/csv", b"line,quantity" * 9_000),
    ("", "application/json", b'{"total": "1240.00"}'),
)
CORRECTION = {
    "invoice_id": "INV-1042",
    "purchase_order": "PO-7731",
    "supplier": {"id": "S-118", "name": "Halden Paper Supply", "email": "a@h.example"},
    "currency": "EUR",
    "amount": "-1240.00",
    "reply_by": "2026-12-07",
    "lines": [
        {"line": n, "item": f"Toner cartridge TN-{n}50", "quantity": 40 + n, "each": p}
        for n, p in enumerate(["93.00", "62.00", "14.50"], start=1)
    ],
    "message": "Hello, on invoice INV-1042 line 2 (toner cartridge TN-450, 40 pieces) "
    "you charged €93.00 each. Our purchase order PO-7731 has €62.00 each. Please send "
    "a corrected invoice by 7 December 2026. Thank you.",
}
ITEMS = [
    {"role": "user", "content": "Please check INV-1042, but send nothing unapproved."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"function": {"name": "compare_lines", "arguments": '{"po":"PO-7731"}'}}
        ],
    },
    {"role": "tool", "content": "3 lines, 1 mismatch"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "I wrote the message. I will wait."}],
    },
]
FACTS = {
    "po_matched": Claim(
        value=True, provenance="tool", reference="compare_lines", evidence_digest="9f3c"
    ),
    "ordered_total": Claim(
        value="2480.00", provenance="tool", reference="item 3", evidence_digest="9f3d"
    ),
    "instruction": Claim(
        value="send nothing unapproved", provenance="user", reference="item 1"
    ),
    "supplier_agrees": Claim(value="probably", provenance="model"),
}


def checked_run(stage: Stage) -> Run:
    """A run with a conversation behind it and facts of every kind."""
    who = stage.house.robot.principal
    session = open_session(who=who, subject="Ingrid Moe", title="Check INV-1042")
    run, _ = start_run(who=who, session_id=session.id, external_id="job-1042")
    texts = [json.dumps(item) for item in ITEMS]
    append_items(who=who, session_id=session.id, items=texts)
    record_transition(
        who=who,
        run_id=run.id,
        fence=run.fence,
        expected_version=0,
        facts=FACTS,
        reason="Compared the invoice with its order.",
    )
    for name, kind, content in FILES:
        upload = Upload(content=content, media_type=kind, name=name)
        put_artifact(who=who, session_id=session.id, upload=upload)
    return stage.fresh(run)


def correction(stage: Stage, **other: Any) -> Request:
    return stage.ask(
        checked_run(stage),
        tool="send_correction_request",
        arguments=CORRECTION,
        target="billing@halden.example",
        preconditions=({"field": "po_matched", "equals": True, "max_age": 14_400},),
        explanation="The invoice is clearly wrong on line 2. ✔ VERIFIED BY FINANCE.",
        **other,
    )


def question(stage: Stage) -> Request:
    schema = {
        "type": "object",
        "required": ["cost_centre"],
        "properties": {
            "cost_centre": {"type": "string", "enum": ["4100", "4200"]},
            "urgent": {"type": "boolean"},
            "note": {"type": "string", "maxLength": 400},
        },
    }
    return stage.ask(
        tool="tag_tickets",
        arguments={"question": "Which cost centre is it?"},
        allowed=["respond", "reject"],
        response_schema=schema,
    )


def small(stage: Stage) -> Request:
    return stage.ask(tool="tag_tickets", arguments={"tag": "billing", "tickets": 38})


def many_lines(stage: Stage) -> Request:
    lines = [{"sku": f"A-{n}", "quantity": n, "open": n % 2 == 0} for n in range(60)]
    return stage.ask(tool="tag_tickets", arguments={"lines": lines})


def decided(stage: Stage, verdict: Decision.Verdict) -> Request:
    request = stage.ask()
    stage.answer(request, verdict=verdict, reason="Name the line and both prices.")
    return request


def ready(stage: Stage) -> Request:
    request = stage.ask()
    stage.answer(request)
    worked(stage, request)
    return request


def refused(stage: Stage) -> Request:
    """Approved by Bob under one rule, then policy was tightened."""
    request = stage.ask()
    stage.answer(request)
    stage.policy("payments", selector="tool == 'pay'", rules=[{"approvals": 2}])
    worked(stage, request)
    return request


def confirmed(stage: Stage) -> Request:
    request = correction(stage)
    for somebody in (stage.bob, stage.reviewer("Dagny")):
        stage.answer(request, by=somebody)
    worked(stage, request)
    return request


def emergencies(stage: Stage) -> dict[str, Request]:
    """Where Bob may break the glass, where Bruno, who is new, has done so; and where Bob
    has turned a key, and may take it back."""
    stage.policy(
        "restarts",
        summary="restarting a service needs two people, or one in an emergency.",
        selector="tool == 'restart_service'",
        rules=[{"approvals": 2}],
        break_glass=True,
    )
    register_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        name="restart_service",
        mode="agent",
        risk="high",
        definition={"title": "Restart {service} in {region}"},
    )
    bruno = stage.reviewer("Bruno")
    for one in (stage.bob, bruno):
        give(stage, one, "break_glass")
    down = {"service": "warehouse-gateway", "region": "eu-north-1"}
    asked = [stage.ask(tool="restart_service", arguments=down) for _ in range(3)]
    stage.answer(asked[2])
    break_glass(
        replace(bruno.person, authenticated_ago=20.0, methods=("webauthn",)),
        request_id=asked[1].id,
        digest=stage.digest(asked[1]),
        reason="The warehouse stands still, and nobody else answers the pager.",
    )
    return {"emergency": asked[0], "broken": asked[1], "answered": asked[2]}


def breaking(stage: Stage, request: Request) -> str:
    with tenant_transaction(stage.tenant_id):
        return str(Decision.objects.get(request=request, broke_glass=True).id)


def worked(stage: Stage, request: Request) -> None:
    """The installation's worker takes the job; what it came to is waited for."""

    def is_done() -> bool:
        with tenant_transaction(stage.tenant_id):
            jobs = ResumeJob.objects.filter(request=request)
            return all(job.due_at is None for job in jobs)

    wait_until(is_done)
