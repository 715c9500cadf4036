"""Facts that must still be true, and young enough, when the action happens."""

from typing import Any, Final

from approvals.checks.matter import Matter
from audit.evidence import Signed, signed_entries
from kernel.canonical import digest
from kernel.outcome import Refused
from kernel.problems import Problem
from sessions.contract import Contract
from sessions.models import Fact, Transition
from sessions.runs import transition_digest

FACT_DOMAIN: Final = "keyturn/fact/v1"
STATED: Final = "run.facts_recorded"
ALTERED: Final = Refused(
    "authority.fact_not_in_audit",
    "A fact of the run is not as the audit log has it.",
    "stop",
)


def check_facts(matter: Matter) -> Refused | None:
    """The run's facts as they were last stated, and signed: no other value, none younger.

    A precondition or a selector that reads a row must not take a stranger's word for it.
    """
    try:
        return None if _are_as_stated(matter) else ALTERED
    except Problem:  # a value that nobody could have stated
        return ALTERED


def _are_as_stated(matter: Matter) -> bool:
    rows = {fact.name: fact for fact in Fact.objects.filter(run_id=matter.run.id)}
    stated = _stated(matter)
    if stated is None or rows.keys() != stated.keys():
        return False
    return all(_is_as_stated(rows[name], *stated[name]) for name in rows)


def _stated(matter: Matter) -> dict[str, tuple[Transition, Signed]] | None:
    """By fact, the change that stated it last; None if one is not as it was signed."""
    entries = signed_entries(matter.tenant.id, kinds=[STATED], subjects=[matter.run.id])
    seqs = [one.data["seq"] for one in entries]
    rows = Transition.objects.filter(run_id=matter.run.id, seq__in=seqs)
    changes = {row.seq: row for row in rows}
    last: dict[str, tuple[Transition, Signed]] = {}
    for entry in entries:
        change = changes.get(entry.data["seq"])
        if change is None or transition_digest(change).hex() != entry.data["digest"]:
            return None
        last |= dict.fromkeys(change.changes, (change, entry))
    return last


def _is_as_stated(fact: Fact, change: Transition, entry: Signed) -> bool:
    said = change.changes[fact.name]
    vouched = ("provenance", "reference", "evidence_digest")
    return (
        fact.version == change.version
        and fact.observed_at <= entry.at
        and not _unlike(said["to"], fact.value)
        and all(getattr(fact, name) == said[name] for name in vouched)
    )


def check_preconditions(matter: Matter) -> Refused | None:
    """Each precondition against the run's typed facts as they are now."""
    wanted = matter.envelope.action.preconditions
    if not wanted:
        return None
    names = [one["field"] for one in wanted]
    rows = Fact.objects.filter(run_id=matter.run.id, name__in=names)
    facts = {fact.name: fact for fact in rows}
    answers = (_check(one, facts.get(one["field"]), matter) for one in wanted)
    return next((answer for answer in answers if answer is not None), None)


def _check(wanted: dict[str, Any], fact: Fact | None, matter: Matter) -> Refused | None:
    name = wanted["field"]
    if fact is None:
        return _refuse("precondition_missing", f"The run no longer states {name}.")
    contract = Contract.of(matter.run.workflow)
    age = (matter.now - fact.observed_at).total_seconds()
    if contract.has_lapsed(name, age):
        return _refuse("precondition_missing", f"The lifetime of {name} is over.")
    if "equals" in wanted and _unlike(wanted["equals"], fact.value):
        return _refuse("precondition_failed", f"{name} has changed since.")
    most = _most(wanted.get("max_age"), contract.max_age(name))
    if most is not None and age > most:
        seen = f"{name} was last seen {age:,.0f} seconds ago, too long ago"
        return _refuse("precondition_stale", f"{seen}: {most:,} are allowed.")
    return None


def _most(*ages: int | None) -> int | None:
    """The shorter of what the request allows and what the workflow does."""
    return min((age for age in ages if age is not None), default=None)


def _unlike(wanted: Any, found: Any) -> bool:
    return digest(FACT_DOMAIN, wanted) != digest(FACT_DOMAIN, found)


def _refuse(code: str, reason: str) -> Refused:
    return Refused(f"authority.{code}", reason, "reopen")
