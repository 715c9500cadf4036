"""The page of a tenant's own provider, from rows; inside the tenant's scope."""

from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from approvals.pages.addresses import address
from approvals.presentation.shell import Notice
from oversight.presentation.forms import Choice, Form
from oversight.presentation.single_sign_on import (
    LinkRow,
    MappingRow,
    SingleSignOnView,
)
from tenants.access import Membership
from tenants.models import (
    ExternalIdentity,
    Group,
    GroupMapping,
    Role,
    SingleSignOn,
)
from tenants.queries import active_members, open_links
from tenants.services.single_sign_on import ROLES

ITS_OWN_NAME: Final = "https://…, exactly as it calls itself"
FOR_OWNERS: Final = "only an owner names another one"


def single_sign_on_view(
    member: Membership,
    *,
    form: Form | None = None,
    link: str = "",
    notice: Notice | None = None,
) -> SingleSignOnView:
    """What is set, without the secret; and a form as it was typed, where one was."""
    config = SingleSignOn.objects.filter(tenant_id=member.tenant_id).first()
    shown = form or Form()
    set_up = shown if shown.act == "configure" else _as_it_is(config)
    members = active_members(member.tenant_id)
    is_owner = member.role is Role.OWNER
    return SingleSignOnView(
        back_href=address("people", member.slug),
        here=address("single_sign_on", member.slug),
        entrance=_whole(reverse("sso", args=[member.slug])),
        issuer_hint=ITS_OWN_NAME if is_owner else FOR_OWNERS,
        redirect_uri=_whole(reverse("sso_callback", args=[member.slug])),
        configured=config is not None,
        admits=config is not None and config.admits,
        refuses_passwords=config is not None and config.refuses_passwords,
        is_owner=is_owner,
        may_refuse=is_owner and member.identity is not None,
        connected=_connected(config),
        members=members.count(),
        roles=_roles(set_up.typed.get("role", Role.REVIEWER)),
        link_roles=_roles(shown.typed.get("role", Role.REVIEWER)),
        mappings=_mappings(),
        links=_links(member),
        groups=_groups(),
        form=set_up,
        mapping_form=_of("map", shown),
        link_form=_of("link", shown),
        link=_whole(reverse("sso", args=[member.slug]), link=link) if link else "",
        notice=notice,
    )


def _as_it_is(config: SingleSignOn | None) -> Form:
    if config is None:
        return Form(act="configure")
    return Form(
        act="configure",
        typed={
            "issuer": config.issuer,
            "client_id": config.client_id,
            "groups_claim": config.groups_claim,
            "role": config.role,
            "admits": "on" if config.admits else "",
        },
    )


def _of(act: str, form: Form) -> Form:
    return form if form.act == act else Form(act=act)


def _connected(config: SingleSignOn | None) -> int:
    if config is None:
        return 0
    rows = ExternalIdentity.objects.filter(issuer=config.issuer, ended_at=None)
    return rows.filter(member__active=True, member__user__is_active=True).count()


def _mappings() -> tuple[MappingRow, ...]:
    rows = GroupMapping.objects.select_related("group").order_by("value", "group__name")
    return tuple(
        MappingRow(id=str(one.id), value=one.value, group=one.group.name)
        for one in rows
    )


def _links(member: Membership) -> tuple[LinkRow, ...]:
    rows = open_links(member.tenant_id).select_related("created_by")
    return tuple(
        LinkRow(
            id=str(one.id),
            name=one.name,
            role=Role(one.role).label,
            by=one.created_by.name if one.created_by else "An operator",
            ends_at=one.expires_at,
        )
        for one in rows.order_by("expires_at", "id")
    )


def _groups() -> tuple[Choice, ...]:
    rows = Group.objects.order_by("name")
    return tuple(Choice(value=str(one.id), text=one.name) for one in rows)


def _roles(chosen: str) -> tuple[Choice, ...]:
    return tuple(
        Choice(value=role.value, text=role.label, chosen=role.value == chosen)
        for role in Role
        if role in ROLES
    )


def _whole(path: str, **query: str) -> str:
    ending = f"?{urlencode(query)}" if query else ""
    return f"{settings.BASE_URL}{path}{ending}"
