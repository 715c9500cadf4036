"""API keys: issued to an agent, shown once, dead from the moment of revocation."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import OperationalError
from django.db.models import Q

from audit.append import Actor
from kernel.clock import ClockTimestamp, database_now
from kernel.ids import new_id
from kernel.problems import declare
from kernel.scope import tenant_transaction
from kernel.update import update_exactly_one
from tenants import keys
from tenants.checks import Acting, Operator, permitted
from tenants.models import Agent, ApiKey, KeyUse
from tenants.scopes import ALONE, SCOPES
from tenants.services.change import change, own
from tenants.services.names import checked_name
from tenants.verbs import Verb, is_retriable

USE_NOTED_EVERY: Final = timedelta(minutes=1)
UNKNOWN_SCOPE: Final = declare("unknown_scope", status=422, title="No such scope")
SCOPE_ALONE: Final = declare(
    "scope_alone", status=422, title="This scope goes into a key of its own"
)
ENVIRONMENT: Final = declare(
    "environment_invalid", status=422, title="An environment is a short lower-case word"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """A new key; `text` is the key itself, to be shown now and never again."""

    key: ApiKey
    text: str


def issue_key(
    *,
    tenant_id: UUID,
    by: Acting,
    agent_id: UUID,
    name: str,
    environment: str,
    scopes: Collection[str] = tuple(SCOPES),
    expires_at: datetime | None = None,
) -> Issued:
    """Issue a key to an agent. Takes no idempotency key: the answer is a secret.

    The member who issues it never approves what comes with it. Raises `unknown_scope`,
    `scope_alone` and `environment_invalid` (422).
    """

    def work(verb: Verb) -> Issued:
        actor = permitted(tenant_id, by)
        return cut_key(
            verb,
            actor=actor,
            agent=own(Agent, tenant_id, agent_id),
            name=name,
            environment=environment,
            scopes=scopes,
            created_by=None if isinstance(by, Operator) else by,
            expires_at=expires_at,
        )

    return change(tenant_id, work)


def revoke_key(*, tenant_id: UUID, by: Acting, key_id: UUID) -> None:
    """Revoke a key; the next request with it fails. Raises `lost_race` (409) if it
    was revoked before."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by, while_stopped=True)
        own(ApiKey, tenant_id, key_id)
        live = ApiKey.objects.filter(tenant_id=tenant_id, id=key_id, revoked_at=None)
        update_exactly_one(live, revoked_at=ClockTimestamp())
        verb.record("key.revoked", actor=actor, subject=("key", key_id))

    change(tenant_id, work)


def rotate_key(
    *, tenant_id: UUID, by: Acting, key_id: UUID, overlap: timedelta
) -> Issued:
    """Issue the key's successor, and let the key itself end after `overlap`.

    The successor opens the same and lives as long as the key was meant to, from now.
    What was asked with the former key and is not done by its end is not done any more.
    Raises `lost_race` (409) if the key is dead already.
    """

    def work(verb: Verb) -> Issued:
        actor = permitted(tenant_id, by)
        key, now = own(ApiKey, tenant_id, key_id), database_now()
        ends = min(filter(None, [key.expires_at, now + overlap]))
        live = Q(expires_at=None) | Q(expires_at__gt=now)
        rows = ApiKey.objects.filter(live, tenant_id=tenant_id, id=key_id)
        update_exactly_one(rows.filter(revoked_at=None), expires_at=ends)
        issued = cut_key(
            verb,
            actor=actor,
            agent=key.agent,
            name=key.name,
            environment=key.environment,
            scopes=key.scopes,
            created_by=None if isinstance(by, Operator) else by,
            expires_at=now + (key.expires_at - key.created_at)
            if key.expires_at
            else None,
        )
        data = {"to": str(issued.key.id), "expires_at": ends.isoformat()}
        verb.record("key.rotated", actor=actor, subject=("key", key_id), data=data)
        return issued

    return change(tenant_id, work)


def is_to_be_noted(now: datetime, used_at: datetime | None) -> bool:
    """Whether the last use that was noted is not of a moment ago."""
    return used_at is None or now - used_at >= USE_NOTED_EVERY


def note_uses(tenant_id: UUID, key_ids: Collection[UUID]) -> None:
    """Note that these keys have just opened the door.

    It changes nobody's rights and is in no log: people see it beside the key. Nobody
    waits for it, and nobody is turned away for its sake.
    """
    if not key_ids:
        return
    try:
        with tenant_transaction(tenant_id):
            KeyUse.objects.bulk_create(
                [KeyUse(tenant_id=tenant_id, key_id=id) for id in sorted(key_ids)],
                update_conflicts=True,
                unique_fields=["tenant", "key"],
                update_fields=["last_at"],
            )
    except OperationalError as error:
        if not is_retriable(error):
            raise


def cut_key(
    verb: Verb,
    *,
    actor: Actor,
    agent: Agent,
    name: str,
    environment: str,
    scopes: Collection[str],
    created_by: UUID | None,
    expires_at: datetime | None = None,
) -> Issued:
    """Issue a key inside a verb that has checked the right to."""
    _refuse_unknown(scopes, environment)
    key_id = new_id()
    text = keys.issue(key_id=key_id, environment=environment)
    key = ApiKey.objects.create(
        id=key_id,
        tenant_id=verb.tenant_id,
        agent=agent,
        name=checked_name(name),
        environment=environment,
        scopes=sorted(set(scopes)),
        hash=keys.digest_of(text),
        created_by_id=created_by,
        expires_at=expires_at,
    )
    data = {
        "agent": str(agent.id),
        "environment": environment,
        "scopes": key.scopes,
        "expires_at": expires_at.isoformat() if expires_at else None,
    }
    verb.record("key.issued", actor=actor, subject=("key", key.id), data=data)
    return Issued(key=key, text=text)


def _refuse_unknown(scopes: Collection[str], environment: str) -> None:
    known = SCOPES | ALONE
    unknown = set(scopes) - set(known)
    if unknown:
        raise UNKNOWN_SCOPE(f"{min(unknown)!r} is none of {', '.join(known)}.")
    alone = set(scopes) & set(ALONE)
    if alone and set(scopes) != alone:
        raise SCOPE_ALONE(f"Issue a key for {min(alone)!r} and nothing else.")
    if not keys.ENVIRONMENT.fullmatch(environment):
        raise ENVIRONMENT("Use 1 to 32 of a-z, 0-9 and hyphens inside.")
