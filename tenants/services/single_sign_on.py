"""A tenant's provider: named and ended by an owner, set up by whoever administers."""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings

from audit.append import Actor
from kernel.problems import NOT_FOUND, declare
from kernel.sealing import seal, unseal
from tenants.access import ADMINISTRATORS, OWNERS
from tenants.checks import Acting, permitted
from tenants.models import ExternalIdentity, Group, GroupMapping, Role, SingleSignOn
from tenants.services.change import ALREADY_SO, change, own
from tenants.services.public_issuers import is_public
from tenants.services.sessions import end_sessions_by, identities_of
from tenants.vault import purpose_key
from tenants.verbs import Verb

PURPOSE: Final = "single-sign-on"
# Who may be made by a provider's word: nobody who administers or oversees.
ROLES: Final = frozenset({Role.REVIEWER, Role.DEVELOPER})

SETTINGS_REFUSED: Final = declare(
    "sso.settings_refused",
    status=422,
    title="Single sign-on cannot be set up like this",
)
NOT_TRIED: Final = declare(
    "sso.not_tried",
    status=409,
    title="Sign in through the provider first, so that it is known to work",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What a sign-in needs to know, read in one scope. `secret` is to be kept so."""

    tenant_id: UUID
    issuer: str
    client_id: str
    secret: str
    groups_claim: str


def configure(
    *,
    tenant_id: UUID,
    by: Acting,
    issuer: str,
    client_id: str,
    secret: str = "",
    groups_claim: str = "",
    admits: bool = False,
    role: Role = Role.REVIEWER,
) -> SingleSignOn:
    """Name the tenant's provider, which an owner does, or change what is set.

    A former secret stays if none is given, and never goes to another issuer. With the
    issuer the identities that count change, so passwords open the tenant again. Raises
    `sso.settings_refused` (422).
    """
    _check(issuer, client_id, role)
    if admits and is_public(issuer):
        raise SETTINGS_REFUSED(
            "Anybody at all has an account there: let people in by links.", "/admits"
        )

    def work(verb: Verb) -> SingleSignOn:
        permitted(tenant_id, by)  # whoever is nobody here learns nothing of what is set
        former = SingleSignOn.objects.filter(tenant_id=tenant_id).first()
        moved = former is None or former.issuer != issuer
        roles = OWNERS if moved else ADMINISTRATORS
        actor = permitted(tenant_id, by, roles=roles)
        values: dict[str, Any] = {
            "issuer": issuer,
            "client_id": client_id,
            "groups_claim": groups_claim,
            "admits": admits,
            "role": role,
        }
        if secret:
            values["sealed"] = _sealed(tenant_id, issuer, secret)
        elif moved:
            raise SETTINGS_REFUSED("The secret is needed.", "/secret")
        if moved:
            values["refuses_passwords"] = False
            _end_sessions(verb)
        rows = SingleSignOn.objects.filter(tenant_id=tenant_id)
        if not rows.update(**values):
            SingleSignOn.objects.create(tenant_id=tenant_id, **values)
        shown = {name: values[name] for name in values if name != "sealed"}
        _record(
            verb, "sso.configured", actor, {**shown, "secret_changed": bool(secret)}
        )
        return rows.get()

    return change(tenant_id, work)


def end_single_sign_on(*, tenant_id: UUID, by: Acting) -> None:
    """Let nobody in by the provider any more, and end the sessions of who came so.

    For an owner: it turns people out, and lets passwords in again.
    """

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by, roles=OWNERS, while_stopped=True)
        if not SingleSignOn.objects.filter(tenant_id=tenant_id).delete()[0]:
            raise NOT_FOUND()
        _end_sessions(verb)
        _record(verb, "sso.ended", actor)

    change(tenant_id, work)


def refuse_passwords(*, tenant_id: UUID, by: UUID, through: UUID | None) -> None:
    """Let nobody in by a password from now on. For an owner, `through` the provider.

    Raises `sso.not_tried` (409) for whoever has not come by it, so that nobody locks
    the tenant.
    """

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by, roles=OWNERS)
        config = _config(tenant_id)
        own_identity = ExternalIdentity.objects.filter(
            tenant_id=tenant_id, member_id=by, issuer=config.issuer, ended_at=None
        )
        if through is None or not own_identity.filter(id=through).exists():
            raise NOT_TRIED()
        _switch_passwords(verb, actor, refused=True)

    change(tenant_id, work)


def allow_passwords(*, tenant_id: UUID, by: Acting) -> None:
    """Let a password open the tenant again."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by, roles=OWNERS)
        _switch_passwords(verb, actor, refused=False)

    change(tenant_id, work)


def map_group(*, tenant_id: UUID, by: Acting, value: str, group_id: UUID) -> None:
    """Let whoever the provider says has `value` be in the group, from their next sign-in.

    Raises `already_so` (409), `sso.settings_refused` (422).
    """
    if not value.strip() or not value.isprintable():
        raise SETTINGS_REFUSED("A value is visible characters.", "/value")

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        group = own(Group, tenant_id, group_id)
        GroupMapping.objects.create(tenant_id=tenant_id, value=value, group=group)
        _record_mapping(verb, "sso.group_mapped", actor, value, group_id)

    change(tenant_id, work)


def unmap_group(*, tenant_id: UUID, by: Acting, mapping_id: UUID) -> None:
    """Let the value mean nothing any more. Whoever is in the group stays in it."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        row = own(GroupMapping, tenant_id, mapping_id)
        row.delete()
        _record_mapping(verb, "sso.group_unmapped", actor, row.value, row.group_id)

    change(tenant_id, work)


def provider_of(tenant_id: UUID) -> Provider:
    """Inside the tenant's scope. Raises `not_found`, `Unreadable`, `data_erased`."""
    config = _config(tenant_id)
    key = purpose_key(tenant_id, PURPOSE)
    bound = _place(tenant_id, config.issuer)
    return Provider(
        tenant_id=tenant_id,
        issuer=config.issuer,
        client_id=config.client_id,
        secret=unseal(key, bytes(config.sealed), bound=bound).decode(),
        groups_claim=config.groups_claim,
    )


def flaw_of(url: str) -> str:
    """Why an address can be no provider's, as a sentence; empty if it can."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "This is not an address."
    plain = parts.scheme == "http" and settings.ALLOW_PRIVATE
    if not host or not (parts.scheme == "https" or plain):
        return "The address begins with https://."
    if "@" in parts.netloc or parts.fragment or not url.isascii() or " " in url:
        return "The address names a host and a path, and no user and no fragment."
    return ""


def _check(issuer: str, client_id: str, role: Role) -> None:
    if flaw := flaw_of(issuer) or ("?" in issuer and "It has no query."):
        raise SETTINGS_REFUSED(str(flaw), "/issuer")
    if not client_id.isascii() or not client_id.isprintable() or not client_id:
        raise SETTINGS_REFUSED("A client id is plain characters.", "/client_id")
    if role not in ROLES:
        raise SETTINGS_REFUSED("A provider makes no such member.", "/role")


def _config(tenant_id: UUID) -> SingleSignOn:
    config = SingleSignOn.objects.filter(tenant_id=tenant_id).first()
    if config is None:
        raise NOT_FOUND()
    return config


def _switch_passwords(verb: Verb, actor: Actor, *, refused: bool) -> None:
    rows = SingleSignOn.objects.filter(tenant_id=verb.tenant_id)
    if not rows.filter(refuses_passwords=not refused).update(refuses_passwords=refused):
        raise ALREADY_SO()
    _record(verb, f"sso.passwords_{'refused' if refused else 'allowed'}", actor)


def _end_sessions(verb: Verb) -> None:
    ended = identities_of(verb.tenant_id)
    verb.after_commit(lambda: end_sessions_by(ended))


def _sealed(tenant_id: UUID, issuer: str, secret: str) -> bytes:
    key = purpose_key(tenant_id, PURPOSE)
    return seal(key, secret.encode(), bound=_place(tenant_id, issuer))


def _place(tenant_id: UUID, issuer: str) -> bytes:
    return tenant_id.bytes + issuer.encode()


def _record_mapping(
    verb: Verb, kind: str, actor: Actor, value: str, group_id: UUID
) -> None:
    _record(verb, kind, actor, {"value": value, "group": str(group_id)})


def _record(
    verb: Verb, kind: str, actor: Actor, data: dict[str, Any] | None = None
) -> None:
    verb.record(kind, actor=actor, subject=("tenant", verb.tenant_id), data=data)
