"""Letters leave once, after what they tell of is certain; what cannot leave is seen."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings

from audit.models import Entry
from kernel.clock import database_now
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.letters import inert
from tenants.models import Mail, Role
from tenants.services import invite_member
from tenants.services.mailing import CLAIM, PAUSES, resend_mail, send_mail
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
