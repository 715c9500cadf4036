"""What was said and known before a question: items of its conversation, and facts."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final
from uuid import UUID

from approvals.context.items import Entry, read_item
from approvals.models import Request
from approvals.pages.addresses import address
from approvals.pages.case.reading import Reading
from checkpoints.models import Checkpoint
from kernel.problems import Problem
from oversight.pages.steps import fact_change
from oversight.presentation.trace import Part
from sessions.models import Item, Run, Transition
from sessions.queries import TRUNK, items_on, newest_within

MOST_ITEMS: Final = 40
MOST_BYTES: Final = 512 * 1024
LARGEST: Final = 128 * 1024


def item_parts(
    slug: str, run: Run, requests: Sequence[Request]
) -> Iterator[tuple[UUID, Part]]:
    """By request, the item that it came from: the model's call, or the newest by then."""
    read = [(item, _read(item)) for item in _newest_items(run, requests)]
    for request in requests:
        by_then = [one for one in read if one[0].created_at <= request.created_at]
        calling = [one for one in by_then if _calls(one[1], request.tool_call_id)]
        for item, entry in (calling or by_then)[-1:]:
            call = request.tool_call_id if calling else None
            yield request.id, _item(slug, request, item, entry, call)


def _newest_items(run: Run, requests: Sequence[Request]) -> list[Item]:
    """Those that stood there when the last of them was asked, and can be read."""
    if not requests or run.session.erased_at is not None:
        return []
    last = max(one.created_at for one in requests)
    said = items_on(run.session_id, run.branch or TRUNK)
    try:
        return newest_within(
            said.filter(created_at__lte=last),
            session_id=run.session_id,
            limit=MOST_ITEMS,
            most=MOST_BYTES,
            largest=LARGEST,
        ).items
    except Problem:
        return []


def _read(item: Item) -> Entry:
    return read_item(item.raw, position=item.position, id=item.id, run=item.run, at="")


def _calls(entry: Entry, call_id: str | None) -> bool:
    return call_id is not None and any(
        part.kind == "call" and part.call == call_id for part in entry.parts
    )


def _item(
    slug: str, request: Request, item: Item, entry: Entry, call: str | None
) -> Part:
    names = [part.name for part in entry.parts if part.kind == "call" and part.name]
    told = f"The model's call {call}" if call else "The newest item by then"
    digest = sha256(item.raw.encode()).hexdigest()
    return Part(
        key=f"item:{item.id}",
        lane="Model",
        at=item.created_at,
        icon="from-model",
        label=f"Item {item.position}",
        note=f"calls {names[0]}" if names else entry.parts[0].kind,
        href=address("case", slug, request.id),
        told=f"{told}, as its agent recorded it, with SHA-256 {digest}.",
        tone="derived",
        after=("session",),
    )


def fact_parts(
    slug: str,
    run: Run,
    rows: Sequence[Transition],
    points: Sequence[Checkpoint],
    reading: Reading,
) -> Iterator[Part]:
    """Each change of facts, with the values that the viewer may see."""
    for row in rows:
        if not row.changes:
            continue
        saved = [one.number for one in points if one.created_at <= row.created_at]
        yield Part(
            key=f"facts:{row.version}",
            lane="State",
            at=row.created_at,
            icon="context",
            label=f"Facts, version {row.version}",
            note=f"{len(row.changes)} stated",
            href=f"{address('run_state', slug, run.id)}?after={row.version}",
            told=f"Stated: {_stated(row)}.",
            after=(f"checkpoint:{max(saved)}",) if saved else ("session",),
            facts=tuple(
                fact_change(name, said, reading.shows(name))
                for name, said in row.changes.items()
            ),
        )


def facts_at(rows: Sequence[Transition], at: datetime) -> tuple[str, ...]:
    """The key of what was known then; nothing where nothing was."""
    known = [one.version for one in rows if one.changes and one.created_at <= at]
    return (f"facts:{max(known)}",) if known else ()


def _stated(row: Transition) -> str:
    """Names and where each came from, in one line."""
    return ", ".join(
        f"{name} by {said.get('provenance', 'model')}"
        for name, said in row.changes.items()
    )
