"""The page of the system: what was looked at, and this tenant's work that is due."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Min, Q, QuerySet

from approvals.models import Request, ResumeJob, WebhookDelivery
from approvals.pages.addresses import address
from checkpoints.models import Effect
from kernel.clock import database_now
from oversight.examination import Finding
from oversight.presentation.system import FindingRow, SystemView, WorkRow
from sessions.models import Run
from tenants.models import Mail

ADVICE: Final = {
    "python": "Run it with Python 3.12 to 3.14.",
    "database": "It needs PostgreSQL 18, and the address in DATABASE_URL.",
    "clock": "Set the clock of this machine by NTP.",
    "roles": "Follow the roles in docs/operations.md: the app is no owner and no superuser.",
    "migrations": "Run manage.py migrate as the owner, then restart web and workers.",
    "broker": "Start it, or mend CELERY_BROKER_URL. Nothing is lost meanwhile.",
    "worker": "Start one: celery --app config worker.",
    "audit key": "Give every process the key of KEYTURN_AUDIT_KEY, mode 0600.",
    "data keys": "Finish the rotation: manage.py rotate_data_keys.",
    "disk": "Make room, or move KEYTURN_DATA_DIR.",
    "mail": "Set KEYTURN_SMTP_URL; without it nobody is told by mail, and invitations are handed over.",
}


def system_view(slug: str, found: Sequence[Finding]) -> SystemView:
    """`found` was looked at before: nobody holds the tenant's scope for that long."""
    tone, answer = _answer(found)
    return SystemView(
        now=database_now(),
        answer=answer,
        tone=tone,
        findings=tuple(map(finding_row, found)),
        work=tuple(_work(slug)),
        readiness_href=address("readiness", slug),
    )


def _answer(found: Sequence[Finding]) -> tuple[str, str]:
    failed = sum(one.state == "failed" for one in found)
    warned = sum(one.state == "warning" for one in found)
    if failed:
        return "bad", f"{failed} of {len(found)} things are not as they must be."
    if warned:
        return "warn", f"It runs; {warned} of {len(found)} things want attention."
    if not found:
        return "", "This is the work that is due."
    return "", f"All {len(found)} things that it needs are well."


def finding_row(one: Finding) -> FindingRow:
    """With what to do, unless it is well."""
    advice = "" if one.state == "ok" else ADVICE.get(one.name, "")
    return FindingRow(name=one.name, state=one.state, detail=one.detail, advice=advice)


def _work(slug: str) -> list[WorkRow]:
    """Each sort of work that a worker owes the tenant, in one statement."""
    dead = Q(state="dead")
    open_effects = Effect.objects.filter(state__in=["unknown", "needs_attention"])
    # Nothing of ours finds out any more what nothing of ours is due to look at.
    nobody = Q(due_at=None)
    return [
        _of("Questions that wait for people", Request.objects, Q(), slug, "queue"),
        _of("Answers to carry out", ResumeJob.objects, dead, slug, "runs"),
        _of("Effects to find out about", open_effects, nobody, slug, "runs"),
        _of("Runs", Run.objects, Q(state="needs_attention"), slug, "runs"),
        _of("Webhook messages", WebhookDelivery.objects, dead, slug, "webhooks"),
        _of("Letters", Mail.objects, dead, slug, "letters"),
    ]


def _of(name: str, rows: Any, stuck: Q, slug: str, place: str) -> WorkRow:
    counted: QuerySet[Any] = rows.order_by()
    due = Q(due_at__isnull=False)
    said: dict[str, Any] = counted.aggregate(
        waiting=Count("id", filter=due),
        since=Min("created_at", filter=due),
        stuck=Count("id", filter=stuck) if stuck else Count("id", filter=Q(id=None)),
    )
    since: datetime | None = said["since"]
    return WorkRow(
        name=name,
        waiting=said["waiting"],
        since=since,
        stuck=said["stuck"],
        href=address(place, slug),
    )
