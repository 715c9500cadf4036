"""Whom an event concerns, what they are mailed of it, and what they are not."""

from collections.abc import Iterator
from email.message import EmailMessage
from typing import Any

import pytest
from django.conf import LazySettings

from approvals.models import Decision, NoticeSettings, Request
from approvals.notices import NOTICES, tell_people
from approvals.resume.purging import purge_tenant
from approvals.services.erasure import erase_session
from approvals.services.notifying import Wish, save_notice_settings
from approvals.services.queues import take_right
from approvals.services.remarks import comment
from approvals.services.taking_back import take_back
from audit.append import Actor
from audit.models import Entry
from kernel.clock import database_now
from kernel.ids import new_id
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.checks import Operator
from tenants.models import Mail
from tenants.services import deactivate_member
from tenants.services.mailing import send_mail
from tenants.verbs import Verb, perform
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import reader
from tests.examples.waiting import wait_until
from tests.factories import Somebody
from tests.tenants.post_office import PostOffice, html_of, text_of

V = Decision.Verdict
NOW = dict.fromkeys(NOTICES, "at_once")
HOSTILE = "\u202egnp <b>x</b> https://evil.example"


@pytest.fixture
def office(settings: LazySettings) -> Iterator[PostOffice]:
    with PostOffice() as one:
        settings.MAILS, settings.MAILERS = True, one.mailers
        yield one


@pytest.fixture
def stage(office: PostOffice) -> Stage:
    made = fresh_stage()
    for who in (made.bob, made.house.alice):
        wants(who)
    return made


def wants(who: Somebody, **other: Any) -> None:
    wish = {**NOW, "zone": "UTC", "daily_at": "08:00", **other}
    save_notice_settings(who.person, Wish(**wish))


def owed(stage: Stage, who: Somebody | None = None) -> list[str]:
    """What is to be mailed, to one person or to all."""
    with tenant_transaction(stage.tenant_id):
        rows = Mail.objects.filter(due_at__isnull=False).order_by("id")
        rows = rows.filter(member_id=who.id) if who else rows
        return list(rows.values_list("kind", flat=True))


def post(stage: Stage, who: Somebody) -> list[str]:
    """Send what is due to them; what came of each letter."""
    with tenant_transaction(stage.tenant_id):
        rows = Mail.objects.filter(member_id=who.id, due_at__lte=database_now())
        ids = list(rows.order_by("id").values_list("id", flat=True))
    return [said for one in ids if (said := send_mail(one))]


def letters(office: PostOffice, who: Somebody) -> list[EmailMessage]:
    return office.to(who.user.email)


def noted(stage: Stage, kind: str, request: Request, **data: Any) -> None:
    """Something that another verb records."""

    def work(verb: Verb) -> None:
        actor, subject = Actor("system", "keyturn"), ("request", request.id)
        verb.record(kind, actor=actor, subject=subject, data=data)

    perform(stage.tenant_id, work)


def test_a_request_is_mailed_to_whose_key_it_needs(
    stage: Stage, office: PostOffice
) -> None:
    request = stage.ask()
    assert post(stage, stage.bob) == ["sent"]
    (letter,) = letters(office, stage.bob)
    assert f"/queue/{request.id}" in text_of(letter)
    assert f"/queue/{request.id}" in html_of(letter)
    # Alice answers for the agent: it is not hers to decide.
    assert post(stage, stage.house.alice) == ["dropped"]
    assert letters(office, stage.house.alice) == []


def test_a_link_opens_the_case_and_decides_nothing(
    stage: Stage, office: PostOffice
) -> None:
    request = stage.ask()
    post(stage, stage.bob)
    href = f"queue/{request.id}"
    assert href in text_of(letters(office, stage.bob)[0])
    assert reader(stage, stage.bob).get(href).status_code == 200
    assert stage.fresh(request).state == "pending"


def test_of_what_was_answered_as_it_was_asked_nobody_is_asked(stage: Stage) -> None:
    stage.let_through("small")
    assert stage.ask().state == "approved"
    assert owed(stage, stage.bob) == []


def test_whom_a_request_is_passed_on_to_is_told_though_no_key_is_theirs(
    stage: Stage, office: PostOffice
) -> None:
    alice = stage.house.alice  # who answers for the agent
    wants(alice, outcome="never")
    *waiting, ended = [stage.ask() for _ in range(3)]
    for one in (*waiting, ended):
        noted(stage, "request.escalated", one, members=[str(alice.id)])
    stage.answer(ended)
    post(stage, alice)
    (letter,) = letters(office, alice)
    assert letter["Subject"].endswith(
        "News of 2 requests"
    )  # none of them hers to decide
    assert "passed on to you" in text_of(letter)
    assert all(str(one.id) in text_of(letter) for one in waiting)
    assert str(ended.id) not in text_of(letter)  # it is not open any more


