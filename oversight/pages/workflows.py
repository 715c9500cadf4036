"""Workflows as their pages show them. All inside the tenant's scope."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.db.models import FETCH_RAISE, Count
from django.urls import reverse

from approvals.pages.viewer import Viewer
from approvals.presentation.case import Link
from approvals.presentation.shell import Empty, Notice
from approvals.presentation.words import span
from kernel.canonical import definition_digest
from kernel.clock import database_now
from kernel.problems import NOT_FOUND
from oversight.presentation.diagram import Diagram, draw
from oversight.presentation.lines import lines_between
from oversight.presentation.workflow import (
    DraftBox,
    FieldRow,
    StageRow,
    VersionRow,
    WorkflowForm,
    WorkflowRow,
    WorkflowsView,
    WorkflowView,
)
from sessions.models import Run, Workflow, WorkflowDraft
from sessions.queries import open_draft
from sessions.runs import ENDED
from sessions.services import draft_seen
from sessions.shipped import KINDS, shipped

MOST: Final = 200
SOURCES: Final = ("user", "system", "tool", "model", "reviewer")
SHOWN: Final = {
    "people": "kept from models",
    "overseers": "kept from models and the agent",
}
ACTS: Final = {
    "draft": (("validate", "Validate"), ("withdraw", "Withdraw")),
    "validated": (("publish", "Publish"), ("withdraw", "Withdraw")),
}


def place(name: str, slug: str, kind: str = "", query: str = "") -> str:
    """The address of a workflow's page."""
    named = {"kind": kind} if kind else {}
    return reverse(name, kwargs={"slug": slug, **named}) + query


def definition_text(definition: Mapping[str, Any]) -> str:
    """A definition as people edit it and as files carry it."""
    return json.dumps(definition, indent=2, ensure_ascii=False) + "\n"


def workflows_view(viewer: Viewer) -> WorkflowsView:
    """All kinds of work, in four statements."""
    newest = Workflow.objects.order_by("kind", "-version").distinct("kind")
    drafts = {one.kind: one for one in WorkflowDraft.objects.filter(state__in=ACTS)}
    live = dict(
        Run.objects.exclude(state__in=ENDED)
        .values_list("workflow__kind")
        .annotate(n=Count("id"))
    )
    current = {one.kind: one for one in newest.fetch_mode(FETCH_RAISE)[:MOST]}
    rows = tuple(
        _row(viewer, kind, current.get(kind), drafts.get(kind), live.get(kind, 0))
        for kind in sorted({*current, *drafts})
    )
    admin, slug = viewer.membership.administers, viewer.slug
    return WorkflowsView(
        rows=rows,
        new_href=place("workflow_new", slug) if admin else "",
        shipped=tuple(
            Link(text=kind, href=place("workflow_edit", slug, kind))
            for kind in KINDS
            if admin and kind not in current
        ),
        empty=None if rows else NONE,
    )


NONE: Final = Empty(
    title="No workflow yet",
    sentence="A run without one may state any fact. A workflow says which, and from whom.",
    icon="trace",
)


def workflow_view(
    viewer: Viewer, kind: str, *, version: str, against: str, notice: Notice | None
) -> WorkflowView:
    """One kind: a version of it, its history and its draft. Raises `not_found`."""
    versions = {
        one.version: one
        for one in Workflow.objects.filter(kind=kind).order_by("-version")[:MOST]
    }
    draft = open_draft(kind)
    if not versions and draft is None:
        raise NOT_FOUND()
    newest = next(iter(versions.values()), None)
    shown = _chosen(versions, version) or newest
    definition = shown.definition if shown else {}
    other, slug = _chosen(versions, against), viewer.slug
    admin = viewer.membership.administers
    return WorkflowView(
        kind=kind,
        version=shown.version if shown else None,
        title=definition.get("title", ""),
        about=definition.get("description", ""),
        list_href=place("workflows", slug),
        now=database_now(),
        diagrams=diagrams_of(definition),
        stages=_stages(definition),
        fields=tuple(_field(*pair) for pair in sorted(_fields(definition).items())),
        any_field="fields" not in definition,
        owners=tuple(definition.get("owners", {}).items()),
        retention=_retention(definition),
        schemas=", ".join(map(str, definition.get("schema_versions", ()))),
        upgrades=tuple(
            f"{one['from']} to {one['to']}. {one.get('description', '')}".strip()
            for one in definition.get("upgrades", ())
        ),
        second_admin=bool(definition.get("second_admin")),
        history=_history(kind, versions, shown, slug),
        export_href=_export(slug, kind, shown),
        edit_href=place("workflow_edit", slug, kind) if admin else "",
        draft=_draft(viewer, draft, newest) if draft else None,
        lines=_compared(other, shown) if other and shown else (),
        compared=f"From version {other.version} to {shown.version}"
        if other and shown
        else "",
        notice=notice,
    )


def diagrams_of(
    definition: Mapping[str, Any], current: str = ""
) -> tuple[Diagram, ...]:
    """The picture of a definition's stages, across and down; none where it has none."""
    stages, initial = definition.get("stages", {}), definition.get("initial", "")
    drawn = (
        draw(stages, initial=initial, current=current, down=down)
        for down in (False, True)
    )
    return tuple(one for one in drawn if one is not None)


