"""Finding what is due: the relay sees ids and times of all tenants, nothing else.

It locks nothing; each finding is then handled inside its own tenant, where the state
and the clock are tested again. Running twice, or in many workers, changes nothing.
"""

from collections.abc import Callable, Iterator
from typing import Final
from uuid import UUID

import structlog
from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, connections

from approvals.envelope import UNREADABLE
from approvals.models import Grant, Request, ResumeJob
from approvals.publishing import publish, publish_delivery
from approvals.services.ending import end_request, expire
from approvals.services.granting import SYSTEM, end_grant, end_jobs
from approvals.services.nudging import nudge
from approvals.services.refusing import need_attention
from approvals.services.report import settle
from approvals.services.scene import lock_scene_of
from approvals.states import OPEN
from checkpoints.effects import settle_effect
from checkpoints.models import Attempt, Effect
from kernel.clock import database_now
from kernel.problems import Problem
from sessions.models import Run
from sessions.runs import lock_run
from tenants.publishing import publish_mail
from tenants.verbs import Verb, perform

MOST: Final = 200  # a pass and kind
# A job that was just published is on its way; only one that lingers is lost.
GRACE: Final = "1 second"
# What one spoilt row may raise, so that those behind it are still looked at.
SPOILT: Final = (DatabaseError, ObjectDoesNotExist, *UNREADABLE)

log = structlog.get_logger(__name__)


def sweep() -> dict[str, int]:
    """One bounded pass over everything that can be due; returns what it found."""
    return {name: _pass(table, handle) for name, (table, handle) in SWEEPS.items()}


def _pass(table: str, handle: Callable[[UUID, UUID], None]) -> int:
    found = 0
    for tenant_id, row_id in _due(table):
        found += 1
        try:
            handle(tenant_id, row_id)
        except Problem as problem:
            log.info("sweep_deferred", table=table, id=str(row_id), code=problem.code)
        except SPOILT as error:
            about = {"table": table, "id": str(row_id), "error": type(error).__name__}
            log.warning("sweep_failed", tenant=str(tenant_id), **about)
    return found


def _due(table: str) -> Iterator[tuple[UUID, UUID]]:
    with connections["relay"].cursor() as cursor:
        cursor.execute(
            f"SELECT tenant_id, id FROM {table}"  # noqa: S608 - our own constant
            f" WHERE due_at <= clock_timestamp() - interval '{GRACE}'"
            f" ORDER BY due_at LIMIT {MOST}"
        )
        yield from cursor.fetchall()


def _publish(tenant_id: UUID, job_id: UUID) -> None:
    publish(job_id)


def _publish_delivery(tenant_id: UUID, delivery_id: UUID) -> None:
    publish_delivery(delivery_id)


def _expire_request(tenant_id: UUID, request_id: UUID) -> None:
    def work(verb: Verb) -> None:
        request = lock_scene_of(request_id)
        now = database_now()
        if request.state in OPEN and request.due_at and now >= request.due_at:
            expire(verb, request, now)

    perform(tenant_id, work)


def _lapse_grant(tenant_id: UUID, grant_id: UUID) -> None:
    def work(verb: Verb) -> None:
        grant = Grant.objects.get(id=grant_id)
        request = lock_scene_of(grant.request_id)
        live = Grant.objects.select_for_update(no_key=True).filter(
            id=grant_id, state=Grant.State.LIVE
        )
        now = database_now()
        grant = live.first() or grant
        if grant.state != Grant.State.LIVE or now < grant.expires_at:
            return
        reason = "The approval was not used in time."
        end_grant(verb, grant, Grant.State.LAPSED, actor=SYSTEM, reason=reason)
        end_jobs(request, "lapsed")
        if request.state == Request.State.APPROVED:
            end_request(verb, request, Request.State.LAPSED, now, reason)

    perform(tenant_id, work)


def _doubt_effect(tenant_id: UUID, effect_id: UUID) -> None:
    """An action that no worker asks about any more: unknown, and so a person's."""

    def work(verb: Verb) -> None:
        effect = Effect.objects.get(id=effect_id)
        run = lock_run(effect.run_id)
        effect.refresh_from_db()
        if effect.due_at is None or database_now() < effect.due_at:
            return
        if ResumeJob.objects.filter(
            request_id=effect.request, due_at__isnull=False
        ).exists():
            return
        if effect.state == Effect.State.STARTED:
            _say_unknown(verb, run, effect)
        # Without a time to look again: not to be found by each sweep from now on.
        settle_effect(
            verb,
            effect.id,
            outcome=Effect.State.NEEDS_ATTENTION,
            evidence={"why": "nobody is asked about it any more"},
            actor=SYSTEM,
        )
        need_attention(verb, run, "The agent did not report what its action came to.")

    perform(tenant_id, work)


def _say_unknown(verb: Verb, run: Run, effect: Effect) -> None:
    attempt = Attempt.objects.get(effect=effect, number=effect.attempt)
    settle(
        verb,
        run,
        effect.id,
        attempt=attempt.number,
        fence=attempt.fence,
        outcome="unknown",
        external_id="",
        evidence={"why": "not reported in time"},
    )


def _publish_mail(tenant_id: UUID, mail_id: UUID) -> None:
    publish_mail(mail_id)


SWEEPS: Final[dict[str, tuple[str, Callable[[UUID, UUID], None]]]] = {
    "jobs": ("approvals_resumejob", _publish),
    "requests": ("approvals_request", _expire_request),
    "grants": ("approvals_grant", _lapse_grant),
    "effects": ("checkpoints_effect", _doubt_effect),
    "nudges": ("approvals_nudge", nudge),
    "deliveries": ("approvals_webhookdelivery", _publish_delivery),
    "mail": ("tenants_mail", _publish_mail),
}
