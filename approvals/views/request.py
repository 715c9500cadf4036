"""What a page's view is given, and what it answers to strangers."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.http import Http404
from django_htmx.middleware import HtmxDetails

from approvals.pages.viewer import Viewer
from approvals.problems import NOT_FOUND
from kernel.problems import Problem
from tenants.pages import MemberRequest


class DeskRequest(MemberRequest):
    """A member's request, and whether htmx made it."""

    htmx: HtmxDetails


def viewer_of(request: MemberRequest) -> Viewer:
    """Who looks; their rights are read when they are asked for, once."""
    return Viewer(request.member, request.person)


@contextmanager
def missing_is_404() -> Iterator[None]:
    """What does not exist, and what is not theirs to see, is the same empty page."""
    try:
        yield
    except Problem as problem:
        if problem.code == NOT_FOUND.code:
            raise Http404 from None
        raise
