"""Facts: typed, vouched for, versioned, and never the model's to make authoritative."""

import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from audit.models import Entry
from kernel.clock import ClockTimestamp, database_now
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.contract import Claim, check_definition
from sessions.models import Fact, Provenance, Run, Session, Transition
from sessions.queries import FactNow, facts_of
from sessions.redaction import redacted
from sessions.runs import transition_digest
from sessions.services import (
    complete_run,
    define_workflow,
    record_transition,
    start_run,
)
from tenants.principal import Principal
from tests.concurrency import together
from tests.factories import House
from tests.refusals import refused

TOOL = Provenance.TOOL
KEY = "AKIA" + "A2B3C4D5E6F7G2H3"
INVOICE: dict[str, Any] = {
    "fields": {
        "po_matched": {
            "schema": {"type": "boolean"},
            "provenance": ["tool", "system"],
            "authority": True,
            "max_age": 3600,
        },
        "risk_note": {"provenance": ["model"]},
        "approved_by": {"authority": True},
        "anything": {},
    },
    "stages": {"reading": ["comparing"], "comparing": ["done"], "done": []},
    "initial": "reading",
    "schema_versions": [7, 8],
}


@pytest.fixture
def invoice(house: House, who: Principal, session: Session) -> Run:
    define_workflow(
        tenant_id=house.id, by=house.alice.id, kind="invoice", definition=INVOICE
    )
    return start_run(who=who, session_id=session.id, workflow="invoice")[0]


def record(
    who: Principal, run: Run, version: int, stage: str | None = None, **facts: Claim
) -> Transition:
    return record_transition(
        who=who,
        run_id=run.id,
        fence=1,
        expected_version=version,
        facts=facts,
        stage=stage,
        reason="compared",
    )


def claim(value: Any, provenance: Provenance = TOOL, **proof: str) -> Claim:
    proof = {"reference": "validate#4", "evidence_digest": "9f3c", **proof}
    return Claim(value=value, provenance=provenance, **proof)


def facts(run: Run) -> dict[str, FactNow]:
    with tenant_transaction(run.tenant_id):
        return dict(facts_of(run))


def test_a_fact_keeps_its_value_and_what_vouches_for_it(
    who: Principal, invoice: Run
) -> None:
    proof: Any = {"reference": "validate#4", "evidence_digest": "sha256:9f3c"}
    made = record(who, invoice, 0, po_matched=claim(True, **proof))
    fact = facts(invoice)["po_matched"]

    assert (made.version, fact.version, fact.value) == (1, 1, True)
    assert (fact.provenance, fact.reference) == ("tool", "validate#4")
    assert fact.evidence_digest == "sha256:9f3c"


def test_each_change_is_one_version_and_one_row_of_history(
    who: Principal, invoice: Run
) -> None:
    record(who, invoice, 0, po_matched=claim(True))
    record(who, invoice, 1, "comparing", po_matched=claim(False))
    with tenant_transaction(who.tenant_id):
        rows = Transition.objects.filter(run_id=invoice.id).order_by("seq")
        _, first, second = rows
        assert Fact.objects.filter(run_id=invoice.id).count() == 1
    assert "from" not in first.changes["po_matched"]
    assert second.changes["po_matched"]["from"] is True
    assert second.changes["po_matched"]["to"] is False
    assert (second.from_stage, second.to_stage) == ("reading", "comparing")
    assert (second.actor_type, second.actor_id) == ("agent", who.agent_id)
    assert second.reason == "compared"
    with tenant_transaction(who.tenant_id):
        entries = Entry.objects.filter(subject_id=invoice.id)
        last = entries.order_by("-seq").first()
        assert last is not None
        assert last.kind == "run.facts_recorded"
        assert last.data["digest"] == transition_digest(second).hex()
        assert b"po_matched" not in bytes(last.body)
        assert str(second.id).encode() not in bytes(last.body)


def test_nobody_overwrites_what_they_have_not_read(
    who: Principal, invoice: Run
) -> None:
    record(who, invoice, 0, anything=claim(1))
    with refused("stale_version", status=409):
        record(who, invoice, 0, anything=claim(2))
    assert facts(invoice)["anything"].value == 1


def test_of_eight_writers_of_one_version_one_wins(who: Principal, invoice: Run) -> None:
    outcomes = together(
        *[partial(record, who, invoice, 0, anything=claim(each)) for each in range(8)]
    )
    won = [each for each in outcomes if isinstance(each, Transition)]
    lost = [each.code for each in outcomes if each not in won]  # type: ignore[union-attr]
    assert (len(won), lost) == (1, ["stale_version"] * 7)
    assert facts(invoice)["anything"].value == won[0].changes["anything"]["to"]


