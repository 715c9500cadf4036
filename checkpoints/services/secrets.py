"""Which secrets there are and what each is for: names only, never a value."""

from typing import Final
from uuid import UUID

from audit.append import Actor
from checkpoints.definition import Terms
from checkpoints.models import SecretName, Tool
from checkpoints.queries import tool_named
from checkpoints.secrets import (
    MAX_NAME,
    NAME,
    SECRET_NEEDS_MANAGED_TOOL,
    SECRET_OF_ANOTHER_HOST,
    host_of,
)
from kernel.clock import ClockTimestamp
from kernel.problems import NOT_FOUND, declare
from kernel.update import update_exactly_one
from tenants.checks import Acting, permitted
from tenants.idempotency import Once
from tenants.verbs import Gate, Verb, perform

SECRET_NAME_INVALID: Final = declare(
    "secret_name_invalid", status=422, title="This cannot be the name of a secret"
)
SECRET_NAME_TAKEN: Final = declare(
    "secret_name_taken", status=409, title="A secret of this name is registered"
)


def register_secret(
    *,
    tenant_id: UUID,
    by: Acting,
    name: str,
    tool: str,
    host: str = "",
    once: Once | None = None,
) -> SecretName:
    """Let one tool use `secret://name`, at the host that it is called at.

    `host`, if given, must be that one. Raises `secret_name_invalid`,
    `secret_of_another_host`, `secret_needs_managed_tool` (422), `secret_name_taken`
    (409), `not_found` (404) for no such tool.
    """
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise SECRET_NAME_INVALID(
            f"Use 1 to {MAX_NAME} of a-z, 0-9 and single underscores inside.", "/name"
        )

    def work(verb: Verb) -> SecretName:
        actor = permitted(tenant_id, by)
        found = _usable(tool_named(tenant_id, tool), host)
        if SecretName.objects.filter(name=name, revoked_at=None).exists():
            raise SECRET_NAME_TAKEN("Revoke it first.", "/name")
        row = SecretName.objects.create(
            tenant_id=tenant_id, name=name, tool=found, host=_host(found)
        )
        _record(verb, "secret_name.registered", actor, row)
        return row

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE, once=once)


def revoke_secret(
    *, tenant_id: UUID, by: Acting, name: str, once: Once | None = None
) -> SecretName:
    """Let nothing use the name any more, approved or not. Raises `not_found` (404)."""

    def work(verb: Verb) -> SecretName:
        actor = permitted(tenant_id, by)
        rows = SecretName.objects.filter(
            tenant_id=tenant_id, name=name, revoked_at=None
        )
        row = rows.select_related("tool").first()
        if row is None:
            raise NOT_FOUND()
        update_exactly_one(rows, revoked_at=ClockTimestamp())
        _record(verb, "secret_name.revoked", actor, row)
        return row

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE, once=once)


def _usable(tool: Tool | None, host: str) -> Tool:
    if tool is None:
        raise NOT_FOUND("No such tool.", "/tool")
    if tool.mode != Tool.Mode.MANAGED:
        raise SECRET_NEEDS_MANAGED_TOOL(f"{tool.name} is not one.", "/tool")
    if host and host.lower() != _host(tool):
        raise SECRET_OF_ANOTHER_HOST(
            f"{tool.name} is called at {_host(tool)}.", "/host"
        )
    return tool


def _host(tool: Tool) -> str:
    return host_of(Terms.of(tool).url)


def _record(verb: Verb, kind: str, actor: Actor, row: SecretName) -> None:
    data = {"name": row.name, "tool": row.tool.name, "host": row.host}
    verb.record(kind, actor=actor, subject=("secret_name", row.id), data=data)
