"""Workflows in the browser: written, validated, published, compared, drawn, exported."""

import json
import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from kernel.scope import tenant_transaction
from sessions.contract import Claim
from sessions.models import Provenance, Run, Transition
from sessions.services.runs import complete_run, record_transition
from sessions.shipped import shipped
from tenants.models import Role
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_member

DEFINITION: dict[str, Any] = {
    "title": "Pay a bill",
    "stages": {"open": ["paid"], "paid": []},
    "initial": "open",
    "fields": {"checked": {"provenance": ["tool"], "authority": True}},
}


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def keep(alice: Reader, definition: Any, **more: str) -> Any:
    text = definition if isinstance(definition, str) else json.dumps(definition)
    said = {"definition": text, "seen": digest(alice), **more}
    return alice.post("workflows/bill/edit", said)


def digest(reader: Reader) -> str:
    """What the form of the page carries, if a draft is shown."""
    context = reader.get("workflows/bill").context
    draft = context["workflow"].draft if context and "workflow" in context else None
    return draft.digest if draft else ""


def act(alice: Reader, name: str, seen: str | None = None) -> Any:
    said = {"act": name, "seen": digest(alice) if seen is None else seen}
    return alice.post("workflows/bill/draft", said)


def publish(alice: Reader, definition: Any) -> None:
    for answer in (
        keep(alice, definition),
        act(alice, "validate"),
        act(alice, "publish"),
    ):
        assert answer.status_code == 302, answer.content


def test_a_note_with_a_null_character_is_refused(alice: Reader) -> None:
    answer = keep(alice, DEFINITION, note="The\0 first.")
    assert (answer.status_code, digest(alice)) == (422, "")


def test_a_workflow_is_written_validated_published_and_listed(alice: Reader) -> None:
    keep(alice, DEFINITION, note="The first.")
    assert alice.get("workflows/bill").context["workflow"].draft.state == "draft"
    act(alice, "validate")
    shown = alice.get("workflows/bill").context["workflow"]
    assert [name for name, _ in shown.draft.acts] == ["publish", "withdraw"]
    act(alice, "publish")

    shown = alice.get("workflows/bill").context["workflow"]
    assert (shown.version, shown.title, shown.draft) == (1, "Pay a bill", None)
    assert [(row.author, row.note) for row in shown.history] == [
        ("Alice", "The first.")
    ]
    (row,) = [
        one
        for one in alice.get("workflows").context["workflows"].rows
        if one.kind == "bill"
    ]
    assert (row.version, row.stages, row.fields) == (1, 2, 1)


def test_the_state_machine_is_drawn_with_its_words_and_a_table(alice: Reader) -> None:
    publish(alice, DEFINITION)
    text = alice.get("workflows/bill").content.decode()
    # Once across and once down, of which the style sheet shows the one that fits.
    assert text.count('class="machine__line') == 2
    assert text.count("<title id=") == len(set(re.findall('<title id="([^"]*)"', text)))
    assert "open (a run begins here), paid" in text
    assert "style=" not in text


def test_a_flaw_is_told_with_its_place_and_nothing_is_lost(alice: Reader) -> None:
    answer = keep(alice, '{"initial": }')
    assert answer.status_code == 400
    assert answer.context["form"].definition == '{"initial": }'
    keep(alice, {"initial": "nowhere"})
    refused = act(alice, "validate")
    assert refused.status_code == 422
    assert refused.context["workflow"].notice.code == "workflow_invalid"
    assert "/initial" in refused.context["workflow"].notice.sentence


def test_two_versions_are_compared_line_by_line(alice: Reader) -> None:
    publish(alice, DEFINITION)
    publish(alice, {**DEFINITION, "title": "Pay two bills"})
    shown = alice.get("workflows/bill?version=2&against=1").context["workflow"]
    changed = [(mark, text.strip()) for mark, text in shown.lines if mark in "+-"]
    assert changed == [
        ("-", '"title": "Pay a bill"'),
        ("+", '"title": "Pay two bills"'),
    ]
    old = alice.get("workflows/bill?version=1").context["workflow"]
    assert (old.version, old.title) == (1, "Pay a bill")


