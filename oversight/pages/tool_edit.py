"""The editor of a tool, and what comes of trying it, from rows. Inside the scope.

Trying sends nothing: it shows what a reviewer would read and what the tool would be sent.
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from approvals.pages.addresses import address
from approvals.presentation.arguments import argument_tree
from approvals.titles import size_of, title_of
from checkpoints.definition import digest_of
from checkpoints.models import Risk, Tool
from checkpoints.secrets import PREFIX, uses_in_call
from checkpoints.tools import check_arguments, draft_of
from kernel.problems import NOT_FOUND, Problem
from oversight.presentation.forms import Choice
from oversight.presentation.tool_form import TypedTool
from oversight.presentation.tools import (
    SecretUse,
    ToolForm,
    ToolTrial,
)

MODES: Final = (
    ("agent", "The agent, once it has redeemed"),
    ("managed", "Keyturn, once approved"),
)


def tool_to_edit(tool_id: UUID) -> Tool:
    """Raises `not_found`."""
    tool = Tool.objects.filter(id=tool_id).first()
    if tool is None:
        raise NOT_FOUND()
    return tool


def tool_form(
    slug: str,
    tool: Tool | None,
    *,
    typed: TypedTool | None = None,
    errors: Mapping[str, str] | None = None,
    trial: ToolTrial | None = None,
) -> ToolForm:
    """What was typed; or the tool as it is registered."""
    typed = typed or (_as_registered(tool) if tool else TypedTool(sample="{}"))
    return ToolForm(
        name=tool.name if tool else "",
        stopped=tool is not None and not tool.enabled,
        unreviewed=tool is not None and not tool.reviewed,
        action=address("tool_edit", slug, tool.id)
        if tool
        else address("tool_new", slug),
        back_href=address("tool", slug, tool.id) if tool else address("tools", slug),
        typed=typed,
        modes=_choices(MODES, typed.mode),
        risks=_choices([(risk, risk) for risk in Risk.values], typed.risk),
        errors=errors or {},
        trial=trial,
    )


def try_tool(
    tenant_id: UUID, tool: Tool | None, fields: Mapping[str, Any], sample: Any
) -> ToolTrial:
    """The tool as it is typed, asked for with these arguments, as far as it would go."""
    registered = {"tenant_id": tenant_id, "id": tool.id} if tool else {}
    tried = Tool(**{"tenant_id": tenant_id, **registered, **fields})
    definition = tried.definition
    return ToolTrial(
        title=title_of(definition, tried.name, sample),
        size=size_of(definition, sample),
        arguments=argument_tree(sample, definition.get("schema")),
        refused=_refusal(tried, sample),
        request=_request(tried, sample),
        secrets=tuple(_use(one) for one in uses_in_call(tried, sample)),
        digest=digest_of(**fields).hex(),
        same=tool is not None and digest_of(**fields) == bytes(tool.digest),
    )


def _as_registered(tool: Tool) -> TypedTool:
    return TypedTool.of(
        tool.definition,
        seen=str(tool.version),
        name=tool.name,
        mode=tool.mode,
        risk=tool.risk,
    )


def _refusal(tool: Tool, sample: Any) -> str:
    """Why an agent that asks with these would be turned away; empty if it would not."""
    try:
        check_arguments(tool, sample, pointer="")
    except Problem as problem:
        return f"{problem.pointer or '/'}: {problem.detail or problem.title}"
    return ""


def _request(tool: Tool, sample: Any) -> str:
    if tool.mode != Tool.Mode.MANAGED:
        return ""
    draft = draft_of(tool, sample)
    lines = [f"POST {draft.url}", *(f"{n}: {v}" for n, v in draft.headers.items())]
    return "\n".join([*lines, "", draft.body.decode()])


def _use(use: Any) -> SecretUse:
    return SecretUse(
        name=f"{PREFIX}{use.name}",
        place=use.pointer,
        host=use.host,
        why=use.why.title if use.why else "",
    )


def _choices(pairs: Any, chosen: str) -> tuple[Choice, ...]:
    return tuple(
        Choice(value=value, text=text, chosen=value == chosen) for value, text in pairs
    )
