"""The doors for other frameworks' bodies: each calls one verb, and answers in their words.

An approval is given by people, in Keyturn; what a body says of one lets nothing happen.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request as HTTPRequest

from approvals.asks import Ask
from approvals.compat import described
from approvals.compat.bodies import (
    HITLRequestSerializer,
    HumanInterruptSerializer,
    ResumeSerializer,
    around,
)
from approvals.compat.documents import asked_document, outcome_document
from approvals.compat.kinds import HITL, HUMAN, Shape
from approvals.services.request import request_together
from approvals.services.revise import take_back
from kernel.problems import Problem
from sessions.rest import fence_of
from tenants.principal import Principal
from tenants.rest.answers import rendered
from tenants.rest.once import answered, once_from
from tenants.rest.views import AgentView
from tenants.scopes import APPROVALS

ABANDONED = "It was abandoned on the agent's page."


class HITLRequestsView(AgentView):
    """LangChain's `HITLRequest`."""

    scope = APPROVALS

    @extend_schema(
        operation_id="ask_hitl_request",
        parameters=[described.FENCED_WITH_A_RUN],
        request=HITLRequestSerializer,
        responses={201: described.AskedHITL},
        examples=[described.HITL_REQUEST],
        extensions=described.ASKED,
    )
    def post(self, request: HTTPRequest) -> HttpResponse:
        """Ask people about every action of a `HITLRequest`: all of them, or none."""
        body = HITLRequestSerializer.read(request)
        asks = HITLRequestSerializer.asks(body)
        return _ask(request, self.principal, HITL, body, asks)


class HumanInterruptsView(AgentView):
    """LangGraph's `HumanInterrupt`."""

    scope = APPROVALS

    @extend_schema(
        operation_id="ask_human_interrupt",
        parameters=[described.FENCED_WITH_A_RUN],
        request=HumanInterruptSerializer,
        responses={201: described.AskedHuman},
        examples=[described.HUMAN_INTERRUPT],
        extensions=described.ASKED,
    )
    def post(self, request: HTTPRequest) -> HttpResponse:
        """Ask people about the action of a `HumanInterrupt`."""
        body = HumanInterruptSerializer.read(request)
        asks = HumanInterruptSerializer.asks(body)
        return _ask(request, self.principal, HUMAN, body, asks)


class ResumesView(AgentView):
    """AG-UI's `resume`."""

    scope = APPROVALS

    @extend_schema(
        operation_id="resume_interrupts",
        request=ResumeSerializer,
        responses=described.ResumedDocument,
        extensions=described.NOT_RESUMED,
    )
    def post(self, request: HTTPRequest) -> HttpResponse:
        """Take back what the page cancelled, and say how the rest stands: all, or nothing.

        A resume has no digest and no person behind it: whatever its `payload` says,
        `resolved` approves nothing. One that says `{"approved": false}` is taken at its
        word, as if it were cancelled.
        """
        entries = ResumeSerializer.read(request)["resume"]
        once = once_from(request, rendered(outcome_document))
        take_back(
            self.principal,
            request_ids=[one["interruptId"] for one in entries],
            unwanted={one["interruptId"] for one in entries if _is_unwanted(one)},
            reason=ABANDONED,
            place="/resume/{}",
            once=once,
        )
        return answered(once)


def _is_unwanted(entry: dict[str, Any]) -> bool:
    return entry["status"] == "cancelled" or entry.get("payload") == {"approved": False}


def _ask(
    request: HTTPRequest,
    principal: Principal,
    shape: Shape,
    body: dict[str, Any],
    asks: list[Ask],
) -> HttpResponse:
    has_run = "run" in body.get("keyturn", {})
    document: Callable[[Any], Any] = partial(asked_document, shape, principal)
    once = once_from(request, rendered(document, status=201))
    with _pointing_into(shape.place, shape.members):
        request_together(
            principal,
            asks=shape.named(asks),
            around=around(body, fence_of(request) if has_run else None),
            place=shape.place,
            once=once,
        )
    return answered(once)


@contextmanager
def _pointing_into(place: str, members: dict[str, str]) -> Iterator[None]:
    """Refusals point into the body that came: where it calls things by other names."""
    depth = place.count("/")
    try:
        yield
    except Problem as problem:
        words = (problem.pointer or "").split("/")
        if problem.pointer is not None and len(words) > depth + 1:
            words[depth + 1] = members.get(words[depth + 1], words[depth + 1])
            problem.pointer = "/".join(words)
        raise
