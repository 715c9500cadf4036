"""Policies in the browser: listed in words, edited, tried out, published, compared."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from approvals.models import Policy
from approvals.services.policy_drafts import save_policy_draft
from kernel.scope import tenant_transaction
from tenants.models import Role
from tenants.services import ask_for_second_admin
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_member
from tests.oversight.policy_pages import PAYMENTS, act, keep, publish, stored


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def test_a_policy_is_written_published_and_listed_in_words(
    stage: Stage, alice: Reader
) -> None:
    publish(alice)
    assert stored(stage) == [
        {
            "verdict": "require_review",
            "summary": "Large payments need two.",
            "selector": "tool == 'pay' && double(arguments.amount) >= 1000.0",
            "decide_within": 14_400,
            "reason": "always",
            "rules": [{"approvals": 2}],
        }
    ]
    (row,) = alice.get("policies").context["policies"].rows
    assert row.matching.words == "the tool is pay and amount is at least 1,000"
    assert row.who == "2 people who decide on Payments"
    assert (row.revision, row.state, row.by, row.draft) == (1, "on", "Alice", False)
    shown = alice.get("policies/payments").context["policy"]
    assert [(one.words, one.able) for one in shown.rules] == [(row.who, 2)]
    assert ("Time to decide", "4 h") in shown.rest
    assert [(one.author, one.note) for one in shown.history] == [
        ("Alice", "As the board asked.")
    ]


def test_there_is_none_yet(stage: Stage, alice: Reader) -> None:
    shown = alice.get("policies").context["policies"]
    assert (shown.rows, shown.empty.title) == ((), "No policy yet")
    assert alice.get("policies/none").status_code == 404
    assert alice.get("policies/none/edit").status_code == 200


def test_a_draft_shows_what_it_would_change_before_it_is_published(
    stage: Stage, alice: Reader
) -> None:
    asked = stage.ask()
    small = stage.ask(arguments={"payee": "Bob", "amount": "1.00"})
    tried = alice.post(
        "policies/payments/edit", {**PAYMENTS, "act": "try", "limit": "2000"}
    )
    trial = tried.context["form"].trial
    assert (trial.examined, trial.matched, trial.changed) == (2, 1, 1)
    (row,) = trial.rows
    assert str(asked.id) in row.href
    told = {one.label: (one.before, one.after) for one in row.differences}
    assert told["Who must agree"] == (
        "1 person who decides on Payments",
        "2 people who decide on Payments",
    )
    assert told["Time to decide"] == ("1 day", "4 h")
    assert [(one.count, one.after) for one in trial.groups] == [
        ("1", "2 people who decide on Payments")
    ]
    assert "1 of the last 2 requests would have changed" in tried.content.decode()
    with tenant_transaction(stage.tenant_id):
        assert not Policy.objects.exists()

    keep(alice)
    kept = alice.get("policies/payments?try=500").context["policy"].trial
    assert [one.href for one in kept.rows] == [row.href]
    assert str(small.id) not in row.href


def test_revisions_are_compared_in_words_and_line_by_line(alice: Reader) -> None:
    publish(alice)
    publish(alice, **{"approvals-0": "1", "reason": ""})
    publish(alice, reason="none")
    shown = alice.get("policies/payments?revision=2&against=1").context["policy"]
    assert shown.revision == 2
    told = [(d.label, d.before, d.after, d.kind) for d in shown.comparison.differences]
    assert told == [
        (
            "Who must agree",
            "2 people who decide on Payments",
            "1 person who decides on Payments",
            "changed",
        ),
        ("A reason is needed", "for every answer", "", "removed"),
    ]
    lines = [(m, text.strip()) for m, text in shown.comparison.lines if m in "+-"]
    assert ("-", '"approvals": 2') in lines
    back = alice.get("policies/payments?revision=1&against=3").context["policy"]
    assert back.comparison.title == "From revision 3 to 1"
    assert [row.in_force for row in back.history] == [True, False, False]


def test_a_policy_is_taken_out_of_force_after_it_was_looked_at(alice: Reader) -> None:
    publish(alice)
    assert act(alice, "retire").status_code == 302
    shown = alice.get("policies/payments").context["policy"]
    assert (shown.state, shown.draft.retires) == ("on", True)
    act(alice, "publish")
    shown = alice.get("policies/payments").context["policy"]
    assert (shown.state, shown.draft, shown.acts) == ("off", None, ())


def test_where_two_are_asked_for_another_admin_publishes(
    stage: Stage, alice: Reader
) -> None:
    alone = alice.post("policies", {})
    assert alone.status_code == 409
    assert alone.context["policies"].notice.code == "no_second_admin"
    dora = reader(stage, fresh_member(stage.house.alice, "Dora", role=Role.ADMIN))
    assert dora.post("policies", {}).status_code == 403
    assert alice.post("policies", {}).status_code == 302
    keep(alice)
    mine = alice.get("policies/payments").context["policy"].draft
    assert [name for name, _ in mine.acts] == ["withdraw"]
    refused = act(alice, "publish")
    assert refused.status_code == 403
    assert refused.context["policy"].notice.code == "policy.own_draft"
    assert act(dora, "publish").status_code == 302
    (row,) = dora.get("policies/payments").context["policy"].history
    assert (row.author, row.cosigned_by) == ("Alice", "Dora")


def test_another_admin_cosigns_what_they_saw(stage: Stage, alice: Reader) -> None:
    publish(alice)
    dora = reader(stage, fresh_member(stage.house.alice, "Dora", role=Role.ADMIN))
    seen = dora.get("policies/payments").context["policy"]
    assert [name for name, _ in seen.acts] == ["cosign", "retire"]
    publish(alice, reason="none")
    assert act(dora, "cosign", seen=seen.seen).status_code == 409
    now = dora.get("policies/payments").context["policy"]
    assert act(dora, "cosign", seen=now.seen).status_code == 302
    first = dora.get("policies/payments").context["policy"].history[0]
    assert first.cosigned_by == "Dora"


def test_nobody_writes_over_what_they_did_not_read(stage: Stage, alice: Reader) -> None:
    keep(alice)
    late = keep(alice, seen="", summary="Mine.")
    assert late.status_code == 422
    assert late.context["form"].typed.summary == "Mine."
    assert "changed while you were reading" in late.content.decode()
    assert act(alice, "publish", seen="0" * 64).status_code == 409


def test_a_case_leads_to_the_revision_that_asked(stage: Stage, alice: Reader) -> None:
    publish(alice)
    asked = stage.ask()
    publish(alice, reason="none")
    (reason,) = alice.case(asked.id).policies
    assert reason.href.endswith("/policies/payments?revision=1")
    shown = alice.client.get(reason.href).context["policy"]
    assert (shown.revision, shown.state) == (1, "off")
    (reason,) = reader(stage).case(asked.id).policies
    assert reason.href == ""


def test_auditors_read_and_reviewers_do_not(stage: Stage, alice: Reader) -> None:
    publish(alice)
    eve = reader(stage, fresh_member(stage.house.alice, "Eve", role=Role.AUDITOR))
    bob = reader(stage)
    shown = eve.get("policies/payments").context["policy"]
    assert (shown.edit_href, shown.acts) == ("", ())
    assert eve.get("policies/payments/edit").status_code == 403
    assert act(eve, "retire", seen="").status_code == 403
    for path in ("policies", "policies/payments", "new-policy"):
        assert bob.get(path).status_code == 403
    labels = [item.label for item in bob.get("queue").context["shell"].nav]
    assert "Policies" not in labels
    labels = [item.label for item in eve.get("queue").context["shell"].nav]
    assert "Policies" in labels


def test_lists_cost_the_same_however_many_there_are(
    stage: Stage, alice: Reader, django_assert_max_num_queries: Any
) -> None:
    for number in range(3):
        stage.policy(f"policy-{number}")
        save_policy_draft(
            tenant_id=stage.tenant_id,
            by=stage.house.alice.id,
            name=f"draft-{number}",
            definition={"verdict": "deny"},
        )
    alice.get("policies")
    with django_assert_max_num_queries(24) as few:
        alice.get("policies")
    for number in range(3, 12):
        stage.policy(f"policy-{number}")
    with django_assert_max_num_queries(len(few)):
        alice.get("policies")


def test_the_second_admin_is_told_of_on_the_list(stage: Stage, alice: Reader) -> None:
    fresh_member(stage.house.alice, "Dora", role=Role.ADMIN)
    assert alice.get("policies").context["policies"].ask_href
    ask_for_second_admin(tenant_id=stage.tenant_id, by=stage.house.alice.id, asked=True)
    shown = alice.get("policies").context["policies"]
    assert (shown.second_admin, shown.ask_href) == (True, "")


def streamed(stage: Stage, path: str, said: dict[str, str] | None = None) -> list[str]:
    """What comes, piece by piece, as the browser of the owner gets it."""

    async def take() -> list[str]:
        client = AsyncClient()
        await client.aforce_login(stage.house.alice.user)
        place = f"/t/{stage.house.tenant.slug}/{path}"
        answer = await (client.post(place, said) if said else client.get(place))
        assert (answer.status_code, answer.streaming) == (200, True)
        pieces = answer.streaming_content  # type: ignore[attr-defined]
        return [chunk.decode() async for chunk in pieces]

    return async_to_sync(take)()


def test_ten_thousand_requests_are_tried_with_their_progress(stage: Stage) -> None:
    stage.ask(arguments={"payee": "Halden", "amount": "2000.00"})
    said = {**PAYMENTS, "act": "try", "limit": "10000"}
    page = "".join(streamed(stage, "policies/payments/edit", said))
    places = [page.index(part) for part in ("<h1", "0 %", "50 %", "1 of the last 1")]
    assert places == sorted(places)
    assert page.rindex("</form>") > places[-1]
    assert page.rstrip().endswith("</html>")
    reader(stage, stage.house.alice).post(
        "policies/payments/edit", {**PAYMENTS, "act": "keep", "seen": ":"}
    )
    kept = "".join(streamed(stage, "policies/payments?try=10000"))
    assert kept.index("<progress") < kept.index("1 of the last 1 requests")
    assert "<!-- trial -->" not in page + kept
