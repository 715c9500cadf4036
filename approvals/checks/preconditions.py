"""Facts that must still be true, and young enough, when the action happens."""

from typing import Any, Final

from approvals.checks.matter import Matter
from kernel.canonical import digest
from kernel.outcome import Refused
from sessions.contract import Contract
from sessions.models import Fact

FACT_DOMAIN: Final = "keyturn/fact/v1"


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
