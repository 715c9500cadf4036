"""The same context that the agent reads, for those who review its request."""

import re
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.db.models import FETCH_RAISE

from approvals.context import Assembled, Wanted, assemble
from approvals.context.build import CONTEXT_TOO_SMALL
from approvals.context.pieces import Piece, Trust
from approvals.models import Request
from approvals.pages.addresses import address, short_name
from approvals.pages.selection import Selection
from approvals.pages.viewer import Viewer
from approvals.presentation.context import ContextPage, DroppedRow, PieceRow, Seen
from approvals.problems import NOT_FOUND
from audit.evidence import signed_data
from checkpoints.models import Effect
from kernel.clock import database_now
from kernel.problems import Problem

ABOUT: Final = re.compile(r"(?:request|action|policy|effect|external):([0-9a-f-]{36})")
HIDDEN: Final = "About a request on a queue that you do not see."


def context_page(viewer: Viewer, request_id: UUID, selection: Selection) -> ContextPage:
    """Raises `not_found` for a request that the viewer may not see, before all else."""
    request = _visible(viewer, request_id)
    page = ContextPage(
        label=short_name("REQ", request.id),
        title=request.title,
        case_href=address("case", viewer.slug, request.id, query=selection.query),
        now=database_now(),
        max_tokens=_wanted(request).max_tokens,
    )
    try:
        found = assemble(lambda: request.run, _wanted(request))
    except Problem as problem:
        if problem.code != CONTEXT_TOO_SMALL.code:
            raise
        return replace(page, needs=int(problem.extra["needs"]))
    return replace(
        page,
        tokens=found.built.tokens,
        digest=found.digest.hex(),
        pieces=_pieces(found, _unseen(viewer, request)),
        dropped=_dropped(found),
        seen=_seen(request, found),
    )


def _visible(viewer: Viewer, request_id: UUID) -> Request:
    rows = Request.objects.filter(id=request_id, queue_id__in=viewer.sees)
    rows = rows.select_related("context", "run__session", "run__workflow", "run__agent")
    found = rows.fetch_mode(FETCH_RAISE).first()
    if found is None:
        raise NOT_FOUND("No such request.")
    return found


def _wanted(request: Request) -> Wanted:
    """As the agent had it, if it said so."""
    if request.context is None:
        return Wanted()
    return Wanted(max_tokens=request.context.max_tokens, shape=request.context.shape)


def _seen(request: Request, now: Assembled) -> Seen | None:
    """What it recorded; and whether the same is built from the rows of now."""
    recorded, signed = request.context, _signed(request)
    digest = bytes(recorded.digest).hex() if recorded is not None else ""
    if digest != signed:
        at = request.created_at
        return Seen(
            digest=signed, shape="", tokens=0, at=at, unchanged=False, altered=True
        )
    if recorded is None:
        return None
    return Seen(
        digest=digest,
        shape=recorded.shape,
        tokens=recorded.tokens,
        at=recorded.created_at,
        unchanged=now.digest == bytes(recorded.digest),
    )


def _signed(request: Request) -> str:
    """The digest that the agent named when it asked, by the audit log; "" for none."""
    asked = signed_data(request.tenant_id, kind="request.asked", subjects=[request.id])
    return str(asked.get(request.id, {}).get("context", ""))


def _unseen(viewer: Viewer, request: Request) -> frozenset[str]:
    """Ids of the run's requests on queues that the viewer does not see, and of what was
    done by them."""
    rows = Request.objects.filter(run_id=request.run_id)
    asked = list(rows.exclude(queue_id__in=viewer.sees).values_list("id", flat=True))
    done = Effect.objects.filter(request__in=asked).values_list("id", flat=True)
    return frozenset(map(str, [*asked, *done]))


def _pieces(found: Assembled, unseen: frozenset[str]) -> tuple[PieceRow, ...]:
    return tuple(
        PieceRow(
            key=one.piece.key,
            kind=one.piece.kind,
            provenance=one.piece.provenance,
            why=one.piece.why,
            tokens=one.tokens,
            **_said(one.piece, unseen),
        )
        for one in found.built.included
    )


def _said(piece: Piece, unseen: frozenset[str]) -> dict[str, Any]:
    """What a piece says, and what that is worth; nothing where it is about an id unseen."""
    about = ABOUT.match(piece.key)
    if about is not None and about[1] in unseen:
        return {"text": HIDDEN, "trust": Trust.RECORD.value}
    return {"text": piece.text, "trust": piece.trust.value, "flags": piece.flags}


def _dropped(found: Assembled) -> tuple[DroppedRow, ...]:
    return tuple(
        DroppedRow(
            name=f"{one.key} to {one.last}" if one.last else one.key,
            kind=one.kind,
            why=one.why,
        )
        for one in found.built.dropped
    )
