"""Sessions: what was said in them, and what a model is shown of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from keyturn import exact
from keyturn.asks import given
from keyturn.calling import Call, get, listed, path_of, post
from keyturn.documents import (
    Branch,
    Context,
    Items,
    Page,
    Places,
    Popped,
    Removed,
    Session,
    Summary,
)

Shape = Literal["pieces", "openai", "anthropic"]


def open_session(
    *,
    subject: str,
    title: str | None = None,
    external_id: str | None = None,
    key: str | None = None,
) -> Call[Session]:
    """Open a session, or find the agent's own with this `external_id`."""
    body = given(subject=subject, title=title, external_id=external_id)
    return post(Session, "sessions", body, key)


def get_session(session: str) -> Call[Session]:
    """Read a session."""
    return get(Session, path_of("sessions", session))


def list_sessions(
    *,
    external_id: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[Session]]:
    """The agent's sessions, newest first."""
    return listed(
        Session, "sessions", external_id=external_id, cursor=cursor, limit=limit
    )


# -- Items ------------------------------------------------------------------------------


def append_items(
    session: str,
    items: Iterable[Any],
    *,
    run: str | None = None,
    branch: int | None = None,
    fence: int | None = None,
    key: str | None = None,
) -> Call[Places]:
    """Add what was said, all of it or nothing; it is kept as it is."""
    body = {"items": list(items), **given(run=run, branch=branch)}
    content = exact.encode(body, in_order=True)
    return post(Places, path_of("sessions", session, "items"), content, key, fence)


def list_items(
    session: str,
    *,
    limit: int | None = None,
    before: int | None = None,
    branch: int | None = None,
) -> Call[Items]:
    """The latest `limit` items, in the order in which they were said."""
    path = path_of("sessions", session, "items")
    return get(Items, path, limit=limit, before=before, branch=branch)


def pop_item(
    session: str,
    *,
    run: str | None = None,
    branch: int | None = None,
    fence: int | None = None,
    key: str | None = None,
) -> Call[Popped]:
    """Take the newest item back, and read it. No two callers get the same."""
    body = given(run=run, branch=branch)
    return post(Popped, path_of("sessions", session, "items", "pop"), body, key, fence)


def clear_items(
    session: str,
    *,
    run: str | None = None,
    branch: int | None = None,
    reason: str | None = None,
    fence: int | None = None,
    key: str | None = None,
) -> Call[Removed]:
    """Take all items back; that it happened stays on record."""
    body = given(run=run, branch=branch, reason=reason)
    path = path_of("sessions", session, "items", "clear")
    return post(Removed, path, body, key, fence)


def replace_items(
    session: str,
    items: Iterable[Any],
    *,
    expected_last: int | None = None,
    run: str | None = None,
    branch: int | None = None,
    reason: str | None = None,
    fence: int | None = None,
    key: str | None = None,
) -> Call[Places]:
    """Take all items back and add others, in one step: for compacted histories."""
    more = given(expected_last=expected_last, run=run, branch=branch, reason=reason)
    content = exact.encode({"items": list(items), **more}, in_order=True)
    path = path_of("sessions", session, "items", "replace")
    return post(Places, path, content, key, fence)


# -- Branches and summaries -------------------------------------------------------------


def begin_branch(
    session: str,
    *,
    origin: int | None = None,
    at: int | None = None,
    key: str | None = None,
) -> Call[Branch]:
    """Begin a branch that takes along what another says, up to a position."""
    body = given(origin=origin, at=at)
    return post(Branch, path_of("sessions", session, "branches"), body, key)


def list_branches(
    session: str, *, cursor: str | None = None, limit: int | None = None
) -> Call[Page[Branch]]:
    """The branches, in the order they were begun."""
    path = path_of("sessions", session, "branches")
    return listed(Branch, path, cursor=cursor, limit=limit)


def keep_summary(
    session: str,
    *,
    first: int,
    last: int,
    branch: int | None = None,
    text: str | None = None,
    key: str | None = None,
) -> Call[Summary]:
    """Keep a summary of items: a derived view that stands while they do."""
    body = {"first": first, "last": last, **given(branch=branch, text=text)}
    return post(Summary, path_of("sessions", session, "summaries"), body, key)


# -- Contexts ---------------------------------------------------------------------------


def get_context(
    run: str, *, max_tokens: int | None = None, shape: Shape | None = None
) -> Call[Context]:
    """What the model should see now, within a budget; nothing is kept."""
    path = path_of("runs", run, "context")
    return get(Context, path, max_tokens=max_tokens, shape=shape)


def record_context(
    run: str,
    *,
    max_tokens: int | None = None,
    shape: Shape | None = None,
    key: str | None = None,
) -> Call[Context]:
    """The same; its digest is kept, so that a question can name it."""
    body = given(max_tokens=max_tokens, shape=shape)
    return post(Context, path_of("runs", run, "context"), body, key)
