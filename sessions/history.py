"""What a run's state was: at a version of its facts, or at a time; and what changed.

Transitions are only ever added, so whatever was true once can be told again. Inside the
tenant's scope.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Min, Q

from kernel.canonical import digest
from kernel.problems import NOT_FOUND
from sessions.models import Run, Transition
from sessions.queries import transitions_of

_SAME: Final = "keyturn/fact/v1"
_FACTS: Final = """
SELECT DISTINCT ON (said.key) said.key, said.value::text, t.version, t.created_at
FROM agent_sessions_transition t, jsonb_each(t.changes) AS said
WHERE t.tenant_id = %s AND t.run_id = %s AND t.seq <= %s
ORDER BY said.key, t.seq DESC
"""
_FACTS_AT: Final = """
SELECT DISTINCT ON (m.id, said.key)
  m.id, said.key, said.value::text, extract(epoch FROM m.at - t.created_at)
FROM unnest(%s::uuid[], %s::uuid[], %s::timestamptz[]) AS m (id, run, at)
JOIN agent_sessions_transition t
  ON t.tenant_id = %s AND t.run_id = m.run AND t.created_at <= m.at,
  jsonb_each(t.changes) AS said
ORDER BY m.id, said.key, t.seq DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactThen:
    """A fact as it stood, and what vouched for it."""

    value: Any
    provenance: str
    reference: str
    evidence_digest: str
    observed_at: datetime
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StateThen:
    """A run after one of its transitions. `facts` are by name."""

    seq: int
    version: int
    state: str
    stage: str
    at: datetime
    facts: Mapping[str, FactThen]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDiff:
    """One fact that differs; None on the side where it was not stated."""

    name: str
    before: FactThen | None
    after: FactThen | None


def state_at_version(run: Run, version: int) -> StateThen:
    """After the last transition of that version. Raises `not_found` for one to come."""
    if version > run.version:
        raise NOT_FOUND("The facts have not come to this version.")
    return _after(run, transitions_of(run).filter(version__lte=version))


def state_at_time(run: Run, at: datetime) -> StateThen:
    """As it was then. Raises `not_found` (404) for a time before the run began."""
    return _after(run, transitions_of(run).filter(created_at__lte=at))


def stood(run: Run, version: int) -> tuple[datetime, datetime | None]:
    """When that version came, and when the next one did; None: it still stands."""
    times = transitions_of(run).aggregate(
        since=Min("created_at", filter=Q(version=version)),
        until=Min("created_at", filter=Q(version__gt=version)),
    )
    return times["since"], times["until"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A run at a time; `id` is whatever the caller knows it by."""

    id: UUID
    run_id: UUID
    at: datetime


def values_at(
    tenant_id: UUID, moments: Sequence[Moment]
) -> dict[UUID, dict[str, tuple[Any, float]]]:
    """For each moment, the facts that stood: value and age in seconds. One statement."""
    ids = [one.id for one in moments]
    runs, times = [one.run_id for one in moments], [one.at for one in moments]
    found: dict[UUID, dict[str, tuple[Any, float]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_FACTS_AT, [ids, runs, times, tenant_id])
        for moment, name, text, age in cursor.fetchall():
            said = _decoded(text)
            if "to" in said:
                found.setdefault(moment, {})[name] = (said["to"], float(age))
    return found


def differences(before: StateThen, after: StateThen) -> list[FactDiff]:
    """The facts whose values are not the same, by name."""
    names = sorted({*before.facts, *after.facts})
    pairs = [(name, before.facts.get(name), after.facts.get(name)) for name in names]
    return [
        FactDiff(name=name, before=then, after=now)
        for name, then, now in pairs
        if _meaning(then) != _meaning(now)
    ]


def _after(run: Run, rows: Any) -> StateThen:
    last: Transition | None = rows.order_by("-seq").first()
    if last is None:
        raise NOT_FOUND("The run had not begun.")
    return StateThen(
        seq=last.seq,
        version=last.version,
        state=last.to_state,
        stage=last.to_stage,
        at=last.created_at,
        facts=_facts(run, last.seq),
    )


def _facts(run: Run, seq: int) -> dict[str, FactThen]:
    with connection.cursor() as cursor:
        cursor.execute(_FACTS, [run.tenant_id, run.id, seq])
        rows = cursor.fetchall()
    return {
        name: _fact(decoded, version, at)
        for name, said, version, at in rows
        if "to" in (decoded := _decoded(said))
    }


def _decoded(text: str) -> dict[str, Any]:
    # As the column's own field reads it, so that a number is what a fact's number is.
    field: Any = Transition._meta.get_field("changes")
    decoded: dict[str, Any] = field.from_db_value(text, None, connection)
    return decoded


def _fact(said: Mapping[str, Any], version: int, at: datetime) -> FactThen:
    return FactThen(
        value=said["to"],
        provenance=said.get("provenance", ""),
        reference=said.get("reference", ""),
        evidence_digest=said.get("evidence_digest", ""),
        observed_at=at,
        version=version,
    )


def _meaning(fact: FactThen | None) -> bytes | None:
    """Equal for equal values, and for nothing else: in Python True is also 1."""
    return None if fact is None else digest(_SAME, fact.value)
