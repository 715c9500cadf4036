"""Writing facts: checked against the workflow, one version for each change."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.db.models import F

from audit.append import Actor
from kernel.clock import ClockTimestamp
from kernel.problems import declare
from kernel.update import update_exactly_one
from sessions.contract import Claim, Contract
from sessions.models import Fact, Run, Transition
from sessions.queries import facts_of
from sessions.redaction import redacted, redacted_text
from sessions.runs import add_transition, require_live
from tenants.verbs import Verb

STALE_VERSION: Final = declare(
    "stale_version", status=409, title="The facts changed since you read them"
)
NOTHING_TO_RECORD: Final = declare(
    "nothing_to_record", status=422, title="Neither a fact nor a stage is given"
)

_WRITTEN = ("value", "provenance", "reference", "evidence_digest")
_UPSERTED = (*_WRITTEN, "version", "observed_at")


def require_version(run: Run, expected: int) -> None:
    """Raises `stale_version` (409) unless the facts are as the caller read them."""
    if run.version != expected:
        raise STALE_VERSION(f"They are at version {run.version}.", version=run.version)


def write_facts(
    verb: Verb,
    run: Run,
    *,
    actor: Actor,
    claims: Mapping[str, Claim],
    stage: str | None = None,
    reason: str = "",
) -> Transition:
    """State facts of a locked run, observed now, and move it to `stage` if given.

    Raises 422 for what the workflow does not allow, `run_ended` (409) afterwards.
    """
    require_live(run)
    claims, found = _without_secrets(claims, run.tenant_id)
    reason = redacted_text(reason, run.tenant_id)
    _check(run, claims, stage)
    before, came_from = _standing(run, claims), run.stage
    _advance(run, stage if stage is not None else came_from)
    _upsert(run, claims)
    changes = {
        name: _change(claim, before, name) | found.get(name, {})
        for name, claim in claims.items()
    }
    return add_transition(
        verb,
        run,
        "run.facts_recorded",
        actor=actor,
        reason=reason,
        from_stage=came_from,
        changes=changes,
    )


def _without_secrets(
    claims: Mapping[str, Claim], tenant_id: UUID
) -> tuple[dict[str, Claim], dict[str, dict[str, list[str]]]]:
    """The claims as they may be kept, and what was taken out of which of them."""
    clean, found = {}, {}
    for name, claim in claims.items():
        value, kinds = redacted(claim.value, tenant_id)
        reference, more = redacted(claim.reference, tenant_id)
        clean[name] = replace(claim, value=value, reference=str(reference))
        if kinds or more:
            found[name] = {"redacted": kinds + more}
    return clean, found


def _check(run: Run, claims: Mapping[str, Claim], stage: str | None) -> None:
    if not claims and stage is None:
        raise NOTHING_TO_RECORD()
    contract = Contract.of(run.workflow)
    if stage is not None:
        contract.check_stage(run.stage, stage)
    for name, claim in claims.items():
        contract.check_fact(name, claim)
    if stage is not None and stage != run.stage and contract.required(stage):
        ages = {name: fact.age.total_seconds() for name, fact in facts_of(run).items()}
        contract.check_required(stage, {**ages, **dict.fromkeys(claims, 0.0)})


def _standing(run: Run, claims: Mapping[str, Claim]) -> dict[str, Any]:
    facts = Fact.objects.filter(
        tenant_id=run.tenant_id, run_id=run.id, name__in=claims.keys()
    )
    return dict(facts.values_list("name", "value"))


def _advance(run: Run, stage: str) -> None:
    rows = Run.objects.filter(
        tenant_id=run.tenant_id, id=run.id, version=run.version, state=run.state
    )
    update_exactly_one(rows, version=F("version") + 1, stage=stage)
    run.version, run.stage = run.version + 1, stage


def _upsert(run: Run, claims: Mapping[str, Claim]) -> None:
    facts = [
        Fact(
            tenant_id=run.tenant_id,
            run_id=run.id,
            name=name,
            version=run.version,
            observed_at=ClockTimestamp(),
            **{field: getattr(claim, field) for field in _WRITTEN},
        )
        for name, claim in claims.items()
    ]
    Fact.objects.bulk_create(
        facts,
        update_conflicts=True,
        unique_fields=["tenant", "run", "name"],
        update_fields=_UPSERTED,
    )


def _change(claim: Claim, before: Mapping[str, Any], name: str) -> dict[str, Any]:
    was = {"from": before[name]} if name in before else {}
    return {
        **was,
        "to": claim.value,
        "provenance": str(claim.provenance),
        "reference": claim.reference,
        "evidence_digest": claim.evidence_digest,
    }