def test_what_was_decided_meanwhile_is_not_mailed(
    stage: Stage, office: PostOffice
) -> None:
    carol = stage.reviewer("Carol")
    wants(carol)
    request = stage.ask()
    stage.answer(request)
    assert post(stage, carol) == ["dropped"]
    assert letters(office, carol) == []


def test_who_has_answered_is_not_asked_until_they_take_it_back(
    stage: Stage, office: PostOffice
) -> None:
    stage.reviewer("Carol")
    stage.policy(rules=[{"approvals": 2}])
    request, bob = stage.ask(), stage.bob
    stage.answer(request)
    assert post(stage, bob) == ["dropped"]
    digest = stage.digest(request)
    take_back(bob.person, request_id=request.id, digest=digest)
    noted(stage, "request.reminded", request, members=[str(bob.id)])
    assert post(stage, bob) == ["sent"]
    assert len(letters(office, bob)) == 1


def test_whose_key_was_taken_back_is_not_told_that_it_came_to_nothing(
    stage: Stage,
) -> None:
    carol, dora = stage.reviewer("Carol"), stage.reviewer("Dora")
    wants(carol)
    wants(dora)
    stage.policy(rules=[{"approvals": 2}])
    request = stage.ask()
    digest = stage.digest(request)
    for one in (carol, dora):
        stage.answer(request, one)
        if one is carol:
            take_back(carol.person, request_id=request.id, digest=digest)
    noted(stage, "verification.refused", request, **{"class": "stop"})
    assert owed(stage, carol) == ["waiting"]
    assert owed(stage, dora) == ["waiting", "outcome"]


@pytest.mark.parametrize("how", ["no rights", "no queue"])
def test_who_may_not_see_it_any_more_is_told_nothing(
    stage: Stage, office: PostOffice, how: str
) -> None:
    stage.ask()
    here = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    if how == "no rights":
        deactivate_member(**here, member_id=stage.bob.id)
    else:
        for right in ("view", "decide"):
            take_right(
                **here,
                queue_id=stage.queue.id,
                right=right,
                group_id=stage.house.reviewers.id,
            )
    assert post(stage, stage.bob) == ["dropped"]
    assert letters(office, stage.bob) == []


def test_many_are_one_letter(stage: Stage, office: PostOffice) -> None:
    requests = [stage.ask() for _ in range(3)]
    post(stage, stage.bob)
    (letter,) = letters(office, stage.bob)
    assert "3 requests, 3 of them for you to decide" in letter["Subject"]
    assert all(str(one.id) in text_of(letter) for one in requests)


def test_letters_about_one_request_are_one_thread(
    stage: Stage, office: PostOffice
) -> None:
    request = stage.ask()
    post(stage, stage.bob)
    noted(stage, "request.reminded", request, members=[str(stage.bob.id)])
    post(stage, stage.bob)
    first, second = letters(office, stage.bob)
    assert second["References"] == second["In-Reply-To"] == first["Message-ID"]
    assert second["Message-ID"] != first["Message-ID"]
    assert first["Subject"] == second["Subject"]
    assert "still waits" in text_of(second)


def test_a_title_is_inert(stage: Stage, office: PostOffice) -> None:
    stage.ask(arguments={"payee": HOSTILE, "amount": "1.00"})
    post(stage, stage.bob)
    (letter,) = letters(office, stage.bob)
    for part in (text_of(letter), html_of(letter), letter["Subject"]):
        assert "https://evil" not in part
        assert "\u202e" not in part
        assert "evil[.]example" in part
    assert "<b>x</b>" not in html_of(letter)


@pytest.mark.parametrize(
    ("kind", "data", "told"),
    [
        ("request.assigned", {"to": "bob"}, "asked"),
        ("request.reminded", {"members": ["bob"]}, "reminder"),
        ("request.escalated", {"members": ["bob"]}, "escalation"),
    ],
)
def test_whom_an_entry_names_is_told(
    stage: Stage, kind: str, data: dict[str, Any], told: str
) -> None:
    bob = str(stage.bob.id)
    named = {k: bob if isinstance(v, str) else [bob] for k, v in data.items()}
    request = stage.ask()
    noted(stage, kind, request, **named)
    assert owed(stage, stage.bob) == ["waiting", told]


def test_broken_glass_is_told_to_who_oversees(stage: Stage) -> None:
    request = stage.ask()
    noted(stage, "approval.broke_glass", request, member=str(stage.bob.id))
    assert "glass" in owed(stage, stage.house.alice)
    assert "glass" not in owed(stage, stage.bob)


