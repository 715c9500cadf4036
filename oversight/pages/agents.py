"""The pages of agents, from rows; inside the tenant's scope."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Max, Q
from django.db.models.functions import Trunc

from approvals.pages.addresses import address
from approvals.presentation.shell import Empty, Notice
from kernel.clock import ClockTimestamp, database_now
from kernel.problems import NOT_FOUND
from oversight.pages.keyset import PAGE, from_after, pages_after
from oversight.presentation.agents import (
    AgentRow,
    AgentsView,
    AgentView,
    KeyRow,
    OwnerRow,
    Pace,
)
from oversight.presentation.forms import Choice, Form
from tenants.access import OWNERS, Membership
from tenants.models import Agent, AgentOwner, ApiKey, AskCount, KeyUse, Tenant
from tenants.queries import active_members, addresses_of, asks_unusually
from tenants.scopes import ALONE, SCOPES

KEYS: Final = 100
NONE: Final = Empty(
    title="No agent yet",
    sentence="Create one below; it asks with a key, and never decides.",
    icon="agent",
)


def agents_view(
    member: Membership, after: str, *, form: Form | None = None
) -> AgentsView:
    """One page of them by name, and the form for one more."""
    found = from_after(Agent.objects.all(), "name", after)
    now = database_now()
    quota = form if form and form.act == "limit" else None
    if form is None or quota is not None:
        form = Form(typed={"member": str(member.member_id)})
    return AgentsView(
        rows=_rows(member.slug, found[:PAGE], now),
        pages=pages_after("agents", member.slug, after, [one.name for one in found]),
        people=people(member.tenant_id, form.typed.get("member", "")),
        form=form,
        here=address("agents", member.slug),
        stop_href=address("tenant_stop", member.slug) if member.role in OWNERS else "",
        quota_form=_quota_form(quota, Tenant.objects.get().asks_per_minute),
        empty=None if found else NONE,
        now=now,
    )


def agent_view(
    member: Membership,
    agent_id: UUID,
    *,
    form: Form | None = None,
    secret: str = "",
    notice: Notice | None = None,
) -> AgentView:
    """One agent with its owners and keys. Raises `not_found`."""
    agent = Agent.objects.filter(id=agent_id).first()
    if agent is None:
        raise NOT_FOUND()
    now, owners = database_now(), _owners([agent])[agent.id]
    keys = _keys(agent)
    forms = {form.act: form} if form else {}
    key_form = forms.get("issue", Form(ticked=frozenset(SCOPES)))
    return AgentView(
        back_href=address("agents", member.slug),
        here=address("agent", member.slug, agent.id),
        stop_href=address("agent_stop", member.slug, agent.id),
        name=agent.name,
        state=state_of(agent),
        owners=tuple(map(_owner, owners)),
        others=_others(member.tenant_id, owners),
        keys=tuple(_key(one, used, now) for one, used in keys[:KEYS]),
        more_keys=max(0, len(keys) - KEYS),
        scopes=_scopes(key_form),
        owner_form=forms.get("add_owner", Form()),
        key_form=key_form,
        quota_form=_quota_form(forms.get("limit"), agent.asks_per_minute),
        pace=_pace(agent),
        now=now,
        secret=secret,
        notice=notice,
    )


def _quota_form(form: Form | None, most: int | None) -> Form:
    return form or Form(act="limit", typed={"per_minute": str(most or "")})


def _pace(agent: Agent) -> Pace:
    """This minute, and what was usual when it was last looked at."""
    of_tenant = Tenant.objects.get().asks_per_minute
    rows = AskCount.objects.filter(agent=agent)
    looked = rows.filter(looked=True).order_by("-minute").first()
    this = rows.filter(minute=Trunc(ClockTimestamp(), "minute")).first()
    return Pace(
        most=agent.asks_per_minute or of_tenant,
        of_tenant=of_tenant,
        asked=this.asked if this else 0,
        usual=looked.usual if looked else None,
        unusual=Agent.objects.filter(asks_unusually("id"), id=agent.id).exists(),
    )


def people(tenant_id: UUID, chosen: str = "") -> tuple[Choice, ...]:
    """Everybody who may act, by name; those of one name are told apart by address."""
    rows = active_members(tenant_id).select_related("user")
    found = list(rows.order_by("name", "user__email"))
    addresses = addresses_of(found)
    return tuple(
        Choice(
            value=str(one.id),
            text=f"{one.name} · {addresses[one.id]}",
            chosen=str(one.id) == chosen,
        )
        for one in found
    )


def state_of(agent: Agent) -> str:
    return "on" if agent.enabled else "off"


def _rows(slug: str, agents: list[Agent], now: datetime) -> tuple[AgentRow, ...]:
    owners, keys = _owners(agents), _live_keys(agents, now)
    used = _used(agents)
    return tuple(
        AgentRow(
            href=address("agent", slug, one.id),
            name=one.name,
            state=state_of(one),
            owners=tuple(owner.member.name for owner in owners[one.id]),
            environments=tuple(sorted({key.environment for key in keys[one.id]})),
            keys=len(keys[one.id]),
            used_at=used.get(one.id),
        )
        for one in agents
    )


def _owners(agents: Iterable[Agent]) -> Mapping[UUID, list[AgentOwner]]:
    rows = AgentOwner.objects.filter(agent__in=agents, until=None)
    found: dict[UUID, list[AgentOwner]] = defaultdict(list)
    for one in rows.select_related("member__user").order_by("since", "id"):
        found[one.agent_id].append(one)
    return found


def _live_keys(agents: list[Agent], now: datetime) -> Mapping[UUID, list[ApiKey]]:
    opens = Q(expires_at=None) | Q(expires_at__gt=now)
    found: dict[UUID, list[ApiKey]] = defaultdict(list)
    for one in ApiKey.objects.filter(opens, agent__in=agents, revoked_at=None):
        found[one.agent_id].append(one)
    return found


def _used(agents: list[Agent]) -> Mapping[UUID, datetime]:
    """When each opened the door last, with whichever of its keys."""
    rows = KeyUse.objects.filter(key__agent__in=agents).order_by()
    return dict(rows.values_list("key__agent_id").annotate(last=Max("last_at")))


def _keys(agent: Agent) -> list[tuple[ApiKey, datetime | None]]:
    """Newest first, each with its last use."""
    rows = ApiKey.objects.filter(agent=agent).select_related("created_by")
    uses = dict(KeyUse.objects.filter(key__agent=agent).values_list("key", "last_at"))
    return [(one, uses.get(one.id)) for one in rows.order_by("-created_at", "-id")]


def _owner(row: AgentOwner) -> OwnerRow:
    return OwnerRow(
        id=str(row.member_id),
        name=row.member.name,
        active=row.member.active and row.member.user.is_active,
        since=row.since,
    )


def _others(tenant_id: UUID, owners: list[AgentOwner]) -> tuple[Choice, ...]:
    known = {str(one.member_id) for one in owners}
    return tuple(one for one in people(tenant_id) if one.value not in known)


def _key(row: ApiKey, used_at: datetime | None, now: datetime) -> KeyRow:
    return KeyRow(
        id=str(row.id),
        name=row.name,
        state=_key_state(row, now),
        environment=row.environment,
        scopes=tuple(row.scopes),
        issued_by=row.created_by.name if row.created_by else "An operator",
        issued_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        used_at=used_at,
    )


def _key_state(row: ApiKey, now: datetime) -> str:
    if row.revoked_at is not None:
        return "revoked"
    if row.expires_at is None:
        return "live"
    return "expired" if row.expires_at <= now else "ending"


def _scopes(form: Form) -> tuple[Choice, ...]:
    return tuple(
        Choice(value=scope, text=words, chosen=scope in form.ticked)
        for scope, words in (SCOPES | ALONE).items()
    )