def test_an_export_is_imported_as_it_was(alice: Reader) -> None:
    publish(alice, DEFINITION)
    file = alice.get("workflows/bill/export?version=1")
    assert file.headers["Content-Disposition"] == 'attachment; filename="bill-1.json"'
    upload = SimpleUploadedFile("bill.json", file.content)
    alice.post("new-workflow", {"kind": "copy", "definition": "", "file": upload})  # type: ignore[dict-item]
    shown = alice.get("workflows/copy/edit").context["form"]
    assert json.loads(shown.definition) == DEFINITION


def test_what_is_shipped_can_be_taken_over(alice: Reader) -> None:
    offered = alice.get("workflows").context["workflows"].shipped
    assert "invoice" in [link.text for link in offered]
    form = alice.get("workflows/invoice/edit").context["form"]
    assert json.loads(form.definition) == shipped("invoice")


def test_reviewers_read_and_do_not_write(stage: Stage, alice: Reader) -> None:
    publish(alice, DEFINITION)
    bob = reader(stage)
    shown = bob.get("workflows/bill").context["workflow"]
    assert (shown.edit_href, shown.version) == ("", 1)
    assert bob.get("workflows/bill/edit").status_code == 403
    assert act(bob, "withdraw").status_code == 403
    assert keep(bob, {}).status_code == 403


@pytest.mark.parametrize("name", ["validate", "publish", "withdraw"])
def test_nobody_acts_on_a_draft_that_they_did_not_see(
    stage: Stage, alice: Reader, name: str
) -> None:
    publish(alice, {**DEFINITION, "second_admin": True})
    dora = reader(stage, fresh_member(stage.house.alice, "Dora", role=Role.ADMIN))
    keep(alice, {**DEFINITION, "title": "Harmless", "second_admin": True})
    act(alice, "validate")
    seen = digest(dora)
    html = dora.get("workflows/bill").content.decode()
    assert f'name="seen" value="{seen}"' in html

    keep(alice, {**DEFINITION, "title": "Swapped meanwhile"})
    if name != "validate":
        act(alice, "validate")
    for old in (seen, "", "0" * 64):
        refused = act(dora, name, seen=old)
        assert refused.status_code == 409
        notice = refused.context["workflow"].notice
        assert notice.code == "workflow_draft_changed"
        assert "changed while you were reading" in refused.content.decode()
    shown = alice.get("workflows/bill").context["workflow"]
    assert (shown.version, shown.draft is None) == (1, False)
    assert act(dora, name).status_code == 302


def test_nobody_writes_over_a_draft_that_they_did_not_see(alice: Reader) -> None:
    assert keep(alice, DEFINITION).status_code == 302
    theirs = DEFINITION | {"title": "Pay many bills"}
    late = keep(alice, theirs, seen="")  # as from a page that was open before the draft
    assert late.status_code == 409
    assert "Pay many bills" in late.context["form"].definition
    assert "reading" in late.context["form"].error
    assert keep(alice, theirs, seen=late.context["form"].seen).status_code == 302


def test_a_kind_that_there_is_not_is_not_found(alice: Reader) -> None:
    assert alice.get("workflows/none").status_code == 404
    assert alice.get("workflows/none/export").status_code == 404
    assert act(alice, "publish").status_code == 404


SOURCES = (Provenance.MODEL, Provenance.TOOL)
PROOF = {"reference": "crm", "evidence_digest": f"sha256:{'0' * 64}"}


def test_a_runs_facts_are_compared_at_two_versions(stage: Stage) -> None:
    run = stage.run()
    for version, value in enumerate(("one", "two")):
        record_transition(
            who=stage.house.robot.principal,
            run_id=run.id,
            fence=run.fence,
            expected_version=run.version + version,
            facts={
                "guess": Claim(value=value, provenance=SOURCES[version], **PROOF),
                f"also_{version}": Claim(value=1, provenance="model"),  # type: ignore[arg-type]
            },
            reason="Guessed.",
        )
    bob = reader(stage, stage.house.alice)
    last = run.version + 2
    shown = bob.get(f"runs/{run.id}/state").context["state"]
    assert (shown.before, shown.after) == (last - 1, last)
    pairs = {one.name: one for one in shown.facts}
    guess = pairs["guess"]
    assert guess.then
    assert guess.now
    assert (guess.then.text, guess.now.text, guess.changed) == ("one", "two", True)
    assert (guess.then.provenance, guess.now.provenance) == ("model", "tool")
    assert pairs["also_0"].changed is False
    assert pairs["also_1"].then is None
    only = bob.get(f"runs/{run.id}/state?only=changed&fact=gue").context["state"]
    assert [one.name for one in only.facts] == ["guess"]
    early = bob.get(f"runs/{run.id}/state?before=x&after=999999").context["state"]
    assert early.after == last


