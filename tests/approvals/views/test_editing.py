"""Editing in the browser: typed values, a comparison first, and what it costs."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from approvals.models import Decision, Request
from approvals.presentation.moved import Moved
from kernel.problems import Problem
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.refusals import refused

V = Decision.Verdict
AS_IT_IS = {"/payee": "Halden Paper Supply", "/amount": "1240.00", "/urgent": ""}


def compare(bob: Reader, request: Request, **changed: str) -> Any:
    """The first step: post the controls."""
    form = AS_IT_IS | {f"/{name}": text for name, text in changed.items()}
    digest = bob.case(request.id).exact.digest
    said = {"digest": digest, "reason": "Less.", **form}
    return bob.post(f"requests/{request.id}/edit", said)


def keep(bob: Reader, response: Any, **said: str) -> Any:
    """The second step: post what the comparison page holds."""
    edit = response.context["edit"]
    form = {
        "verdict": "edit",
        "digest": edit.digest,
        "reason": edit.reason,
        "arguments": edit.arguments_text,
    }
    return bob.post(edit.decide_href.removeprefix(f"{bob.home}/"), form | said)


def test_each_value_has_a_control(stage: Stage) -> None:
    edit = reader(stage).get(f"requests/{stage.ask().id}/edit").context["edit"]
    assert {one.pointer: one.text for one in edit.controls} == AS_IT_IS


def test_the_comparison_comes_before_anything_is_recorded(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    response = compare(bob, request, amount="1000.00")
    edit = response.context["edit"]
    assert response.status_code == 200
    assert [(one.pointer, one.after) for one in edit.differences] == [
        ("/amount", '"1000.00"')
    ]
    assert stage.fresh(request).revision == 1


def test_what_is_kept_becomes_the_next_revision(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    response = keep(bob, compare(bob, request, amount="1000.00", urgent="true"))
    assert response.status_code == 303
    case = bob.case(request.id)
    shown = {node.name: node.text for node in case.exact.arguments.children}
    assert (case.revision, shown) == (
        2,
        {"payee": "Halden Paper Supply", "amount": "1000.00", "urgent": "true"},
    )
    assert case.desk.blocked["approve"]  # the editor turns no key here


def test_the_list_that_one_came_from_is_kept_to_the_end(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    query = "view=mine&risk=high"
    desk = bob.get(f"queue/{request.id}?{query}").context["case"].desk
    assert desk.edit_href.endswith(f"/edit?{query}")
    form = AS_IT_IS | {"/amount": "1000.00"}
    said = {"digest": desk.digest, "reason": "Less.", **form}
    compared = bob.post(f"requests/{request.id}/edit?{query}", said)
    edit = compared.context["edit"]
    assert edit.case_href.endswith(f"/queue/{request.id}?{query}")
    assert edit.href.endswith(f"/edit?{query}")
    kept = keep(bob, compared)
    assert kept.headers["Location"].endswith(f"/queue/{request.id}?{query}")


def test_typing_begins_in_the_first_value_or_in_the_first_that_is_wrong(
    stage: Stage,
) -> None:
    request, bob = stage.ask(), reader(stage)
    for response, place in (
        (bob.get(f"requests/{request.id}/edit"), "edit/amount"),
        (compare(bob, request, payee="x" * 201), "edit/payee"),
    ):
        html = response.content.decode()
        (field,) = re.findall(r"<[^<>]* autofocus[^<>]*>", html)
        assert f'id="{place}"' in field


def test_another_time_to_decide_is_said_before_and_after(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    stage.policy(decide_within=600)
    compared = compare(bob, request, amount="1000.00")
    before, after = request.due_at, datetime.now(UTC) + timedelta(minutes=10)
    told = compared.context["edit"].expiry
    assert told.before == before
    assert abs(told.after - after) < timedelta(minutes=1)
    assert "It then expires at" in compared.content.decode()
    keep(bob, compared)
    case = bob.case(request.id)
    assert case.changes[0].expiry == Moved(before, case.decide_by)
    page = bob.get(f"queue/{request.id}").content.decode()
    said = page[page.index("the time to decide began anew") :]
    assert [at in said[:600] for at in map(shown, (case.decide_by, before))] == [
        True
    ] * 2


def shown(at: datetime) -> str:
    return f'datetime="{at.isoformat()}"'


def test_a_value_that_does_not_fit_is_said_beside_its_control(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    response = compare(bob, request, amount="a lot")
    controls = {one.pointer: one for one in response.context["edit"].controls}
    assert response.status_code == 422
    assert (controls["/amount"].text, bool(controls["/amount"].error)) == (
        "a lot",
        True,
    )


LETTER = {
    "type": "object",
    "properties": {
        "body": {"type": "string", "maxLength": 4000},
        "count": {"type": "integer", "maximum": 500},
        "reply_by": {"type": "string", "format": "date"},
        "send_at": {"type": "string", "format": "date-time"},
        "to": {"type": "string", "format": "email"},
    },
}
SENT = {"body": "Hello\n\nBye", "count": 4, "reply_by": "2026-12-07", "to": "all"}
LETTER_FORM = {
    "/body": "Hello\r\n\r\nBye",
    "/count": "4",
    "/reply_by": "2026-12-07",
    "/send_at": "",
    "/to": "all",
}


@pytest.fixture
def letters() -> Stage:
    return fresh_stage(schema=LETTER)


def write(bob: Reader, request: Request, **changed: str) -> Any:
    form = LETTER_FORM | {f"/{name}": text for name, text in changed.items()}
    said = {"digest": bob.case(request.id).exact.digest, "reason": "Less.", **form}
    return bob.post(f"requests/{request.id}/edit", said)


def wrong(response: Any) -> dict[str, str]:
    return {one.pointer: one.error for one in response.context["edit"].controls}


@pytest.mark.parametrize(
    ("name", "text"),
    [("send_at", "1 January 2027 8:00"), ("reply_by", ""), ("to", "nobody at all")],
)
def test_what_is_typed_has_the_form_that_its_schema_names(
    letters: Stage, name: str, text: str
) -> None:
    request, bob = letters.ask(arguments=SENT), reader(letters)
    response = write(bob, request, **{name: text})
    assert response.status_code == 422
    assert wrong(response)[f"/{name}"].startswith("Write a")
    with refused("arguments_invalid", pointer=f"/arguments/{name}"):
        arguments = {**SENT, name: text}
        letters.answer(request, verdict=V.EDIT, arguments=arguments, reason="x")


def test_all_that_is_wrong_is_told_at_once(letters: Stage) -> None:
    """What could not be read, what the schema refuses, and forms: in the page's order."""
    request, bob = letters.ask(arguments=SENT), reader(letters)
    changed = {"send_at": "soon", "to": "nobody at all", "body": "x" * 4_001}
    response = write(bob, request, count="501", **changed)
    told = {pointer: said for pointer, said in wrong(response).items() if said}
    assert list(told) == ["/body", "/count", "/to", "/send_at"]
    assert told["/count"] == "Too large: at most 500."
    assert told["/to"].startswith("Write an e-mail address")
    assert "4 values cannot be kept like this." in response.content.decode()
    assert response.context["edit"].begin == "/body"
    misread = wrong(write(bob, request, count="about 400", **changed))
    assert {**told, "/count": "Write a whole number, like 12."} == {
        pointer: said for pointer, said in misread.items() if said
    }


