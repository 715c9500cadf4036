"""Letters leave once, after what they tell of is certain; what cannot leave is seen."""

import smtplib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings

from audit.models import Entry
from kernel.clock import database_now
from kernel.ids import new_id
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from kernel.sealing import Unreadable
from tenants import letters
from tenants.letters import Letter, inert
from tenants.models import Mail, Role
from tenants.services import invite_member, mailing
from tenants.services.mailing import CLAIM, PAUSES, attempt, resend_mail, send_mail
from tenants.vault import DATA_ERASED, DATA_KEY_ELSEWHERE, destroy
from tests.concurrency import together
from tests.factories import House, unique
from tests.tenants.post_office import PostOffice, html_of, text_of

State = Mail.State


@pytest.fixture
def office(settings: LazySettings) -> Iterator[PostOffice]:
    with PostOffice() as one:
        settings.MAILS, settings.MAILERS = True, one.mailers
        yield one


def owed(house: House, **given: Any) -> Mail:
    """A letter that is due now: that of an invitation."""
    email = f"new-{unique()}@example.test"
    asked = {"role": Role.REVIEWER, "by": house.alice.id, "email": email, **given}
    one = invite_member(tenant_id=house.id, **asked).invitation
    with tenant_transaction(house.id):
        return Mail.objects.get(about=one.id)


def now(mail: Mail) -> Mail:
    with tenant_transaction(mail.tenant_id):
        return Mail.objects.get(id=mail.id)


def set_row(mail: Mail, **values: Any) -> None:
    with tenant_transaction(mail.tenant_id):
        Mail.objects.filter(id=mail.id).update(**values)


def make_due(mail: Mail) -> None:
    with tenant_transaction(mail.tenant_id):
        Mail.objects.filter(id=mail.id).update(due_at=database_now())


def test_it_is_text_and_html_of_the_same_and_loads_nothing(
    house: House, office: PostOffice
) -> None:
    assert send_mail(owed(house).id) == "sent"
    (letter,) = office.letters
    html = html_of(letter)
    assert "You are invited" in text_of(letter)
    assert "You are invited" in html
    assert not [one for one in ("<img", "src=", "url(", "@import") if one in html]
    assert letter["Auto-Submitted"] == "auto-generated"


def test_of_workers_at_once_one_sends(house: House, office: PostOffice) -> None:
    mail = owed(house)
    answers = together(*[lambda: send_mail(mail.id)] * 4)
    assert sorted(map(str, answers)) == ["", "", "", "sent"]
    assert len(office.letters) == 1


def test_a_worker_that_dies_leaves_it_to_the_next(
    house: House, office: PostOffice
) -> None:
    mail = owed(house)
    with tenant_transaction(house.id):
        taken = database_now() + CLAIM
    set_row(mail, due_at=taken, attempts=1)
    assert send_mail(mail.id) == ""
    make_due(mail)
    assert send_mail(mail.id) == "sent"