SOUGHT: list[tuple[str, list[tuple[str, str | None]]]] = [
    ("", [("b", "2"), ("a", "3"), ("a", "1"), ("b", "1")]),
    ("fact=a", [("a", "3"), ("a", "1")]),
    ("provenance=tool", [("b", "2")]),
    ("actor=agent&fact=b", [("b", "2"), ("b", "1")]),
    ("actor=member", []),
    ("actor=nobody&provenance=none&fact=a", [("a", "3"), ("a", "1")]),
]


@pytest.fixture(scope="module")
def stated() -> tuple[Stage, Run, list[datetime]]:
    """A run whose facts were stated three times, and when."""
    stage = fresh_stage()
    run, proof = stage.run(), {"reference": "crm", "evidence_digest": "ab"}
    said = [{"a": (1, "model"), "b": (1, "model")}, {"a": (3, "model")}]
    said.append({"b": (2, "tool")})
    for version, facts in enumerate(said):
        record_transition(
            who=stage.house.robot.principal,
            run_id=run.id,
            fence=run.fence,
            expected_version=run.version + version,
            facts={
                name: Claim(value=value, provenance=Provenance(source), **proof)
                for name, (value, source) in facts.items()
            },
            reason="Seen.",
        )
    with tenant_transaction(stage.tenant_id):
        rows = Transition.objects.filter(run_id=run.id).exclude(changes={})
        return stage, run, [one.created_at for one in rows.order_by("seq")]


@pytest.mark.parametrize(("query", "found"), SOUGHT)
def test_every_change_is_found_by_actor_field_and_source(
    stated: Any, query: str, found: list[tuple[str, str | None]]
) -> None:
    stage, run, _ = stated
    alice = reader(stage, stage.house.alice)
    changes = alice.get(f"runs/{run.id}/state?{query}").context["state"].changes
    assert [(one.fact.name, one.fact.after) for one in changes] == found


def test_the_state_is_told_of_any_instant(stated: Any) -> None:
    stage, run, times = stated
    alice = reader(stage, stage.house.alice)
    path, moment = f"runs/{run.id}/state", timedelta(microseconds=1)
    for number, at in enumerate(times, start=1):
        for when, version in ((at, number), (at - moment, number - 1)):
            asked = {"at": when.isoformat()}
            shown = alice.get(path, query_params=asked).context["state"]
            assert shown.after == version, when
        assert (shown.before, shown.after) == (max(number - 2, 0), number - 1)
    for wrong in ("yesterday", "2001-01-01T00:00"):
        answer = alice.get(path, query_params={"at": wrong})
        assert (answer.status_code, answer.context["state"].after) == (422, len(times))
        assert 'id="at-error"' in answer.content.decode()


def test_the_earlier_version_comes_first_and_each_says_when_it_stood(
    stated: Any,
) -> None:
    stage, run, times = stated
    alice = reader(stage, stage.house.alice)
    asked = f"at={quote(times[0].isoformat())}&before=2&after=3"  # as the form has it
    for query, versions in (("before=3&after=1", (1, 3)), (asked, (0, 1))):
        shown = alice.get(f"runs/{run.id}/state?{query}").context["state"]
        assert (shown.before, shown.after) == versions
    assert [one.version for one in shown.stood] == [0, 1]
    assert shown.stood[0].until == shown.stood[1].since == times[0]
    last = alice.get(f"runs/{run.id}/state").context["state"].stood[-1]
    assert (last.version, last.since, last.until) == (3, times[2], None)


def test_a_version_came_when_it_came_whatever_became_of_the_run(
    stage: Stage, alice: Reader
) -> None:
    run = stage.run()
    complete_run(who=stage.house.robot.principal, run_id=run.id, fence=run.fence)
    shown = alice.get(f"runs/{run.id}/state").context["state"]
    with tenant_transaction(stage.tenant_id):
        rows = Transition.objects.filter(run_id=run.id).order_by("seq")
        times = [one.created_at for one in rows]
    assert len(times) > 1
    assert [(one.version, one.since) for one in shown.stood] == [(0, times[0])]