def form_view(
    viewer: Viewer, kind: str, *, typed: Mapping[str, str] | None, error: str
) -> WorkflowForm:
    """What an admin edits: what they typed, or the draft, or what is in force."""
    slug = viewer.slug
    action = place("workflow_edit", slug, kind) if kind else place("workflow_new", slug)
    back = place("workflow", slug, kind) if _known(kind) else place("workflows", slug)
    typed = _standing(kind) if typed is None else typed
    return WorkflowForm(
        kind=kind or typed.get("kind", ""),
        kind_given=bool(kind),
        definition=typed.get("definition", ""),
        note=typed.get("note", ""),
        seen=draft_seen(open_draft(kind)),
        action=action,
        back_href=back,
        error=error,
    )


def _known(kind: str) -> bool:
    return Workflow.objects.filter(kind=kind).exists() or open_draft(kind) is not None


def _standing(kind: str) -> dict[str, str]:
    draft = open_draft(kind)
    if draft is not None:
        return {"definition": definition_text(draft.definition), "note": draft.note}
    rows = Workflow.objects.filter(kind=kind).order_by("-version")
    newest = rows.values_list("definition", flat=True).first()
    return {"definition": definition_text(newest or shipped(kind) or {})}


def _row(
    viewer: Viewer,
    kind: str,
    current: Workflow | None,
    draft: WorkflowDraft | None,
    live: int,
) -> WorkflowRow:
    definition = current.definition if current else {}
    return WorkflowRow(
        kind=kind,
        href=place("workflow", viewer.slug, kind),
        version=current.version if current else None,
        title=definition.get("title", ""),
        fields=len(definition.get("fields", ())),
        stages=len(definition.get("stages", ())),
        live_runs=live,
        draft=draft.state if draft else "",
    )


def _chosen(versions: Mapping[int, Workflow], text: str) -> Workflow | None:
    return versions.get(int(text)) if text.isdecimal() and len(text) < 10 else None


def _export(slug: str, kind: str, shown: Workflow | None) -> str:
    if shown is None:
        return ""
    return place("workflow_export", slug, kind, f"?version={shown.version}")


def _stages(definition: Mapping[str, Any]) -> tuple[StageRow, ...]:
    required = definition.get("required", {})
    return tuple(
        StageRow(
            name=name,
            initial=name == definition.get("initial"),
            following=tuple(following),
            required=tuple(required.get(name, ())),
        )
        for name, following in _in_order(definition)
    )


def _in_order(definition: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """The stages as the picture has them, from left to right: rows keep no order."""
    stages = definition.get("stages", {})
    pictures = diagrams_of(definition)[:1]
    return [(node.name, stages[node.name]) for one in pictures for node in one.nodes]


def _fields(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = definition.get("fields", {})
    return fields


def _field(name: str, said: Mapping[str, Any]) -> FieldRow:
    authority = bool(said.get("authority"))
    sources = said.get("provenance", SOURCES)
    return FieldRow(
        name=name,
        about=said.get("description", ""),
        form=_form(said.get("schema", {})),
        sources=tuple(one for one in sources if not (authority and one == "model")),
        authority=authority,
        max_age=_age(said.get("max_age")),
        lifetime=_lifetime(said.get("lifetime", "run")),
        visibility=SHOWN.get(said.get("visibility", ""), ""),
        record=said.get("system_of_record", ""),
    )


def _form(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(json.dumps(one) for one in schema["enum"][:6])
    return str(schema.get("type", "anything"))


def _lifetime(said: str | int) -> str:
    """A number ends the fact; a word says where it belongs and ends nothing."""
    return said if isinstance(said, str) else f"{_age(said)}, then as if never stated"


def _age(seconds: int | None) -> str:
    return "" if seconds is None else span(timedelta(seconds=seconds))


def _retention(definition: Mapping[str, Any]) -> str:
    days = definition.get("retention", {}).get("days")
    return "" if days is None else f"{days:,} days"


def _history(
    kind: str, versions: Mapping[int, Workflow], shown: Workflow | None, slug: str
) -> tuple[VersionRow, ...]:
    rows = WorkflowDraft.objects.filter(kind=kind, version__isnull=False)
    drafts = {one.version: one for one in rows.select_related("author")}
    return tuple(
        VersionRow(
            number=number,
            href=place("workflow", slug, kind, f"?version={number}"),
            at=one.created_at,
            author=drafts[number].author.name if number in drafts else "",
            note=drafts[number].note if number in drafts else "",
            current=one is shown,
            diff_href=place(
                "workflow", slug, kind, f"?version={number}&against={number - 1}"
            )
            if number - 1 in versions
            else "",
        )
        for number, one in versions.items()
    )


def _draft(viewer: Viewer, draft: WorkflowDraft, newest: Workflow | None) -> DraftBox:
    admin, slug = viewer.membership.administers, viewer.slug
    alone = (
        draft.state == "validated"
        and draft.author_id == viewer.id
        and bool(newest and newest.definition.get("second_admin"))
    )
    acts = ACTS[draft.state] if admin else ()
    return DraftBox(
        state=draft.state,
        author=draft.author.name,
        note=draft.note,
        edit_href=place("workflow_edit", slug, draft.kind) if admin else "",
        act_href=place("workflow_draft", slug, draft.kind),
        digest=definition_digest(draft.definition).hex(),
        lines=lines_between(newest.definition if newest else {}, draft.definition),
        acts=tuple(one for one in acts if not (alone and one[0] == "publish")),
        why_not="Another admin has to publish what you wrote." if alone else "",
    )


def _compared(other: Workflow, shown: Workflow) -> tuple[tuple[str, str], ...]:
    return lines_between(other.definition, shown.definition)