def test_who_lost_the_claim_says_nothing_of_the_letter(
    house: House, office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it left or not: by then another worker has it."""
    for answer in ("250 OK", "550 no such person"):
        office.answer, mail = answer, owed(house)
        with tenant_transaction(house.id):
            anothers = database_now() + 2 * CLAIM

        def slowly(letter: Letter, mail: Mail = mail, due: Any = anothers) -> None:
            set_row(mail, due_at=due, attempts=2)
            letters.dispatch(letter)

        monkeypatch.setattr(mailing, "dispatch", slowly)
        assert send_mail(mail.id) == ""
        after = now(mail)
        assert (after.state, after.code, after.attempts) == (State.QUEUED, "", 2)
        assert after.due_at == anothers


LETTER = Letter(
    to="nia@example.test",
    subject="s",
    headline="h",
    sentences=(),
    items=(),
    why="w",
    name="n",
)


def told_to_bob(
    house: House, monkeypatch: pytest.MonkeyPatch, write: Callable[[list[Mail]], Any]
) -> list[Mail]:
    """Two mails that are one letter, and how it is written."""
    monkeypatch.setitem(letters._writers, "test", write)
    with tenant_transaction(house.id):
        due = {"due_at": database_now(), "member": house.bob.member}
        rows = [
            Mail(tenant_id=house.id, kind="test", about=id, event=id, **due)
            for id in (new_id(), new_id())
        ]
        return Mail.objects.bulk_create(rows)


def test_each_mail_of_a_letter_has_its_own_tries(
    house: House, office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.answer = "451 later"
    old, fresh = told_to_bob(house, monkeypatch, lambda _: LETTER)
    set_row(old, attempts=len(PAUSES))
    assert send_mail(old.id) == "smtp_451"
    assert (now(old).state, now(old).due_at) == (State.DEAD, None)
    after = now(fresh)
    assert (after.state, after.attempts, after.code) == (State.QUEUED, 1, "smtp_451")
    assert after.due_at is not None
    assert after.due_at - after.created_at < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("error", "state", "code"),
    [
        (DATA_ERASED(), State.DROPPED, "data_erased"),
        (Unreadable("moved"), State.DROPPED, "unreadable"),
        (DATA_KEY_ELSEWHERE(), State.QUEUED, "data_key_elsewhere"),
        (ValueError("no header"), State.DEAD, "address_refused"),
    ],
)
def test_only_what_nobody_can_read_any_more_is_dropped(
    house: House,
    office: PostOffice,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    state: str,
    code: str,
) -> None:
    def write(_: list[Mail]) -> None:
        raise error

    for mail in told_to_bob(house, monkeypatch, write):
        send_mail(mail.id)
        assert (now(mail).state, now(mail).code) == (state, code)
    assert office.tried == 0


def test_what_was_erased_meanwhile_is_not_mailed(
    house: House, office: PostOffice
) -> None:
    mail = owed(house)
    with tenant_transaction(house.id):
        destroy(house.id)
    assert send_mail(mail.id) == "dropped"
    assert now(mail).code == "data_erased"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (smtplib.SMTPConnectError(554, b"not you"), ("smtp_554", False)),
        (smtplib.SMTPSenderRefused(550, b"not you", "us"), ("smtp_550", False)),
        (smtplib.SMTPDataError(550, b"not this"), ("smtp_550", True)),
    ],
)
def test_what_a_server_says_of_us_gives_no_letter_up(
    error: Exception, said: tuple[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Letter) -> None:
        raise error

    monkeypatch.setattr(mailing, "dispatch", fail)
    assert attempt(LETTER) == said


def test_an_address_that_no_header_can_hold_is_given_up(office: PostOffice) -> None:
    assert attempt(replace(LETTER, to="nia\n@example.test")) == (
        "address_refused",
        True,
    )
    assert office.tried == 0


@pytest.mark.parametrize(
    ("answer", "code", "state"),
    [
        ("451 later", "smtp_451", State.QUEUED),
        ("550 no such person", "smtp_550", State.DEAD),
    ],
)
def test_a_refusal_is_tried_again_unless_it_is_for_good(
    house: House, office: PostOffice, answer: str, code: str, state: str
) -> None:
    office.answer = answer
    mail = owed(house)
    assert send_mail(mail.id) == code
    after = now(mail)
    assert (after.state, after.code, after.attempts) == (state, code, 1)
    assert send_mail(mail.id) == ""  # not before its time


def test_a_server_that_is_away_costs_nothing(house: House, office: PostOffice) -> None:
    mail = owed(house)
    office.close()
    assert send_mail(mail.id) == "ConnectionRefusedError"
    after = now(mail)
    assert after.due_at is not None
    wait = after.due_at - mail.created_at
    assert timedelta(seconds=PAUSES[0] * 0.7) < wait < timedelta(minutes=1)


def test_after_the_last_try_it_is_given_up_on_the_record(
    house: House, office: PostOffice
) -> None:
    office.answer = "451 later"
    mail = owed(house)
    set_row(mail, attempts=len(PAUSES))
    send_mail(mail.id)
    assert now(mail).state == State.DEAD
    with tenant_transaction(house.id):
        assert Entry.objects.filter(kind="mail.given_up", subject_id=mail.id).exists()
    office.answer = "250 OK"
    again = {"tenant_id": house.id, "by": house.alice.id, "mail_id": mail.id}
    resend_mail(**again)
    with pytest.raises(Problem, match="mail_still_queued"):
        resend_mail(**again)
    assert send_mail(mail.id) == "sent"


def test_who_does_not_administer_sends_nothing_again(
    house: House, office: PostOffice
) -> None:
    mail = owed(house)
    send_mail(mail.id)
    for by, code in ((house.bob.id, "not_permitted"), (house.charlie.id, "not_found")):
        with pytest.raises(Problem, match=code):
            resend_mail(tenant_id=house.id, by=by, mail_id=mail.id)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Pay INV-1042 at 12:30, €1,240.00", "Pay INV-1042 at 12:30, €1,240.00"),
        ("https://evil.example/x", "https[:]//evil[.]example/x"),
        ("mail boss@corp.example", "mail boss[@]corp[.]example"),
        ("javascript:alert(1)", "javascript[:]alert(1)"),
        ("www.evil.example", "www[.]evil[.]example"),
        ("a\u202egnp.exe", "a[U+202E]gnp[.]exe"),
        ("two\nlines\tand  more", "two lines and more"),
        ("z\u200b\u200bz", "z[U+200B, 2 times]z"),
    ],
)
def test_strangers_words_lead_nowhere_and_hide_nothing(said: str, shown: str) -> None:
    assert inert(said) == shown


def test_what_people_call_themselves_is_inert(house: House, office: PostOffice) -> None:
    from tenants.models import Tenant

    hostile = "<script>x</script> http://evil.example"
    with tenant_transaction(house.id):
        Tenant.objects.filter(id=house.id).update(name=hostile)
    send_mail(owed(house).id)
    (letter,) = office.letters
    for part in (text_of(letter), html_of(letter), letter["Subject"]):
        assert "http://evil" not in part
    assert "<script>" not in html_of(letter)
