"""The run's typed facts with what vouches for them, and what must hold when it acts."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from approvals.pages.case.record import CaseRecord
from approvals.presentation.arguments import exact_text
from approvals.presentation.case import FactRow, PreconditionRow, RadiusRow
from approvals.presentation.words import counted
from checkpoints.models import Tool
from kernel.canonical import digest
from sessions.models import Fact

FACT_DOMAIN = "keyturn/fact/v1"


def fact_rows(facts: Sequence[Fact]) -> tuple[FactRow, ...]:
    """Facts as they stand now, by name."""
    return tuple(
        FactRow(
            name=fact.name,
            value=exact_text(fact.value),
            provenance=fact.provenance,
            reference=fact.reference,
            observed_at=fact.observed_at,
        )
        for fact in facts
    )


def precondition_rows(record: CaseRecord) -> tuple[PreconditionRow, ...]:
    """What the sealed record demands, and whether it is true at this moment."""
    facts = {fact.name: fact for fact in record.facts}
    return tuple(
        _precondition(wanted, facts.get(wanted["field"]), record.now)
        for wanted in record.sealed.get("preconditions", ())
    )


def _precondition(
    wanted: Mapping[str, Any], fact: Fact | None, now: datetime
) -> PreconditionRow:
    most = wanted.get("max_age")
    return PreconditionRow(
        field=wanted["field"],
        equals=exact_text(wanted["equals"]) if "equals" in wanted else "",
        current=None if fact is None else exact_text(fact.value),
        max_age=None if most is None else timedelta(seconds=most),
        holds=fact is not None and _holds(wanted, fact, now),
    )


def _holds(wanted: Mapping[str, Any], fact: Fact, now: datetime) -> bool:
    """As the check will ask it; compared as JSON, since Python takes true for 1."""
    most = wanted.get("max_age")
    if most is not None and (now - fact.observed_at).total_seconds() > most:
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