def test_a_refused_edit_lists_all_that_is_wrong(letters: Stage) -> None:
    request = letters.ask(arguments=SENT)
    arguments = {**SENT, "count": 501, "to": "nobody at all"}
    with pytest.raises(Problem) as told:
        letters.answer(request, verdict=V.EDIT, arguments=arguments, reason="x")
    assert {one["pointer"]: one["code"] for one in told.value.document()["errors"]} == {
        "/arguments/count": "arguments_invalid",
        "/arguments/to": "arguments_invalid",
    }
    assert told.value.pointer == "/arguments/count"


def test_what_the_agent_wrote_oddly_may_stay(letters: Stage) -> None:
    request, bob = letters.ask(arguments=SENT), reader(letters)
    compared = write(bob, request, send_at="2027-01-01T08:00:00Z")
    assert compared.status_code == 200
    assert keep(bob, compared).status_code == 303
    assert letters.fresh(request).revision == 2


def test_a_time_says_how_it_is_written(letters: Stage) -> None:
    request, bob = letters.ask(arguments=SENT), reader(letters)
    for response in (
        bob.get(f"requests/{request.id}/edit"),
        write(bob, request, send_at="soon"),  # once, and not again as a hint
    ):
        page = response.content.decode()
        assert page.count("Write a date and time like 2026-12-01T09:30:00Z.") == 1


def test_a_time_says_so_where_it_may_also_be_nothing() -> None:
    at = {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}
    stage = fresh_stage(schema={"properties": {"at": at}})
    request = stage.ask(arguments={"at": "2027-01-01T08:00:00Z"})
    page = reader(stage).get(f"requests/{request.id}/edit").content.decode()
    assert page.count("Write a date and time like 2026-12-01T09:30:00Z.") == 1


