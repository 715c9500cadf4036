"""What led to a question: session, checkpoints, context, policies, revisions."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from django.urls import reverse

from approvals.envelope import Envelope
from approvals.models import Context, Policy, Request, Revision
from approvals.pages.addresses import address, short_name
from approvals.pages.sealed import sealed_obligation
from checkpoints.models import Checkpoint
from oversight.presentation.trace import Part
from sessions.models import Run


def session_part(slug: str, run: Run) -> Part:
    served = run.session.served
    return Part(
        key="session",
        lane="Session",
        at=run.created_at,
        icon="session",
        label=short_name("SES", run.session_id),
        note=served or run.agent.name,
        theirs=bool(served),
        href=address("run", slug, run.id),
        told=f"{run.agent.name} began the run, and named "
        + ("whom it serves." if served else "nobody it serves."),
    )


def checkpoint_part(slug: str, run: Run, row: Checkpoint) -> Part:
    closed = tuple(f"effect:{one}" for one in row.closes)
    parent = (f"checkpoint:{row.parent}",) if row.parent else ()
    return Part(
        key=f"checkpoint:{row.number}",
        lane="State",
        at=row.created_at,
        icon="checkpoint",
        label=f"Checkpoint {row.number}",
        note=bytes(row.digest).hex()[:12],
        href=f"{address('run', slug, run.id)}#checkpoint-{row.number}",
        told=f"Saved by writer {row.fence}, digest {bytes(row.digest).hex()}.",
        after=(*(parent or ("session",)), *closed),
    )


def context_parts(slug: str, requests: list[Request]) -> Iterator[Part]:
    named = {one.context_id: one for one in requests if one.context_id}
    for row in Context.objects.filter(id__in=list(named)):
        yield Part(
            key=f"context:{row.id}",
            lane="Model",
            at=row.created_at,
            icon="context",
            label="Context",
            note=f"{row.tokens:,} tokens",
            href=address("context", slug, named[row.id].id),
            told=f"What the model saw: {row.tokens:,} of at most {row.max_tokens:,} "
            f"tokens, digest {bytes(row.digest).hex()}.",
            tone="derived",
            after=("session",),
        )


def policy_parts(
    slug: str, revisions: list[Revision], *, linked: bool
) -> Iterator[Part]:
    """Each policy's revision once, where it was first asked by.

    Who may not read policies is led to the case instead of what is `linked`.
    """
    pinned = _pinned(revisions)
    ids = [id for id, _ in pinned]
    names = dict(Policy.objects.filter(id__in=ids).values_list("id", "name"))
    for (id, number), (row, digest) in pinned.items():
        name, case = names.get(id, ""), address("case", slug, row.request_id)
        yield Part(
            key=f"policy:{id}:{number}",
            lane="Request",
            at=row.created_at,
            icon="policy",
            label=name or "Policy",
            note=f"revision {number}",
            href=policy_page(slug, name) if linked and name else case,
            told=f"It said who must agree; pinned with digest {digest}.",
            tone="key",
        )


def policy_page(slug: str, name: str) -> str:
    """Where a policy is read."""
    return reverse("policy", kwargs={"slug": slug, "name": name})


def _pinned(revisions: list[Revision]) -> dict[tuple[UUID, int], tuple[Revision, str]]:
    """By policy and number: the first revision that it is pinned to, and its digest."""
    found: dict[tuple[UUID, int], tuple[Revision, str]] = {}
    for row in sorted(revisions, key=lambda one: one.created_at):
        obligation = sealed_obligation(Envelope(bytes(row.envelope)))
        for id, number, digest in obligation.policies if obligation else ():
            found.setdefault((id, number), (row, digest))
    return found


def paused_at(requests: list[Request]) -> Mapping[UUID, int]:
    """At which checkpoint each request was asked."""
    rows = Request.objects.filter(id__in=[one.id for one in requests])
    return dict(rows.values_list("id", "pause__checkpoint__number"))


def revision_part(
    slug: str, row: Revision, request: Request, before: tuple[str, ...]
) -> Part:
    """The exact action, which follows from all that it was asked by and from.

    `before` are the keys of where its run stood: checkpoint, facts, item.
    """
    return Part(
        key=f"revision:{request.id}:{row.number}",
        lane="Request",
        at=row.created_at,
        icon="request",
        label=short_name("REQ", request.id),
        note=f"revision {row.number}",
        href=address("case", slug, request.id),
        told=f"{request.title}: the exact action, digest {bytes(row.digest).hex()}.",
        tone="key",
        after=(*before, *_grounds(row, request)),
    )


def _grounds(row: Revision, request: Request) -> Iterator[str]:
    if request.context_id:
        yield f"context:{request.context_id}"
    obligation = sealed_obligation(Envelope(bytes(row.envelope)))
    for id, number, _ in obligation.policies if obligation else ():
        yield f"policy:{id}:{number}"
    if row.number > 1:
        yield f"revision:{request.id}:{row.number - 1}"
