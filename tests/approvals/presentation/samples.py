"""A case and its queue, made of plain values: every text can be a stranger's."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import rfc8785

from approvals.presentation.arguments import argument_tree, money
from approvals.presentation.case import (
    CaseView,
    ChangeRow,
    Changes,
    DecisionRow,
    EvidenceRow,
    ExactAction,
    FactRow,
    Keys,
    Link,
    Need,
    PolicyReason,
    PreconditionRow,
    RadiusRow,
    TalkRow,
    TimelineEntry,
)
from approvals.presentation.desk import Desk, RecapRow
from approvals.presentation.progress import (
    CHECKS,
    AttemptRow,
    CheckLine,
    CheckPin,
    Next,
    Progress,
    Step,
    ThenNow,
)
from approvals.presentation.queue import QueueRow, QueueView
from approvals.presentation.shell import NavItem, Pages, Shell

NOW = datetime(2026, 11, 30, 10, 52, tzinfo=UTC)
ARGUMENTS = {"invoice_id": "INV-1042", "amount": "-1240.00", "currency": "EUR"}

SHELL = Shell(
    tenant="Fjordline Group",
    person="Aino Rask",
    role="reviewer",
    home_href="/t/fjordline",
    sign_out_href="/accounts/logout/",
    notifications_href="/t/acme/notifications",
    security_href="/accounts/2fa/",
    leave_href="/t/fjordline/leave",
    nav=(NavItem(label="Queue", href="/t/fjordline", icon="queue", key="q"),),
    live_href="/t/fjordline/stream",
)


def exact(arguments: Any, tool: str = "send_correction_request") -> ExactAction:
    envelope = rfc8785.dumps({"arguments": arguments, "tool": tool})
    return ExactAction(
        tool=tool,
        mode="managed",
        arguments=argument_tree(arguments),
        target="billing@halden.example",
        digest=hashlib.sha256(b"keyturn/approval/v1\0" + envelope).hexdigest(),
        envelope=envelope.decode(),
        size=len(rfc8785.dumps(arguments)),
        money=money(arguments),
    )


def desk(digest: str, **other: Any) -> Desk:
    plain = Desk(
        href="/decide",
        edit_href="/edit",
        digest=digest,
        agent="invoice-agent",
        mode="managed",
        turned=0,
        needed=1,
        recap=(RecapRow(label="Runs", text="send_correction_request", exact=True),),
    )
    return replace(plain, **other)


def case(text: str = "INV-1042", **other: Any) -> CaseView:
    """A pending case in which `text` stands wherever a stranger's text can stand."""
    action = exact(ARGUMENTS | {"text": text, "long": text * 20, text: [{text: text}]})
    then = NOW - timedelta(minutes=88)
    plain = CaseView(
        id="1",
        label="REQ-2291",
        title=text,
        title_is_ours=False,
        status="pending",
        risk="high",
        revision=2,
        agent=text,
        subject=text,
        asked_at=then,
        now=NOW,
        case_href="/case",
        exact=action,
        run=Link(text="RUN-3307", href="/run"),
        checkpoint=8,
        decide_by=NOW + timedelta(hours=1),
        keys=Keys(turned=0, needed=1),
        changes=(
            Changes(
                since="Since revision 1",
                rows=(ChangeRow(pointer=text, before=text, after=None),),
                by="Tomas Berg",
                reason=text,
            ),
        ),
        policies=(PolicyReason(name="corrections", revision=12, sentence=text),),
        needs=(Need(label="Finance", yours=True, note=text),),
        radius=(RadiusRow(icon="reach", label="Reaches", value=text, note=text),),
        facts=(
            FactRow(name="fact", value=text, provenance="tool", reference=text),
            FactRow(name="guess", value=text, provenance="model"),
        ),
        preconditions=(PreconditionRow(field="fact", equals=text, current=text),),
        evidence=(
            EvidenceRow(tool=text, summary=text, at=then, source=text, text=text),
        ),
        talk=(
            TalkRow(at=then, provenance="user", who=text, text=text),
            TalkRow(at=then, provenance="tool", who="", text=text, call=text),
        ),
        timeline=(
            TimelineEntry(at=then, icon="request", text=text, note=text, said=text),
        ),
        decisions=(
            DecisionRow(by=text, verdict="approve", at=then, revision=2, reason=text),
        ),
        explanation=text,
        desk=desk(action.digest),
    )
    return replace(plain, **other)


def queue(open_case: CaseView | None = None, text: str = "INV-1042") -> QueueView:
    row = QueueRow(
        id="1",
        href="/case",
        title=text,
        title_is_ours=False,
        tool=text,
        agent=text,
        risk="critical",
        status="pending",
        decide_by=NOW + timedelta(minutes=20),
        keys=Keys(turned=1, needed=2),
        size=text,
    )
    return QueueView(
        heading="All open",
        rows=(row,),
        pages=Pages(shown=1, total=1),
        now=NOW,
        case=open_case,
    )


def progress(state: str, text: str = "Nothing was sent.") -> Progress:
    """The way from a turned key to `state`, `text` wherever words can stand."""
    blocked = state == "refused"
    pins = tuple(
        CheckPin(
            name=name,
            state="blocked" if blocked and name == "authority" else "set",
            lines=(CheckLine(text=text, held=True),),
        )
        for name in CHECKS
    )
    return Progress(
        state=state,
        headline="What happened",
        sentence=text,
        steps=(Step(label="Approved", state="done", at=NOW, note=text),),
        pins=pins,
        code="authority.policy_changed" if blocked else "",
        refusal_class="reopen" if blocked else "",
        external_id=text if state == "confirmed" else "",
        attempts=(
            AttemptRow(state="started", at=NOW, by=text, recorded=text, number=1),
        ),
        then_now=(ThenNow(condition=text, then=text, now=text, holds=False),),
        coming=(Next(icon="agent", text=text, note=text),),
        revoke_href="/revoke" if state == "queued" else "",
    )