def test_what_a_value_must_be_is_said_for_people(letters: Stage) -> None:
    request, bob = letters.ask(arguments=SENT), reader(letters)
    for text, sentence in (
        ("about 400", "Write a whole number, like 12."),
        ("1.5", "It must be a whole number, like 12."),
        ("501", "Too large: at most 500."),
    ):
        assert wrong(write(bob, request, count=text))["/count"] == sentence


def test_a_pattern_is_shown_as_code(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    page = compare(bob, request, amount="12").content.decode()
    assert "It must look like this: <code>^[0-9]+\\.[0-9]{2}$</code>" in page


def test_a_hint_that_says_what_is_wrong_stands_once() -> None:
    schema = {"properties": {"to": {"pattern": "^[A-Z]$", "description": "A\u202eB"}}}
    stage = fresh_stage(schema=schema)
    request, bob = stage.ask(arguments={"to": "A"}), reader(stage)
    digest = bob.case(request.id).exact.digest
    said = {"digest": digest, "/to": "b"}
    page = bob.post(f"requests/{request.id}/edit", said).content.decode()
    assert page.count("U+202E") == 1
    assert "\u202e" not in page


def test_an_untouched_text_is_not_marked_as_edited(letters: Stage) -> None:
    request, bob = letters.ask(arguments=SENT), reader(letters)
    response = write(bob, request, count="about 400")
    marked = [one for one in response.context["edit"].controls if one.edited]
    assert [one.pointer for one in marked] == ["/count"]


def test_a_reason_that_is_missing_is_said_beside_its_field() -> None:
    stage = fresh_stage()
    stage.policy(reason="always")
    request, bob = stage.ask(), reader(stage)
    response = keep(bob, compare(bob, request, amount="1000.00"), reason=" ")
    edit, html = response.context["edit"], response.content.decode()
    assert response.status_code == 422
    assert (list(edit.errors), edit.begin) == (["reason"], "reason")
    assert [one.after for one in edit.differences] == ['"1000.00"']
    (field,) = re.findall(r"<[^<>]* autofocus[^<>]*>", html)
    assert 'id="edit-reason"' in field
    assert "A reason is needed" in html.partition('id="edit-reason-about"')[2]


def test_resetting_leads_to_what_is_asked_now(letters: Stage) -> None:
    """A browser's own reset would bring back what was posted."""
    request, bob = letters.ask(arguments=SENT), reader(letters)
    response = write(bob, request, count="501")
    html = response.content.decode()
    (href,) = re.findall(r'href="([^"]+)">Reset all</a>', html)
    assert 'type="reset"' not in html
    edit = bob.client.get(href).context["edit"]
    assert [one.pointer for one in edit.controls if one.edited] == []
    assert {one.pointer: one.text for one in edit.controls}["/count"] == "4"


def change(bob: Reader, compared: Any, **said: str) -> Any:
    """Back from the comparison to the values, with the form as it is by then."""
    edit = compared.context["edit"]
    form = {
        "verdict": "edit",
        "digest": edit.digest,
        "reason": edit.reason,
        "arguments": edit.arguments_text,
        "change": "1",
    }
    return bob.post(edit.href.removeprefix(f"{bob.home}/"), form | said)


def test_the_values_can_be_changed_once_more(letters: Stage) -> None:
    request, bob = letters.ask(arguments=SENT), reader(letters)
    compared = write(bob, request, count="12", send_at="2027-01-01T08:00:00Z")
    again = change(bob, compared, reason="Fewer.")
    edit = again.context["edit"]
    texts = {one.pointer: one.text for one in edit.controls}
    assert again.status_code == 200
    assert (texts["/count"], texts["/send_at"]) == ("12", "2027-01-01T08:00:00Z")
    assert [one.pointer for one in edit.controls if one.edited] == [
        "/count",
        "/send_at",
    ]
    assert (edit.reason, edit.differences) == ("Fewer.", ())
    assert 'formaction="' + edit.href in compared.content.decode()
    assert letters.fresh(request).revision == 1


def test_a_comparison_that_arrives_in_part_leads_to_the_first_values(
    letters: Stage,
) -> None:
    request, bob = letters.ask(arguments=SENT), reader(letters)
    again = change(bob, write(bob, request, count="12"), arguments="{")
    edit = again.context["edit"]
    assert again.status_code == 422
    assert (list(edit.errors), any(one.edited for one in edit.controls)) == (
        [""],
        False,
    )


def test_nothing_changed_is_no_edit(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    response = compare(bob, request)
    assert response.status_code == 422
    assert "Nothing differs" in response.context["edit"].errors[""]


def test_a_stale_edit_is_compared_with_what_is_asked_now(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    mine = compare(bob, request, amount="1000.00")
    theirs = {**ARGUMENTS, "amount": "900.00"}
    carol = stage.reviewer()
    stage.answer(request, by=carol, verdict=V.EDIT, arguments=theirs, reason="x")
    response = keep(bob, mine)
    edit = response.context["edit"]
    assert response.status_code == 409
    assert [(one.before, one.after) for one in edit.differences] == [
        ('"900.00"', '"1000.00"')
    ]
    assert edit.reason == "Less."
    assert keep(bob, response).status_code == 303  # having read it


def test_the_cost_is_told_before(stage: Stage) -> None:
    carol = stage.reviewer()
    stage.policy(rules=[{"approvals": 2}])
    request = stage.ask()
    stage.answer(request, by=carol)
    edit = reader(stage).get(f"requests/{request.id}/edit").context["edit"]
    texts = [cost.text for cost in edit.costs]
    assert "Dismissed: the key of Carol" in texts
    assert "Policy asks for 2 keys" in texts
    assert not edit.counts


def unturnable(response: Any) -> list[str]:
    texts = [cost.text for cost in response.context["edit"].costs]
    return [text for text in texts if text.startswith("Nobody could")]


def test_a_key_for_which_nobody_would_be_left_is_told_before(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    said = ["Nobody could turn this key: Whoever decides on Payments"]
    assert unturnable(compare(bob, request, amount="1000.00")) == said
    stage.reviewer()
    assert unturnable(compare(bob, request, amount="1000.00")) == []
    stage.policy(rules=[{"approvals": 2}])
    assert unturnable(compare(bob, request, amount="1000.00")) == said
    stage.policy(rules=[{"approvals": 2}], editor_counts=True)
    assert unturnable(compare(bob, request, amount="1000.00")) == []


def test_what_became_of_the_edit_is_said_to_who_made_it(stage: Stage) -> None:
    stage.reviewer("Carol")
    request, bob = stage.ask(), reader(stage)
    keep(bob, compare(bob, request, amount="1000.00"))
    notice = bob.case(request.id).notice
    assert notice is not None
    assert notice.title == "Your values are revision 2"
    assert "It waits for 1 key from others." in notice.sentence
    assert reader(stage, stage.reviewer("Dan")).case(request.id).notice is None


def test_an_edit_that_turns_a_key_says_both(stage: Stage) -> None:
    stage.policy(rules=[{"approvals": 2}], editor_counts=True)
    request, bob = stage.ask(), reader(stage)
    keep(bob, compare(bob, request, amount="1000.00"))
    notice = bob.case(request.id).notice
    assert notice is not None
    assert notice.title == "Your values are kept and your key is turned"


def test_the_reason_is_asked_for_as_elsewhere(stage: Stage) -> None:
    request, bob = stage.ask(), reader(stage)
    page = bob.get(f"requests/{request.id}/edit").content.decode()
    assert "Optional. The agent and the auditor can read it." in page
    stage.policy(reason="always")
    request = stage.ask()
    for response in (
        bob.get(f"requests/{request.id}/edit"),
        compare(bob, request, amount="1000.00"),
    ):
        page = response.content.decode()
        assert "The policy asks for a reason. The agent and" in page


def test_where_the_policy_counts_the_editor_the_page_says_so(stage: Stage) -> None:
    stage.policy(editor_counts=True)
    request, bob = stage.ask(), reader(stage)
    assert bob.get(f"requests/{request.id}/edit").context["edit"].counts
    stage.policy(editor_counts=True, decide_within=600)
    compared = compare(bob, request, amount="1000.00")
    assert compared.context["edit"].expiry is None  # nobody else is asked
    keep(bob, compared)
    assert stage.fresh(request).state == "approved"


def test_policy_is_asked_of_the_new_values(stage: Stage) -> None:
    stage.policy("limit", verdict="deny", selector="arguments.amount == '9.99'")
    request, bob = stage.ask(), reader(stage)
    edit = compare(bob, request, amount="9.99").context["edit"]
    assert "Policy refuses these values" in [cost.text for cost in edit.costs]


def test_who_may_not_edit_gets_the_case_and_the_reason(stage: Stage) -> None:
    request = stage.ask()
    response = reader(stage, stage.house.alice).get(f"requests/{request.id}/edit")
    assert response.status_code == 403
    assert response.context["case"].notice.code == "not_permitted"
