"""The page of terms and holds, from rows; inside the tenant's scope."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from approvals.pages.addresses import address, short_name
from approvals.presentation.shell import Notice
from kernel.clock import database_now
from oversight.presentation.forms import Form
from oversight.presentation.retention import HoldLine, RetentionView, TermRow
from sessions.contract import Contract
from sessions.models import Hold, Retention, Run, Workflow
from tenants.access import Membership

MOST: Final = 100  # holds that are listed, the oldest first
NO_FORM: Final = Form()


def retention_view(
    member: Membership, *, form: Form = NO_FORM, notice: Notice | None = None
) -> RetentionView:
    """What is kept for how long, and what nobody erases. `form.act` is one of ACTS."""
    typed: dict[str, Any] = {form.act: form} if form.act else {}
    slug, held = member.slug, Hold.objects.filter(lifted_at=None)
    terms, count = tuple(_terms()), held.count()
    return RetentionView(
        now=database_now(),
        answer=_answer(terms, count),
        terms=terms,
        holds=_holds(slug, list(held.order_by("created_at", "id")[:MOST])),
        more_holds=max(count - MOST, 0),
        here=address("retention", slug),
        back_href=address("audit", slug),
        may=member.administers,
        notice=notice,
        **typed,
    )


def _terms() -> Iterator[TermRow]:
    """The tenant's own; then those of workflows, for kinds that have none."""
    own = list(Retention.objects.order_by("kind"))
    for one in own:
        yield TermRow(kind=one.kind, days=one.days, by="the tenant")
    versions = Workflow.objects.exclude(kind__in=[one.kind for one in own])
    for version in versions.order_by("kind", "version"):
        days = Contract.of(version).retention
        if days is not None:
            by = f"version {version.version} of its workflow"
            yield TermRow(kind=version.kind, days=days, by=by)


def _answer(terms: Sequence[TermRow], holds: int) -> str:
    rest = next((one for one in terms if not one.kind), None)
    kept = f"for {rest.days:,} days after it ended" if rest else "for ever"
    said = f"What has no term of its own is kept {kept}."
    if not holds:
        return f"{said} Nothing is held."
    return f"{said} {holds:,} hold{'s keep' if holds > 1 else ' keeps'} more than that."


def _holds(slug: str, found: Sequence[Hold]) -> tuple[HoldLine, ...]:
    sessions = [one.session_id for one in found if one.session_id]
    rows = Run.objects.filter(session_id__in=sessions).order_by("created_at")
    runs = dict(rows.values_list("session_id", "id"))
    return tuple(
        HoldLine(
            id=str(one.id),
            session_label=short_name("SES", one.session_id) if one.session_id else "",
            session_href=address("session", slug, runs[one.session_id])
            if one.session_id in runs
            else "",
            reason=one.reason,
            placed_at=one.created_at,
        )
        for one in found
    )
