"""Mail: written down with what it tells of, and sent afterwards by a worker.

A letter is claimed by moving the time at which it is due, so that whoever is killed with
it leaves it to the next. Everything that is due to the same person and can be said
together is one letter. Nothing is sent inside a transaction.
"""

import smtplib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from random import uniform
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from django.db.models import F, QuerySet

from audit.append import Actor
from kernel.clock import ClockTimestamp, database_now
from kernel.problems import Problem, declare
from kernel.update import update_exactly_one
from tenants.checks import Acting, permitted
from tenants.letters import Letter, dispatch, write
from tenants.models import Mail
from tenants.publishing import publish_mail
from tenants.services.change import own
from tenants.verbs import Gate, Verb, perform

State = Mail.State
CLAIM: Final = timedelta(seconds=90)  # longer than one letter takes
MOST_TOGETHER: Final = 50  # mails that one letter tells of
MINUTE: Final = 60
PAUSES: Final = (
    10,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    *(h * 60 * MINUTE for h in (1, 4, 12)),
)
"""Seconds after each failed attempt; after the last one the letter is dead."""
KEPT: Final = timedelta(days=30)  # what was sent, dropped or given up
SYSTEM: Final = Actor("system", "keyturn")
REFUSED_FOR_GOOD: Final = 500  # from this reply on the server will not think again
MAIL_UNFINISHED: Final = declare(
    "mail_still_queued", status=409, title="This letter is on its way already"
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """Mails that this worker, and for now no other, sends as one letter."""

    tenant_id: UUID
    ids: tuple[UUID, ...]
    attempts: int
    letter: Letter | None


def owe(verb: Verb, mails: Iterable[Mail]) -> None:
    """Write them down inside a verb, and hand them to the broker after the commit.

    Where no mail is sent nothing is written. What is due later a sweep finds.
    """
    if not settings.MAILS:
        return
    now = database_now()
    for mail in Mail.objects.bulk_create(mails, ignore_conflicts=True):
        if mail.due_at is not None and mail.due_at <= now:
            _publish_later(verb, mail.id)


def tenant_of(mail_id: UUID) -> UUID | None:
    """Whose it is. Tasks carry ids only."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT keyturn_mail_tenant(%s)", [mail_id])
        tenant: UUID | None = cursor.fetchone()[0]
        return tenant


def send_mail(mail_id: UUID) -> str:
    """Send the letter, if it is due; returns what came of it, or nothing."""
    tenant_id = tenant_of(mail_id)
    if tenant_id is None or not settings.MAILS:
        return ""
    claimed = perform(tenant_id, lambda verb: _claim(verb, mail_id), gate=Gate.NONE)
    if claimed is None:
        return ""
    code, final = attempt(claimed.letter) if claimed.letter else ("", False)
    return perform(tenant_id, lambda verb: _settle(verb, claimed, code, final))


def attempt(letter: Letter) -> tuple[str, bool]:
    """One try: the code of what went wrong, and whether it will ever be otherwise."""
    try:
        dispatch(letter)
    except smtplib.SMTPRecipientsRefused as error:
        replies = [reply for reply, _ in error.recipients.values()]
        return f"smtp_{max(replies)}", min(replies) >= REFUSED_FOR_GOOD
    except smtplib.SMTPResponseException as error:
        gone = error.smtp_code >= REFUSED_FOR_GOOD
        return f"smtp_{error.smtp_code}", gone and not _is_ours(error)
    except (smtplib.SMTPException, OSError) as error:
        return type(error).__name__, False
    return "", False


def _is_ours(error: smtplib.SMTPResponseException) -> bool:
    """An operator mends a wrong password; no letter is given up for it."""
    return isinstance(error, smtplib.SMTPAuthenticationError | smtplib.SMTPHeloError)


def resend_mail(*, tenant_id: UUID, by: Acting, mail_id: UUID) -> Mail:
    """Send it again, as if it were the first time. Raises `mail_still_queued` (409)."""

    def work(verb: Verb) -> Mail:
        actor = permitted(tenant_id, by)
        mail = own(Mail, tenant_id, mail_id)
        if mail.state == State.QUEUED:
            raise MAIL_UNFINISHED()
        rows = Mail.objects.filter(id=mail.id, state=mail.state)
        fresh = {"state": State.QUEUED, "attempts": 0, "ended_at": None}
        update_exactly_one(rows, due_at=database_now(), **fresh)
        verb.record("mail.resent", actor=actor, subject=("mail", mail.id))
        _publish_later(verb, mail.id)
        return mail

    return perform(tenant_id, work)


def _claim(verb: Verb, mail_id: UUID) -> Claimed | None:
    now = database_now()
    # What somebody else is claiming at this moment is theirs.
    free = Mail.objects.select_for_update(no_key=True, skip_locked=True)
    due = free.filter(due_at__lte=now)
    first = due.filter(id=mail_id).first()
    if first is None:
        return None
    mails = _together(due, first)
    taken = Mail.objects.filter(id__in=[one.id for one in mails])
    taken.update(due_at=now + CLAIM, attempts=F("attempts") + 1)
    return Claimed(
        tenant_id=verb.tenant_id,
        ids=tuple(one.id for one in mails),
        attempts=max(one.attempts for one in mails) + 1,
        letter=_written(mails),
    )


def _together(due: QuerySet[Mail], first: Mail) -> list[Mail]:
    """What the same person is owed now; an invitation stands alone."""
    if first.member_id is None:
        return [first]
    rows = due.filter(member_id=first.member_id).exclude(id=first.id)
    return [first, *rows.order_by("due_at", "id")[: MOST_TOGETHER - 1]]


def _written(mails: list[Mail]) -> Letter | None:
    try:
        return write(mails)
    except Problem as problem:
        # Such as a tenant whose data key is gone: there is nothing to say any more.
        log.warning("mail_not_written", mail=str(mails[0].id), code=problem.code)
        return None


def _settle(verb: Verb, claimed: Claimed, code: str, final: bool) -> str:
    rows = Mail.objects.filter(id__in=claimed.ids, state=State.QUEUED)
    if not code:
        state = State.SENT if claimed.letter else State.DROPPED
        rows.update(state=state, code="", due_at=None, ended_at=ClockTimestamp())
        _forget(verb.tenant_id)
        return state.value
    pause = None if final else pause_after(claimed.attempts)
    if pause is not None:
        rows.update(code=code, due_at=database_now() + pause)
        return code
    rows.update(state=State.DEAD, code=code, due_at=None, ended_at=ClockTimestamp())
    for id in claimed.ids:
        verb.record(
            "mail.given_up",
            actor=SYSTEM,
            subject=("mail", id),
            data={"code": code},
        )
    return code


def pause_after(attempts: int) -> timedelta | None:
    """How long to wait after so many failed attempts; None when it was the last."""
    if attempts > len(PAUSES):
        return None
    return timedelta(seconds=PAUSES[attempts - 1] * uniform(0.8, 1.2))  # noqa: S311


def _forget(tenant_id: UUID) -> None:
    """Some of what was kept long enough: who was told of what is not ours for ever."""
    old = Mail.objects.filter(ended_at__lt=database_now() - KEPT)
    some = old.order_by("ended_at").values_list("id", flat=True)[:100]
    Mail.objects.filter(tenant_id=tenant_id, id__in=list(some)).delete()


def _publish_later(verb: Verb, mail_id: UUID) -> None:
    verb.after_commit(lambda: publish_mail(mail_id))
