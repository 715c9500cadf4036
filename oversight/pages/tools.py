"""The pages of tools, from rows; inside the tenant's scope."""

import json
from typing import Final
from uuid import UUID

from approvals.pages.addresses import address
from approvals.presentation.shell import Empty
from checkpoints.models import Tool
from kernel.clock import database_now
from kernel.problems import NOT_FOUND
from oversight.pages.keyset import PAGE, from_after, pages_after
from oversight.presentation.tools import ToolRow, ToolsView, ToolView

NONE: Final = Empty(
    title="No tool yet",
    sentence="One that an agent asks for unannounced is registered as unreviewed.",
    icon="tools",
)


def tools_view(slug: str, after: str) -> ToolsView:
    """One page of them by name."""
    found = from_after(Tool.objects.all(), "name", after)
    return ToolsView(
        new_href=address("tool_new", slug),
        rows=tuple(_row(slug, one) for one in found[:PAGE]),
        pages=pages_after("tools", slug, after, [one.name for one in found]),
        empty=None if found else NONE,
    )


def tool_view(slug: str, tool_id: UUID) -> ToolView:
    """One tool as it is registered. Raises `not_found`."""
    tool = Tool.objects.filter(id=tool_id).first()
    if tool is None:
        raise NOT_FOUND()
    return ToolView(
        back_href=address("tools", slug),
        edit_href=address("tool_edit", slug, tool.id),
        stop_href=address("tool_stop", slug, tool.id),
        log_href=address("audit", slug, query={"subject": str(tool.id)}),
        row=_row(slug, tool),
        description=str(tool.definition.get("description", "")),
        definition=json.dumps(tool.definition, indent=2, ensure_ascii=False),
        digest=bytes(tool.digest).hex(),
        registered_at=tool.created_at,
        now=database_now(),
    )


def _row(slug: str, tool: Tool) -> ToolRow:
    return ToolRow(
        href=address("tool", slug, tool.id),
        name=tool.name,
        state="on" if tool.enabled else "off",
        mode=tool.mode,
        risk=tool.risk,
        reviewed=tool.reviewed,
        version=tool.version,
    )