@pytest.mark.parametrize(
    ("code", "name", "stated"),
    [
        ("fact_invalid", "po_matched", claim("yes")),
        ("fact_not_allowed", "approved", claim(True)),
        ("provenance_not_allowed", "po_matched", claim(True, Provenance.USER)),
        ("provenance_not_allowed", "po_matched", claim(True, Provenance.MODEL)),
        ("provenance_not_allowed", "approved_by", claim("Bob", Provenance.MODEL)),
        ("provenance_not_allowed", "risk_note", claim("low", TOOL)),
        ("provenance_not_allowed", "anything", claim("Bob", Provenance.REVIEWER)),
    ],
)
def test_what_the_workflow_does_not_allow_leaves_no_trace(
    who: Principal, invoice: Run, code: str, name: str, stated: Claim
) -> None:
    with refused(code, status=422):
        record(who, invoice, 0, None, **{"anything": claim(1), name: stated})
    assert facts(invoice) == {}


@pytest.mark.parametrize("stage", ["done", "unheard_of", ""])
def test_a_stage_is_reached_only_from_the_one_before(
    who: Principal, invoice: Run, stage: str
) -> None:
    with refused("stage_not_allowed", status=422):
        record(who, invoice, 0, stage)


def test_a_change_of_nothing_is_refused(who: Principal, invoice: Run) -> None:
    with refused("nothing_to_record", status=422):
        record(who, invoice, 0)


def test_an_ended_run_keeps_its_facts_as_they_are(who: Principal, invoice: Run) -> None:
    complete_run(who=who, run_id=invoice.id, fence=1)
    with refused("run_ended", status=409):
        record(who, invoice, 0, anything=claim(1))


def test_age_is_counted_by_the_databases_clock(who: Principal, invoice: Run) -> None:
    record(who, invoice, 0, anything=claim(1))
    assert timedelta(0) < facts(invoice)["anything"].age < timedelta(seconds=30)
    with tenant_transaction(who.tenant_id):
        Fact.objects.filter(run_id=invoice.id).update(
            observed_at=ClockTimestamp() - timedelta(hours=2)
        )
    assert timedelta(hours=2) < facts(invoice)["anything"].age < timedelta(hours=3)
    record(who, invoice, 1, anything=claim(1))
    assert facts(invoice)["anything"].age < timedelta(seconds=30)


def test_a_credential_in_a_fact_is_never_stored(who: Principal, run: Run) -> None:
    kept = record(who, run, 0, note=claim({"key": KEY, "list": ["a", KEY]}))

    value = facts(run)["note"].value
    assert value["key"].startswith("[redacted: AWS access key, ")
    assert value["list"] == ["a", value["key"]]
    assert kept.changes["note"]["redacted"] == ["AWS access key"] * 2
    with tenant_transaction(who.tenant_id):
        entries = Entry.objects.filter(tenant_id=who.tenant_id)
        assert not [entry for entry in entries if KEY.encode() in bytes(entry.body)]


def test_redaction_reaches_keys_escapes_and_whole_values(who: Principal) -> None:
    with tenant_transaction(who.tenant_id):
        clean = partial(redacted, tenant_id=who.tenant_id)
        mark = str(clean(KEY)[0])
        assert clean({"a/b~c": [{"x": f"({KEY})"}]}) == (
            {"a/b~c": [{"x": f"({mark})"}]},
            ["AWS access key"],
        )
        assert clean({"a": {KEY: 1}}) == ({"a": mark}, ["AWS access key"])
        assert clean(KEY) == (mark, ["AWS access key"])
        assert clean({"a": [1, "b"]}) == ({"a": [1, "b"]}, [])
        assert clean([KEY] * 200)[0] == mark
    assert re.fullmatch(r"\[redacted: AWS access key, [0-9a-f]{8}\]", mark)


def test_of_a_text_with_a_private_key_nothing_is_kept(who: Principal) -> None:
    text = "see -----BEGIN " + "PRIVATE KEY-----\nMIIEvQ\n"
    with tenant_transaction(who.tenant_id):
        clean, _ = redacted(text, who.tenant_id)
    assert str(clean).startswith("[redacted: private key, ")


def test_fingerprints_are_the_tenants_own(
    who: Principal, strangers: dict[str, Principal]
) -> None:
    marks = []
    for one in (who, strangers["an agent of another tenant"], who):
        with tenant_transaction(one.tenant_id):
            marks.append(redacted(KEY, one.tenant_id)[0])
    assert marks[0] == marks[2] != marks[1]


