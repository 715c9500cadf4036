"""One's own leave, and the words that a list and a case have for it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from approvals.models import Decision, Delegation
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage
from tests.approvals.views.browsing import Reader, reader
from tests.factories import Somebody

V = Decision.Verdict
HOSTILE = "<script>alert(1)</script>"


def day(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).date().isoformat()


def typed(instead: Somebody, **said: str) -> dict[str, str]:
    days = {"first_day": day(0), "last_day": day(5)}
    return {"act": "away", "delegate": str(instead.id), **days, **said}


def of(stage: Stage) -> list[Delegation]:
    with tenant_transaction(stage.tenant_id):
        return list(Delegation.objects.filter(ended_at=None))


def view(who: Reader, path: str = "leave") -> Any:
    response = who.get(path)
    assert response.status_code == 200
    return response.context["leave"]


def test_a_person_names_changes_and_ends(stage: Stage) -> None:
    bea, carl, bob = stage.reviewer("Bea"), stage.reviewer("Carl"), reader(stage)
    assert bob.post("leave", typed(bea, note=HOSTILE)).status_code == 303
    page = bob.get("leave").content.decode()
    assert HOSTILE not in page
    (row,) = view(bob).rows
    assert (row.instead, row.begun, row.note) == ("Bea", True, HOSTILE)
    (theirs,) = view(reader(stage, bea)).others
    assert theirs.away == "Bob"
    (made,) = of(stage)
    changed = {**typed(carl, queues=str(stage.queue.id)), "act": "change_away"}
    bob.post("leave", {**changed, "delegation": str(made.id)})
    (row,) = view(bob).rows
    assert (row.instead, row.queues) == ("Carl", ("Payments",))
    bob.post("leave", {"act": "end_away", "delegation": row.id})
    assert of(stage) == []


def test_what_is_wrong_stands_beside_its_field_with_what_was_typed(
    stage: Stage,
) -> None:
    bea, bob, gone = stage.reviewer("Bea"), reader(stage), day(-2)
    response = bob.post("leave", typed(bea, last_day=gone, note="Sea."))
    form = response.context["leave"].form
    assert response.status_code == 422
    assert list(form.errors) == ["last_day"]
    assert (form.note, form.last_day) == ("Sea.", gone)
    empty = bob.post("leave", {**typed(bea), "delegate": "", "last_day": "soon"})
    assert set(empty.context["leave"].form.errors) == {"delegate", "last_day"}
    assert bob.post("leave", {**typed(bea), "act": "nothing"}).status_code == 404
    assert of(stage) == []


def test_an_administrator_does_it_on_the_persons_page(stage: Stage) -> None:
    bea, alice = stage.reviewer("Bea"), reader(stage, stage.house.alice)
    path = f"people/{stage.bob.id}"
    assert alice.post(path, typed(bea)).status_code == 303
    (row,) = view(alice, path).rows
    assert row.away == "Bob"
    wrong = alice.post(path, typed(bea, last_day=day(-2)))
    assert list(wrong.context["leave"].form.errors) == ["last_day"]
    alice.post(path, {"act": "end_away", "delegation": row.id})
    assert of(stage) == []
    assert reader(stage, bea).post(path, typed(bea)).status_code == 403


def test_nobody_ends_anothers(stage: Stage) -> None:
    bea, carl = stage.reviewer("Bea"), stage.reviewer("Carl")
    made = stage.on_leave(stage.bob, bea)
    said = {"act": "end_away", "delegation": str(made.id)}
    assert reader(stage, carl).post("leave", said).status_code == 404
    assert len(of(stage)) == 1


def test_the_list_the_case_and_the_record_say_on_whose_behalf(stage: Stage) -> None:
    """By default it is one's own answer, unless the other has said they are on it."""
    anna, bea = stage.reviewer("Anna"), stage.reviewer("Bea")
    request = stage.ask()
    own = reader(stage, bea)
    assert own.queue("?view=mine").rows[0].behalf == ()
    stage.on_leave(anna, bea)
    assert own.queue("?view=mine").rows[0].behalf == ("Anna",)
    assert "For Anna too" in own.get("queue").content.decode()
    case = reader(stage).case(request.id)
    assert "Anna (on leave; Bea stands in)" in case.needs[0].note
    assert case.desk is not None
    assert case.desk.behalf == ()
    desk = own.case(request.id).desk
    assert desk is not None
    assert [(one.text, one.chosen) for one in desk.behalf] == [
        ("As myself", True),
        ("For Anna", False),
    ]
    own.decide(request.id, "approve", on_behalf_of=str(anna.id))
    case = own.case(request.id)
    assert case.needs[0].turned_by == "Bea for Anna"
    assert case.decisions[0].by == "Bea for Anna"
    assert any(one.text == "Bea for Anna approved" for one in case.timeline)
    alice = reader(stage, stage.house.alice)
    for path in ("audit", f"runs/{request.run_id}", f"runs/{request.run_id}/trace"):
        assert "Bea for Anna" in alice.get(path).content.decode(), path
    row = alice.queue("?view=decided").rows[0]
    assert "by Bea for Anna" in row.outcome


def test_what_anna_has_said_she_is_on_is_answered_for_her(stage: Stage) -> None:
    anna, bea = stage.reviewer("Anna"), stage.reviewer("Bea")
    request = stage.ask()
    reader(stage, anna).post(f"requests/{request.id}/take", {"act": "take"})
    stage.on_leave(anna, bea)
    desk = reader(stage, bea).case(request.id).desk
    assert desk is not None
    assert [one.chosen for one in desk.behalf] == [False, True]


def test_whoever_was_answered_for_is_told_so(stage: Stage) -> None:
    anna, bea = stage.reviewer("Anna"), stage.reviewer("Bea")
    stage.policy(rules=[{"approvals": 2}])
    request = stage.ask()
    stage.on_leave(anna, bea)
    stage.answer(request, by=bea, on_behalf_of=anna.id)
    theirs = reader(stage, anna)
    assert theirs.queue("?view=mine").rows == ()
    desk = theirs.case(request.id).desk
    assert desk is not None
    assert "answered" in desk.closed
    assert theirs.decide(request.id, "approve").status_code == 409