def test_what_is_not_known_concerns_nobody(stage: Stage) -> None:
    request = stage.ask()
    before = owed(stage)
    noted(stage, "request.sung", request, members=[str(stage.bob.id)])
    noted(stage, "request.reminded", request, members=[str(new_id())])
    assert owed(stage) == before


def test_the_outcome_is_told_to_who_answers_for_the_agent(
    stage: Stage, office: PostOffice
) -> None:
    request = stage.answer(stage.ask(), verdict=V.REJECT, reason="No.")
    assert owed(stage, stage.house.alice) == ["waiting", "outcome"]
    post(stage, stage.house.alice)
    (letter,) = letters(office, stage.house.alice)
    assert "Rejected" in text_of(letter)
    assert str(request.id) in text_of(letter)


def test_whose_name_stands_behind_an_at_is_told(stage: Stage) -> None:
    request, carol = stage.ask(), stage.reviewer("Carol")
    comment(stage.bob.person, request_id=request.id, text="@carol, look. bob@x.y")
    assert owed(stage, carol) == ["asked"]
    assert "asked" not in owed(stage, stage.bob)


def test_everybody_says_what_they_want(stage: Stage) -> None:
    wants(stage.bob, waiting="never")
    stage.ask()
    assert owed(stage, stage.bob) == []
    wants(stage.bob, waiting="daily")
    stage.ask()
    assert owed(stage, stage.bob) == ["waiting"]
    assert post(stage, stage.bob) == []


def test_where_no_mail_is_sent_nothing_is_written(
    stage: Stage, settings: LazySettings
) -> None:
    settings.MAILS = False
    stage.ask()
    assert owed(stage) == []


def test_it_is_written_in_the_transaction_that_it_tells_of(stage: Stage) -> None:
    request = stage.ask()
    before = owed(stage)

    def work(verb: Verb) -> None:
        actor, subject = Actor("system", "keyturn"), ("request", request.id)
        verb.record("request.revised", actor=actor, subject=subject, data={})
        tell_people(verb)
        raise Undone

    with pytest.raises(Undone):
        perform(stage.tenant_id, work)
    assert owed(stage) == before


class Undone(Exception):
    """Nothing of the transaction stays."""


def test_mail_goes_with_its_session(stage: Stage) -> None:
    request, other = stage.ask(), stage.ask()
    here = {"tenant_id": stage.tenant_id, "by": Operator.CONSOLE}
    erase_session(**here, session_id=request.session_id)
    assert post(stage, stage.bob) == ["sent"]  # of the other one

    def left() -> set[Any]:
        with tenant_transaction(stage.tenant_id):
            return set(Mail.objects.values_list("about", flat=True))

    # The installation's worker may be at it, too.
    wait_until(lambda: purge_tenant(stage.tenant_id) and left() == {other.id})


def test_the_page_keeps_what_is_said_and_says_what_is_wrong(stage: Stage) -> None:
    bob = reader(stage, stage.bob)
    said = {**NOW, "zone": "Europe/Berlin", "daily_at": "09:15"}
    quiet = {"quiet_from": "22:00", "quiet_until": "06:30"}
    answer = bob.post("notifications", {**said, **quiet, "outcome": "never"})
    assert "Kept" in answer.content.decode()
    shown = bob.get("notifications").context["notifications"].typed
    assert shown == {**said, **quiet, "outcome": "never"}
    for wrong, field in (
        ({"zone": "Mars/Olympus"}, "zone"),
        ({"zone": "../../etc/passwd"}, "zone"),
        ({"quiet_until": ""}, "quiet_until"),
        ({"quiet_until": "22:00"}, "quiet_until"),
        ({"daily_at": "noon"}, "daily_at"),
        ({"waiting": "sometimes"}, "waiting"),
    ):
        answer = bob.post("notifications", {**said, **quiet, **wrong})
        view = answer.context["notifications"]
        assert (answer.status_code, list(view.errors)) == (422, [field])
        described = f'aria-invalid="true" aria-describedby="{field}-error"'
        assert answer.content.decode().count(described) == 1
        assert f'id="{field}-error"' in answer.content.decode()
    with tenant_transaction(stage.tenant_id):
        assert NoticeSettings.objects.get(member_id=stage.bob.id).zone == said["zone"]
        assert Entry.objects.filter(kind="notifications.changed").exists()


def test_who_has_no_rights_any_more_sets_nothing(stage: Stage) -> None:
    here = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    deactivate_member(**here, member_id=stage.bob.id)
    with pytest.raises(Problem, match="not_permitted"):
        wants(stage.bob)
