"""Registering what agents can do. Every change closes the tenant's gate, and is seen
by whatever was approved before: the definition's digest is part of an approval."""

import re
from typing import Any, Final
from uuid import UUID

from audit.append import Actor
from checkpoints.definition import TOOL_INVALID, TOOL_NAME, check_definition, digest_of
from checkpoints.models import Risk, Tool
from checkpoints.queries import tool_named
from kernel.problems import NOT_FOUND, declare
from kernel.scope import tenant_transaction
from kernel.secrets import refuse_secret
from kernel.update import update_exactly_one
from tenants.checks import Acting, permitted
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.verbs import Gate, Verb, perform

_UNREVIEWED: Final = {"mode": "agent", "risk": "high", "definition": {}}
TOOL_NAME_TAKEN: Final = declare(
    "tool_name_taken", status=409, title="A tool of this name is registered"
)
TOOL_CHANGED: Final = declare(
    "tool_changed", status=409, title="The tool was changed meanwhile"
)


def check_tool(name: str, mode: str, risk: str, definition: dict[str, Any]) -> None:
    """Raises 422 `tool_invalid`, `schema_invalid` or a secret's, with the place."""
    if not re.fullmatch(TOOL_NAME, name):
        raise TOOL_INVALID(f"A name matches {TOOL_NAME}.", "/name")
    if mode not in Tool.Mode.values:
        raise TOOL_INVALID(f"One of {', '.join(Tool.Mode.values)}.", "/mode")
    if risk not in Risk.values:
        raise TOOL_INVALID(f"One of {', '.join(Risk.values)}.", "/risk")
    check_definition(mode, definition)
    refuse_secret(definition, "/definition")


def register_tool(
    *,
    tenant_id: UUID,
    by: Acting,
    name: str,
    mode: str,
    risk: str,
    definition: dict[str, Any],
    once: Once | None = None,
) -> Tool:
    """Register a reviewed tool. Raises `tool_name_taken` (409), `tool_invalid` (422)."""
    check_tool(name, mode, risk, definition)

    def work(verb: Verb) -> Tool:
        actor = permitted(tenant_id, by)
        if tool_named(tenant_id, name) is not None:
            raise TOOL_NAME_TAKEN(None, "/name")
        fields = {"mode": mode, "risk": risk, "definition": definition}
        return _create(verb, actor, name=name, reviewed=True, **fields)

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE, once=once)


def change_tool(
    *,
    tenant_id: UUID,
    by: Acting,
    tool_id: UUID,
    mode: str,
    risk: str,
    definition: dict[str, Any],
    seen: int | None = None,
    enable: bool = True,
    once: Once | None = None,
) -> Tool:
    """Give a tool its next version; it counts as reviewed.

    What was approved under the former version is asked again. `seen` is the version
    that was looked at; without `enable` a tool that is stopped stays so. Raises
    `tool_invalid` (422), `tool_changed` (409), `not_found` (404).
    """

    def work(verb: Verb) -> Tool:
        actor = permitted(tenant_id, by)
        tool = _own(tenant_id, tool_id)
        if seen not in {None, tool.version}:
            raise TOOL_CHANGED(f"It is at version {tool.version} now.")
        check_tool(tool.name, mode, risk, definition)
        fields: dict[str, Any] = {"mode": mode, "risk": risk, "definition": definition}
        digest = digest_of(name=tool.name, **fields)
        change = {**fields, "digest": digest, "reviewed": True}
        change |= {"enabled": True} if enable else {}
        _update(tool, {**change, "version": tool.version + 1})
        _record(verb, "tool.changed", actor, tool)
        return tool

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE, once=once)


def disable_tool(
    *, tenant_id: UUID, by: Acting, tool_id: UUID, once: Once | None = None
) -> Tool:
    """Let nobody ask for it, or act on an approval of it, until it is changed."""

    def work(verb: Verb) -> Tool:
        actor = permitted(tenant_id, by)
        return turn_tool(verb, actor=actor, tool_id=tool_id, enabled=False)

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE, once=once)


def turn_tool(
    verb: Verb, *, actor: Actor, tool_id: UUID, enabled: bool, reason: str = ""
) -> Tool:
    """Switch a tool inside a verb that has closed the gate; nothing if it is so.

    Raises `not_found` (404).
    """
    tool = _own(verb.tenant_id, tool_id)
    if tool.enabled != enabled:
        _update(tool, {"enabled": enabled})
        kind = "tool.enabled" if enabled else "tool.disabled"
        _record(verb, kind, actor, tool, **({"reason": reason} if reason else {}))
    return tool


def register_unreviewed(who: Principal, *, name: str) -> Tool:
    """The tool of that name; unknown, it is registered as one that nobody reviewed.

    Such a tool is carried out by the agent, counts as high risk and takes anything.
    Raises `tool_invalid` (422).
    """
    with tenant_transaction(who.tenant_id):
        known = tool_named(who.tenant_id, name)
    if known is not None:
        return known

    def work(verb: Verb) -> Tool:
        return tool_to_use(verb, who, name=name)

    return perform(who.tenant_id, work, gate=Gate.EXCLUSIVE)


def tool_to_use(verb: Verb, who: Principal, *, name: str) -> Tool:
    """As `register_unreviewed`, inside a verb that has closed the gate."""
    fields: dict[str, Any] = _UNREVIEWED
    check_tool(name, **fields)
    known = tool_named(who.tenant_id, name)
    return known or _create(verb, who.actor, name=name, reviewed=False, **fields)


def _create(verb: Verb, actor: Actor, *, reviewed: bool, **fields: Any) -> Tool:
    tool = Tool.objects.create(
        tenant_id=verb.tenant_id,
        reviewed=reviewed,
        digest=digest_of(**fields),
        **fields,
    )
    _record(verb, "tool.registered", actor, tool)
    return tool


def _own(tenant_id: UUID, tool_id: UUID) -> Tool:
    tool = Tool.objects.filter(tenant_id=tenant_id, id=tool_id).first()
    if tool is None:
        raise NOT_FOUND()
    return tool


def _update(tool: Tool, change: dict[str, Any]) -> None:
    rows = Tool.objects.filter(
        tenant_id=tool.tenant_id, id=tool.id, version=tool.version
    )
    update_exactly_one(rows, **change)
    for name, value in change.items():
        setattr(tool, name, value)


def _record(verb: Verb, kind: str, actor: Actor, tool: Tool, **more: str) -> None:
    data = {
        "name": tool.name,
        "version": tool.version,
        "mode": str(tool.mode),
        "risk": str(tool.risk),
        "reviewed": tool.reviewed,
        "enabled": tool.enabled,
        "digest": bytes(tool.digest).hex(),
        **more,
    }
    verb.record(kind, actor=actor, subject=("tool", tool.id), data=data)
