"""`GET /t/{slug}/stream`: says that something changed, by id, and nothing more.

A plain asynchronous view: an open stream holds a coroutine, neither a thread nor a
connection. Who listens is asked again before every single event, so that a stream never
outlives a session, a membership or a right by more than one heartbeat.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final
from uuid import UUID

from django.contrib.auth import get_user
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from approvals.access import visible_queues
from approvals.models import Request
from approvals.wait.hub import News, hub
from kernel.offload import offload
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.access import Membership, open_member
from tenants.models import Member
from tenants.pages import MemberRequest, member_page

HEARTBEAT: Final = 15.0  # seconds; also the longest that a lost right is not noticed
GATHERED: Final = 0.1  # seconds: what changes within them is told together
RETRY: Final = 2_000  # milliseconds that a browser waits before it connects again


@member_page
@require_safe
async def stream(request: MemberRequest) -> HttpResponseBase:
    """The stream of the queues that the member sees, and of a `request` or `run`."""
    wanted = _wanted(request.GET)
    response = StreamingHttpResponse(
        _events(request, request.member.slug, wanted),
        content_type="text/event-stream",
    )
    response["X-Accel-Buffering"] = "no"
    return response


def _wanted(given: Mapping[str, str]) -> dict[str, UUID]:
    """The request and run that the page shows; what is no id is not listened to."""
    found = {}
    for name in ("request", "run"):
        try:
            found[name] = UUID(given.get(name, ""))
        except ValueError:
            continue
    return found


async def _events(
    request: HttpRequest, slug: str, wanted: Mapping[str, UUID]
) -> AsyncIterator[str]:
    """Register, look, tell, wait; and end as soon as nobody may listen any more.

    What changed between the page and its stream is lost to both, so that each
    registration begins by telling of everything.
    """
    yield f"retry: {RETRY}\n\n"
    topics = await offload(_topics, request, slug, wanted)
    while topics:
        async with hub().waiting(*topics) as news:
            registered, changed = topics, topics
            while topics and topics == registered:
                yield _told(changed & topics)
                changed = await _next(news)
                topics = await offload(_topics, request, slug, wanted)


async def _next(news: News) -> frozenset[str]:
    """The topics that changed, or none when only time has passed.

    One action changes several; and who made it is answered before the streams are asked
    who they are.
    """
    try:
        async with asyncio.timeout(HEARTBEAT):
            await news.wait()
    except TimeoutError:
        return frozenset()
    await asyncio.sleep(GATHERED)
    return frozenset(news.take())


def _told(topics: frozenset[str]) -> str:
    """One event for each id; a comment when there is none, to keep the line open."""
    ids = sorted(topic.partition(":")[2] for topic in topics)
    return "".join(f"event: changed\ndata: {id}\n\n" for id in ids) or ": \n\n"


def _topics(
    request: HttpRequest, slug: str, wanted: Mapping[str, UUID]
) -> frozenset[str]:
    """What the person behind the session may hear of now: nothing once they may not."""
    fresh = HttpRequest()
    fresh.session = type(request.session)(request.session.session_key)
    try:
        fresh.user = get_user(fresh)
        membership = open_member(fresh, slug)
    except Problem:
        return frozenset()
    with tenant_transaction(membership.tenant_id):
        ids = _visible(membership, wanted)
    return frozenset(f"{membership.tenant_id}:{id}" for id in ids)


def _visible(membership: Membership, wanted: Mapping[str, UUID]) -> set[UUID]:
    """The queues that the member sees; and of request and run those that are on them."""
    queues = visible_queues(Member.objects.get(id=membership.member_id))
    rows = Request.objects.filter(queue_id__in=queues)
    found = set(queues)
    if "request" in wanted and rows.filter(id=wanted["request"]).exists():
        found.add(wanted["request"])
    if "run" in wanted and (
        membership.oversees or rows.filter(run_id=wanted["run"]).exists()
    ):
        found.add(wanted["run"])
    return found
