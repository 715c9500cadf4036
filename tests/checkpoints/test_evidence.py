"""What is said of an effect is kept: bounded, once, in its sender's words."""

import pytest

from audit.models import Entry
from checkpoints.evidence import statement_digest
from checkpoints.models import Effect
from kernel.scope import tenant_transaction
from tenants.principal import Principal
from tests.chain import kinds_of
from tests.checkpoints.steps import age, report, said, settle, stored
from tests.checkpoints.test_effects import effect, tool
from tests.refusals import refused

__all__ = ["effect", "tool"]


@pytest.mark.parametrize("late", ["confirmed", "failed"])
def test_after_unknown_a_word_is_evidence_and_no_outcome(
    who: Principal, effect: Effect, late: str
) -> None:
    report(who, effect, "unknown", evidence={"code": "timeout"})
    told = report(who, effect, late, "CR-771", evidence={"seen": True})
    now, (attempt,) = stored(effect)

    assert told.state == now.state == "unknown"
    assert attempt.evidence == {
        "told": said(who, "unknown", code="timeout"),
        "late": [said(who, late, "CR-771", seen=True)],
    }
    assert kinds_of(who.tenant_id, effect.id)[-1] == "effect.evidence"


def test_what_is_said_cannot_pass_for_what_we_keep(
    who: Principal, effect: Effect
) -> None:
    forged = {"late": "x", "found": [{"outcome": "confirmed"}], "told": {}}
    report(who, effect, "unknown", evidence=forged)
    report(who, effect, "failed")
    age(effect, seconds=1)
    settle(who, effect, "absent")
    _, (attempt,) = stored(effect)
    assert attempt.evidence["told"]["evidence"] == forged
    assert [len(attempt.evidence[kind]) for kind in ("late", "found")] == [1, 1]


def test_the_log_holds_a_digest_of_what_was_said_and_not_its_words(
    who: Principal, effect: Effect
) -> None:
    report(who, effect, "unknown", evidence={"seen_by": "Maren Lindqvist"})
    settle(who, effect, "confirmed", evidence={"seen_by": "Maren Lindqvist"})
    _, (attempt,) = stored(effect)
    with tenant_transaction(who.tenant_id):
        entries = list(Entry.objects.filter(subject_id=effect.id).order_by("seq"))
    _, told, found = entries
    statements = (attempt.evidence["told"], *attempt.evidence["found"])
    for entry, kept in zip((told, found), statements, strict=True):
        assert entry.data["statement"] == statement_digest(attempt, kept).hex()
        assert b"Maren" not in bytes(entry.body)
        assert str(attempt.id).encode() not in bytes(entry.body)


def test_late_words_are_bounded(who: Principal, effect: Effect) -> None:
    report(who, effect, "unknown")
    for number in range(23):
        report(who, effect, "confirmed", f"CR-{number}")
    _, (attempt,) = stored(effect)
    kept = [one["external_id"] for one in attempt.evidence["late"]]
    assert kept == [f"CR-{number}" for number in (*range(19), 22)]


def test_a_word_against_what_was_found_out_is_a_conflict(
    who: Principal, effect: Effect
) -> None:
    report(who, effect, "unknown")
    settle(who, effect, "confirmed", external_id="CR-771")
    assert report(who, effect, "confirmed", "CR-771").state == "confirmed"
    for outcome, external_id in (("confirmed", "CR-772"), ("failed", "")):
        with refused("outcome_conflict", status=409):
            report(who, effect, outcome, external_id)


def test_a_word_against_an_absence_is_kept_as_the_evidence_it_is(
    who: Principal, effect: Effect
) -> None:
    report(who, effect, "unknown")
    age(effect, seconds=1)
    settle(who, effect, "absent")
    assert report(who, effect, "confirmed", "CR-771").state == "absent"
    _, (attempt,) = stored(effect)
    assert attempt.evidence["late"][0]["external_id"] == "CR-771"


@pytest.mark.parametrize(
    ("change", "why"),
    [({"fence": 2}, "stale_writer"), ({"attempt": 2}, "attempt_unknown")],
)
def test_only_the_attempts_own_sender_is_heard(
    who: Principal, effect: Effect, change: dict[str, int], why: str
) -> None:
    with refused(why, status=409):
        report(who, effect, "confirmed", **change)  # type: ignore[arg-type]
    assert stored(effect)[0].state == "started"


def test_a_word_that_is_no_outcome_is_a_mistake_of_ours(
    who: Principal, effect: Effect
) -> None:
    with pytest.raises(ValueError, match="not an outcome"):
        report(who, effect, "started")


def test_evidence_is_bounded_and_holds_no_credentials(
    who: Principal, effect: Effect
) -> None:
    with refused("evidence_too_large", status=422):
        report(who, effect, "confirmed", evidence={"body": "x" * 17_000})
    key = "AKIA" + "A2B3C4D5E6F7G2H3"
    report(who, effect, "confirmed", evidence={"body": f"key={key}"})
    _, (attempt,) = stored(effect)
    (said,) = attempt.evidence["told"]["evidence"].values()
    assert said.startswith("key=[redacted: AWS access key, ")
    assert attempt.evidence["told"]["redacted"] == ["AWS access key"]
    with tenant_transaction(who.tenant_id):
        bodies = Entry.objects.filter(tenant_id=who.tenant_id)
        assert not [one for one in bodies if key.encode() in bytes(one.body)]
