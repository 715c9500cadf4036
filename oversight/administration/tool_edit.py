"""The editor of tools: trying one sends nothing, keeping it makes its next version."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from approvals.views.request import DeskRequest, missing_is_404
from checkpoints.models import Tool
from checkpoints.services.tools import change_tool, check_tool, register_tool
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from oversight.administration.answering import LOOKING, acting, seen
from oversight.pages.tool_edit import tool_form, tool_to_edit, try_tool
from oversight.presentation.tool_form import (
    ReadTool,
    TypedTool,
    field_of,
    read_object,
    read_tool,
)
from oversight.presentation.tools import ToolTrial
from oversight.showing import page
from tenants.access import ADMINISTRATORS
from tenants.pages import member_page

FIELDS: Final[Mapping[str, str]] = {"tool_name_taken": "name"}
type Errors = Mapping[str, str]


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def create(request: DeskRequest) -> HttpResponse:
    """GET new-tool: the form. POST: try it out, or register it."""
    return _answer(request, None)


@member_page(roles=ADMINISTRATORS)
@require_http_methods(LOOKING)
def edit(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET tools/{id}/edit: the form. POST: try it out, or make its next version."""
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        tool = tool_to_edit(id)
    return _answer(request, tool)


def _answer(request: DeskRequest, tool: Tool | None) -> HttpResponse:
    if request.method != "POST":
        return _form(request, tool)
    typed = TypedTool.read(request.POST)
    read = read_tool(typed)
    keeps = request.POST.get("act") == "keep"
    sample = {} if keeps else read_object(read.errors, "sample", typed.sample)
    if read.errors:
        return _form(request, tool, typed=typed, errors=read.errors)
    fields = _fields(tool, typed, read)
    try:
        if keeps:
            return seen(request, "tool", _keep(request, tool, typed, fields))
        trial = _try(request, tool, fields, sample)
    except Problem as problem:
        return _form(request, tool, typed=typed, errors=_errors(problem))
    return _form(request, tool, typed=typed, trial=trial)


def _fields(tool: Tool | None, typed: TypedTool, read: ReadTool) -> dict[str, Any]:
    return {
        "name": tool.name if tool else typed.name.strip(),
        "mode": typed.mode,
        "risk": typed.risk,
        "definition": read.definition,
    }


def _keep(
    request: DeskRequest, tool: Tool | None, typed: TypedTool, fields: dict[str, Any]
) -> UUID:
    if tool is None:
        return register_tool(**acting(request), **fields).id
    del fields["name"]  # it has one, for good
    version = int(typed.seen) if typed.seen.isdecimal() else 0
    return change_tool(
        **acting(request), **fields, tool_id=tool.id, seen=version, enable=False
    ).id


def _try(
    request: DeskRequest, tool: Tool | None, fields: dict[str, Any], sample: Any
) -> ToolTrial:
    check_tool(**fields)
    with tenant_transaction(request.member.tenant_id):
        return try_tool(request.member.tenant_id, tool, fields, sample)


def _errors(problem: Problem) -> Errors:
    name = FIELDS.get(problem.code) or field_of(problem.pointer)
    place = (
        "" if name == (problem.pointer or "").rpartition("/")[2] else problem.pointer
    )
    said = problem.detail or problem.title
    return {name: f"{place}: {said}" if place and name else said}


def _form(
    request: DeskRequest,
    tool: Tool | None,
    *,
    errors: Errors | None = None,
    **more: Any,
) -> HttpResponse:
    return page(
        request,
        "tool_edit.html",
        lambda viewer: {
            "form": tool_form(viewer.slug, tool, errors=errors, **more),
        },
        place="tools",
        status=422 if errors else 200,
    )
