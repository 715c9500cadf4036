"""The run's typed facts with what vouches for them, and what must hold when it acts."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from approvals.pages.case.reading import Reading
from approvals.pages.case.record import CaseRecord
from approvals.presentation.arguments import exact_text
from approvals.presentation.case import FactRow, PreconditionRow, RadiusRow
from approvals.presentation.words import counted
from checkpoints.models import Tool
from kernel.canonical import digest
from sessions.models import Fact

FACT_DOMAIN = "keyturn/fact/v1"


def fact_rows(facts: Sequence[Fact], reading: Reading) -> tuple[FactRow, ...]:
    """Facts as they stand now, by name."""
    return tuple(_row(fact, reading) for fact in facts)


def _row(fact: Fact, reading: Reading) -> FactRow:
    shown = reading.shows(fact.name)
    return FactRow(
        name=fact.name,
        value=exact_text(fact.value) if shown else "",
        provenance=fact.provenance,
        reference=fact.reference if shown else "",
        observed_at=fact.observed_at,
        withheld=not shown,
        lapsed=reading.has_lapsed(fact),
    )


def precondition_rows(record: CaseRecord) -> tuple[PreconditionRow, ...]:
    """What the sealed record demands, and whether it is true at this moment."""
    facts = {fact.name: fact for fact in record.facts}
    return tuple(
        _precondition(wanted, facts.get(wanted["field"]), record.reading)
        for wanted in record.sealed.get("preconditions", ())
    )


def _precondition(
    wanted: Mapping[str, Any], fact: Fact | None, reading: Reading
) -> PreconditionRow:
    most, shown = wanted.get("max_age"), reading.shows(wanted["field"])
    return PreconditionRow(
        field=wanted["field"],
        equals=exact_text(wanted["equals"]) if "equals" in wanted else "",
        current=exact_text(fact.value) if fact is not None and shown else None,
        max_age=None if most is None else timedelta(seconds=most),
        holds=fact is not None and _holds(wanted, fact, reading),
        withheld=fact is not None and not shown,
    )


def _holds(wanted: Mapping[str, Any], fact: Fact, reading: Reading) -> bool:
    """As the check will ask it; compared as JSON, since Python takes true for 1."""
    most = (wanted.get("max_age"), reading.contract.max_age(fact.name))
    if any(one is not None and reading.age(fact) > one for one in most):
        return False
    if reading.has_lapsed(fact):
        return False
    if "equals" not in wanted:
        return True
    return digest(FACT_DOMAIN, wanted["equals"]) == digest(FACT_DOMAIN, fact.value)


def radius(tool: Tool) -> tuple[RadiusRow, ...]:
    """What the tool's definition says of where it reaches and what can be undone."""
    said = tool.definition
    rows = [_reach(tool), _unsure(tool)]
    if tool.mode == Tool.Mode.MANAGED:
        tries = int(said.get("attempts", 3))
        note = "all under one idempotency key" if said.get("resend") else ""
        sent = RadiusRow(
            icon="undo",
            label="Sent at most",
            value=counted(tries, "time") if said.get("resend") else "once",
            note=note or "again only once the tool says that nothing happened",
        )
        rows.append(sent)
    return tuple(rows)


def _reach(tool: Tool) -> RadiusRow:
    url = str(tool.definition.get("url", ""))
    if tool.mode == Tool.Mode.AGENT or not url:
        return RadiusRow(
            icon="reach",
            label="Reaches",
            value="what the agent reaches",
            note="it acts itself, once, with these arguments",
        )
    return RadiusRow(icon="reach", label="Reaches", value=_host(url), note=url)


def _host(url: str) -> str:
    return url.split("://", 1)[-1].split("/", 1)[0]


def _unsure(tool: Tool) -> RadiusRow:
    if tool.definition.get("status_url"):
        value, note = "it can be asked", "by the effect’s key"
    else:
        value, note = "a person finds out", "the tool has no status query"
    return RadiusRow(icon="unknown", label="If unsure", value=value, note=note)
