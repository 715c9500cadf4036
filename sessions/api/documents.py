"""What the doors answer with, read inside the tenant's scope."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from kernel.clock import database_now
from sessions.contract import Contract
from sessions.history import FactThen, StateThen, differences
from sessions.hooks import hooks
from sessions.models import Branch, Item, Removal, Run, Session, Transition
from sessions.queries import TRUNK, FactNow, facts_of, waiting_sessions
from tenants.rest.answers import json_text


def session_document(session: Session) -> dict[str, Any]:
    """A session by itself."""
    waits = waiting_sessions([session.id])
    return session_row(session, waits=session.id in waits)


def session_row(session: Session, *, waits: bool) -> dict[str, Any]:
    """A session in a list, where it is known already which of them wait."""
    return {
        "id": session.id,
        "subject": session.subject,
        "title": session.title,
        "external_id": session.external_id,
        "state": "waiting" if waits else "open",
        "created_at": session.created_at,
    }


def places_document(items: Sequence[Item]) -> dict[str, Any]:
    """Where added items are."""
    return {"items": [{"id": one.id, "position": one.position} for one in items]}


def branch_document(branch: Branch) -> dict[str, Any]:
    """A branch of a session."""
    return {
        "number": branch.number,
        "origin": branch.origin,
        "at": branch.at,
        "created_at": branch.created_at,
    }


def removal_document(removal: Removal | None) -> dict[str, Any]:
    """What was taken back, if anything was there."""
    return {"removed": removal.count if removal else 0}


def popped_document(item: Item | None) -> dict[str, Any]:
    """Which item was taken back; its text is not stored with the answer."""
    return {"id": item.id if item else None}


def popped_text(item: Item | None) -> str:
    """The JSON text of the item that was taken back, with the very text of it."""
    return f'{{"item":{_item_text(item) if item else "null"}}}'


def items_text(items: Sequence[Item], *, more: bool) -> str:
    """The JSON text of items, each with the very text that was added."""
    rows = ",".join(_item_text(item) for item in items)
    return f'{{"items":[{rows}],"more":{"true" if more else "false"}}}'


def run_document(run: Run) -> dict[str, Any]:
    """A run with its facts, and what it waits for."""
    return {
        **run_row(run),
        "facts": {
            name: _fact(fact, lapsed=_has_lapsed(run, name, fact.age))
            for name, fact in shown_to_agent(run, facts_of(run)).items()
        },
        "open_requests": list(hooks.open_requests([run.id]).get(run.id, ())),
    }


def shown_to_agent[F](run: Run, facts: Mapping[str, F]) -> dict[str, F]:
    """Of facts by their names those that the workflow lets the agent read back."""
    contract = Contract.of(run.workflow)
    return {name: fact for name, fact in facts.items() if contract.shows_agent(name)}


def run_row(run: Run) -> dict[str, Any]:
    """A run in a list; its workflow must be at hand."""
    return {
        "id": run.id,
        "session": run.session_id,
        "state": run.state,
        "workflow": run.workflow.kind,
        "workflow_version": run.workflow.version,
        "stage": run.stage,
        "branch": run.branch or TRUNK,
        "external_id": run.external_id,
        "fence": run.fence,
        "lease_until": run.due_at,
        "head": _head(run),
        "version": run.version,
        "reason": run.reason,
        "result": run.result,
        "asks_only": run.asks_only,
        "created_at": run.created_at,
        "ended_at": run.ended_at,
    }


def version_document(transition: Transition) -> dict[str, Any]:
    """What a recorded transition made of the run."""
    return {"version": transition.version, "seq": transition.seq}


def transition_document(run: Run, transition: Transition) -> dict[str, Any]:
    """One row of a run's history, as its agent may read it."""
    return {
        **version_document(transition),
        "from_state": transition.from_state,
        "to_state": transition.to_state,
        "from_stage": transition.from_stage,
        "to_stage": transition.to_stage,
        "changes": shown_to_agent(run, transition.changes),
        "actor": {"type": transition.actor_type, "id": transition.actor_id},
        "reason": transition.reason,
        "created_at": transition.created_at,
    }


def state_document(run: Run, then: StateThen) -> dict[str, Any]:
    """A run's state as it was, as its agent may read it."""
    shown, now = shown_to_agent(run, then.facts), database_now()
    facts = {name: _then(run, name, fact, now) for name, fact in shown.items()}
    return {**_place_in_history(then), "seq": then.seq, "facts": facts}


def diff_document(run: Run, before: StateThen, after: StateThen) -> dict[str, Any]:
    """What differs between two states of a run, as its agent may read it."""
    shows, now = Contract.of(run.workflow).shows_agent, database_now()
    differ = [one for one in differences(before, after) if shows(one.name)]
    return {
        "before": _place_in_history(before),
        "after": _place_in_history(after),
        "facts": [
            {
                "name": one.name,
                "before": _then(run, one.name, one.before, now),
                "after": _then(run, one.name, one.after, now),
            }
            for one in differ
        ],
    }


def _place_in_history(then: StateThen) -> dict[str, Any]:
    return {
        "version": then.version,
        "state": then.state,
        "stage": then.stage,
        "at": then.at,
    }


def _head(run: Run) -> dict[str, Any] | None:
    if run.head_digest is None:
        return None
    return {"number": run.head_number, "digest": bytes(run.head_digest).hex()}


def _has_lapsed(run: Run, name: str, age: timedelta) -> bool:
    return Contract.of(run.workflow).has_lapsed(name, age.total_seconds())


def _then(run: Run, name: str, fact: FactThen | None, now: datetime) -> Any:
    """A fact as it was; whether it still counts is said of today."""
    if fact is None:
        return None
    return {**asdict(fact), "lapsed": _has_lapsed(run, name, now - fact.observed_at)}


def _fact(fact: FactNow, *, lapsed: bool) -> dict[str, Any]:
    return {
        "value": fact.value,
        "provenance": fact.provenance,
        "reference": fact.reference,
        "evidence_digest": fact.evidence_digest,
        "observed_at": fact.observed_at,
        "age_seconds": round(fact.age.total_seconds(), 3),
        "version": fact.version,
        "lapsed": lapsed,
    }


def _item_text(item: Item) -> str:
    """The raw text goes in as it is: parsing it could only change it."""
    frame = {
        "id": item.id,
        "position": item.position,
        "run": item.run,
        "fence": item.fence,
        "branch": item.branch,
        "created_at": item.created_at,
    }
    return f'{json_text(frame)[:-1]},"data":{item.raw}}}'