@pytest.mark.parametrize(
    ("pointer", "definition"),
    [
        ("/initial", {"stages": {"a": []}, "initial": "b"}),
        ("/stages/a/0", {"stages": {"a": ["b"]}}),
        ("/fields/x/provenance", {"fields": {"x": {"provenance": ["dream"]}}}),
        (
            "/fields/x/provenance",
            {"fields": {"x": {"provenance": ["tool", "model"], "authority": True}}},
        ),
        ("/fields/x/schema/type", {"fields": {"x": {"schema": {"type": "text"}}}}),
        ("/fields", {"fields": {"Not A Name": {}}}),
        ("", {"unheard_of": 1}),
        ("/schema_versions", {"schema_versions": []}),
    ],
)
def test_a_workflow_that_contradicts_itself_is_not_defined(
    house: House, pointer: str, definition: dict[str, Any]
) -> None:
    with pytest.raises(Exception, match="_invalid") as problem:
        define_workflow(
            tenant_id=house.id, by=house.alice.id, kind="x", definition=definition
        )
    assert (problem.value.pointer or "").startswith(pointer)  # type: ignore[attr-defined]


def test_only_admins_define_work_and_the_same_again_is_no_new_version(
    house: House,
) -> None:
    with refused("not_permitted", status=403):
        define_workflow(
            tenant_id=house.id, by=house.bob.id, kind="x", definition=INVOICE
        )
    with refused("not_found", status=404):
        define_workflow(
            tenant_id=house.id, by=house.charlie.id, kind="x", definition=INVOICE
        )
    versions = [
        define_workflow(
            tenant_id=house.id, by=house.alice.id, kind="x", definition=definition
        ).version
        for definition in (INVOICE, dict(INVOICE), {}, INVOICE)
    ]
    assert versions == [1, 1, 2, 3]


@pytest.mark.parametrize(
    ("provenance", "proof", "pointer"),
    [
        (Provenance.USER, {"reference": " "}, "/facts/anything/reference"),
        (Provenance.SYSTEM, {"reference": ""}, "/facts/anything/reference"),
        (Provenance.TOOL, {"reference": ""}, "/facts/anything/reference"),
        (Provenance.TOOL, {"evidence_digest": ""}, "/facts/anything/evidence_digest"),
    ],
)
def test_what_nothing_vouches_for_is_the_models_or_nobodys(
    who: Principal,
    invoice: Run,
    provenance: Provenance,
    proof: dict[str, str],
    pointer: str,
) -> None:
    with refused("provenance_unproven", status=422, pointer=pointer):
        record(who, invoice, 0, anything=claim(1, provenance, **proof))
    bare = {"reference": "", "evidence_digest": ""}
    record(who, invoice, 0, anything=claim(1, Provenance.MODEL, **bare))


def staged(house: House, who: Principal, session: Session, max_age: int) -> Run:
    define_workflow(
        tenant_id=house.id,
        by=house.alice.id,
        kind="staged",
        definition={
            "stages": {"open": ["paid"], "paid": []},
            "initial": "open",
            "fields": {"checked": {"max_age": max_age}},
            "required": {"paid": ["checked"]},
        },
    )
    return start_run(who=who, session_id=session.id, workflow="staged")[0]


def test_a_stage_waits_for_the_facts_that_it_needs(
    house: House, who: Principal, session: Session
) -> None:
    run = staged(house, who, session, max_age=3_600)
    with refused("fact_missing", status=409, pointer="/stage"):
        record(who, run, 0, "paid")
    record(who, run, 0, checked=claim(True))
    assert record(who, run, 1, "paid").to_stage == "paid"


def test_a_fact_that_is_too_old_opens_no_stage_and_its_age_is_told(
    house: House, who: Principal, session: Session
) -> None:
    run = staged(house, who, session, max_age=60)
    record(who, run, 0, checked=claim(True))
    with tenant_transaction(house.id):
        Fact.objects.filter(run_id=run.id).update(
            observed_at=database_now() - timedelta(seconds=90)
        )
    with pytest.raises(Problem, match="fact_stale") as stale:
        record(who, run, 1, "paid")
    assert "observed 90 seconds ago; 60 are allowed" in str(stale.value.detail)
    assert record(who, run, 1, "paid", checked=claim(True)).to_stage == "paid"


@pytest.mark.parametrize(
    ("definition", "pointer"),
    [
        ({"required": {"nowhere": []}}, "/required/nowhere"),
        (
            {"stages": {"a": []}, "fields": {}, "required": {"a": ["b"]}},
            "/required/a/0",
        ),
        (
            {"schema_versions": [1], "upgrades": [{"from": 1, "to": 2}]},
            "/upgrades/0/to",
        ),
        ({"owners": {"nobody": "x"}}, "/owners"),
        ({"fields": {"a": {"lifetime": "for ever"}}}, "/fields/a/lifetime"),
    ],
)
def test_a_contract_that_contradicts_itself_is_refused_at_its_place(
    definition: dict[str, Any], pointer: str
) -> None:
    with refused("workflow_invalid", status=422, pointer=pointer):
        check_definition(definition)
