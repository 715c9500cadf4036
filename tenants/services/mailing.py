"""Mail: written down with what it tells of, and sent afterwards by a worker.

A letter is claimed by moving the time at which it is due, so that whoever is killed with
it leaves it to the next. That time is the claim's fence as well: who finds another one
there has lost the letter, and says nothing of it any more. Everything that is due to the same person and can be said
together is one letter. Nothing is sent inside a transaction.
"""

import smtplib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
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
from kernel.sealing import Unreadable
from kernel.update import update_exactly_one
from tenants.checks import Acting, permitted
from tenants.letters import Letter, dispatch, write
from tenants.models import Mail
from tenants.publishing import publish_mail
from tenants.services.change import ALREADY_SO, own
from tenants.vault import DATA_ERASED
from tenants.verbs import Gate, Verb, perform

State = Mail.State
CLAIM: Final = timedelta(minutes=5)  # longer than a slow server takes one letter
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
# What a server says of us, before it has heard for whom the letter is.
OURS: Final = (
    smtplib.SMTPAuthenticationError,
    smtplib.SMTPConnectError,
    smtplib.SMTPHeloError,
    smtplib.SMTPSenderRefused,
)
ADDRESS_REFUSED: Final = "address_refused"
UNREADABLE: Final = "unreadable"
ERASED: Final = frozenset({"", DATA_ERASED.code, UNREADABLE})
"""Why there is nothing to say any more, for good; else it is tried again."""
MAIL_UNFINISHED: Final = declare(
    "mail_still_queued", status=409, title="This letter is on its way already"
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """Mails that this worker, and `until` then no other, sends as one letter.

    `attempts` by mail, this one counted. `unwritten` says why there is no letter where
    something went wrong; what is erased or opens no more never will be one.
    """

    tenant_id: UUID
    attempts: Mapping[UUID, int]
    until: datetime
    letter: Letter | None
    unwritten: str = ""


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
    code, final = attempt(claimed.letter) if claimed.letter else _unsaid(claimed)
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
    except ValueError:  # such as an address that no header can hold
        return ADDRESS_REFUSED, True
    return "", False


def _unsaid(claimed: Claimed) -> tuple[str, bool]:
    """As of an attempt: what could not be written may be another time."""
    if claimed.unwritten in ERASED:
        return "", False
    return claimed.unwritten, claimed.unwritten == ADDRESS_REFUSED


def _is_ours(error: smtplib.SMTPResponseException) -> bool:
    """An operator mends a password, or a sender; no letter is given up for it."""
    return isinstance(error, OURS)


def resend_mail(*, tenant_id: UUID, by: Acting, mail_id: UUID) -> Mail:
    """Send what was given up again, as if it were the first time.

    Raises `mail_still_queued` (409), and `already_so` (409) for what was sent: nobody is
    written to again and again.
    """

    def work(verb: Verb) -> Mail:
        actor = permitted(tenant_id, by)
        mail = own(Mail, tenant_id, mail_id)
        if mail.state == State.QUEUED:
            raise MAIL_UNFINISHED()
        if mail.state != State.DEAD:
            raise ALREADY_SO("This letter was sent, or had nothing to say any more.")
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
    letter, unwritten = _written(mails)
    return Claimed(
        tenant_id=verb.tenant_id,
        attempts={one.id: one.attempts + 1 for one in mails},
        until=now + CLAIM,
        letter=letter,
        unwritten=unwritten,
    )


def _together(due: QuerySet[Mail], first: Mail) -> list[Mail]:
    """What the same person is owed now; an invitation stands alone."""
    if first.member_id is None:
        return [first]
    rows = due.filter(member_id=first.member_id).exclude(id=first.id)
    return [first, *rows.order_by("due_at", "id")[: MOST_TOGETHER - 1]]


def _written(mails: list[Mail]) -> tuple[Letter | None, str]:
    """The letter, if there is anything to say; else what went wrong, if anything did."""
    try:
        return write(mails), ""
    except Problem as problem:
        code = problem.code
    except Unreadable:
        code = UNREADABLE
    except ValueError:  # no later attempt would find other words
        log.exception("mail_not_composed", mail=str(mails[0].id))
        return None, ADDRESS_REFUSED
    log.warning("mail_not_written", mail=str(mails[0].id), code=code)
    return None, code


def _settle(verb: Verb, claimed: Claimed, code: str, final: bool) -> str:
    """Write down what came of it; nothing, and "", where the claim is another's by now."""
    mine = _still_mine(claimed)
    if not mine:
        log.warning("mail_claim_lost", mail=str(next(iter(claimed.attempts))))
        return ""
    if not code:
        return _end(verb, claimed, mine)
    spent = [id for id in mine if final or claimed.attempts[id] > len(PAUSES)]
    _give_up(verb, spent, code)
    _put_off([id for id in mine if id not in spent], claimed, code)
    return code


def _still_mine(claimed: Claimed) -> list[UUID]:
    rows = Mail.objects.select_for_update(no_key=True).order_by("id")
    rows = rows.filter(
        id__in=claimed.attempts, state=State.QUEUED, due_at=claimed.until
    )
    return list(rows.values_list("id", flat=True))


def _end(verb: Verb, claimed: Claimed, mine: list[UUID]) -> str:
    state = State.SENT if claimed.letter else State.DROPPED
    ended = {"due_at": None, "ended_at": ClockTimestamp()}
    rows = Mail.objects.filter(id__in=mine)
    rows.update(state=state, code=claimed.unwritten, **ended)
    _forget(verb.tenant_id)
    return state.value


def _give_up(verb: Verb, spent: list[UUID], code: str) -> None:
    rows = Mail.objects.filter(id__in=spent)
    rows.update(state=State.DEAD, code=code, due_at=None, ended_at=ClockTimestamp())
    for id in spent:
        subject = ("mail", id)
        verb.record("mail.given_up", actor=SYSTEM, subject=subject, data={"code": code})


def _put_off(left: list[UUID], claimed: Claimed, code: str) -> None:
    """Until the same moment, so that they stay one letter."""
    pause = pause_after(max((claimed.attempts[id] for id in left), default=1))
    if pause is not None:
        rows = Mail.objects.filter(id__in=left)
        rows.update(code=code, due_at=database_now() + pause)


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
