"""Each view reads the body, calls one verb and answers with what it rendered."""

from typing import ClassVar
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request as HTTPRequest
from rest_framework.response import Response

from approvals.api.described import (
    FENCE,
    ApprovalDocument,
    ApprovalPage,
    ApprovalWithFence,
    EffectSummary,
    PauseDocument,
    RedeemedDocument,
)
from approvals.api.documents import (
    approval_document,
    approval_documents,
    approval_with_run,
    effect_document,
    pause_document,
    redeemed_document,
)
from approvals.models import Decision, Request
from approvals.serializers import (
    AskSerializer,
    DecisionSerializer,
    NothingSerializer,
    OneCallSerializer,
    PauseSerializer,
    ReasonSerializer,
    ReportSerializer,
    ReviseSerializer,
)
from approvals.services.case import Answer
from approvals.services.decide import decide
from approvals.services.pause import pause_run
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from approvals.services.request import request_approval
from approvals.services.revise import revise, withdraw
from approvals.services.revoke import revoke
from checkpoints.serializers import PositionSerializer
from kernel.scope import tenant_transaction
from sessions.rest import fence_of
from tenants.rest.answers import rendered
from tenants.rest.once import answered, once_from
from tenants.rest.paging import page_of_many
from tenants.rest.strict import QuerySerializer
from tenants.rest.views import AgentView, MemberView
from tenants.scopes import APPROVALS, EFFECTS


class PauseView(AgentView):
    """POST runs/{id}/pause: stop at a checkpoint and ask."""

    scope = APPROVALS
    body_limit: ClassVar[int | None] = 12 * 1024 * 1024

    @extend_schema(
        operation_id="pause_run",
        request=PauseSerializer,
        parameters=[FENCE],
        responses={201: PauseDocument},
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        body = PauseSerializer.read(request)
        once = once_from(request, rendered(pause_document, status=201))
        pause_run(
            self.principal,
            run_id=id,
            fence=fence_of(request),
            position=PositionSerializer.position(body["checkpoint"], "/checkpoint"),
            asks=[AskSerializer.ask(one) for one in body["requests"]],
            resume_when=body.get("resume_when", "all"),
            once=once,
        )
        return answered(once)


class ApprovalListQuery(QuerySerializer):
    status = serializers.ChoiceField(Request.State.choices, required=False)
    run = serializers.UUIDField(required=False)
    cursor = serializers.CharField(required=False)
    limit = serializers.CharField(required=False)


class ApprovalsView(AgentView):
    """GET approvals: the agent's own. POST approvals: ask in one call."""

    scope = APPROVALS
    query_class = ApprovalListQuery

    @extend_schema(
        operation_id="list_approvals",
        parameters=[ApprovalListQuery],
        responses=ApprovalPage,
    )
    def get(self, request: HTTPRequest) -> Response:
        query = self.query
        with tenant_transaction(self.principal.tenant_id):
            rows = Request.objects.filter(agent_id=self.principal.agent_id)
            rows = rows.select_related("tool", "queue")
            if "status" in query:
                rows = rows.filter(state=query["status"])
            if "run" in query:
                rows = rows.filter(run_id=query["run"])
            return Response(page_of_many(rows, request, approval_documents))

    @extend_schema(
        operation_id="request_approval",
        request=OneCallSerializer,
        responses={201: ApprovalWithFence},
    )
    def post(self, request: HTTPRequest) -> HttpResponse:
        body = OneCallSerializer.read(request)
        once = once_from(request, rendered(approval_with_run, status=201))
        request_approval(
            self.principal,
            ask=AskSerializer.ask(body),
            subject=body.get("subject", ""),
            session_id=body.get("session"),
            run_id=body.get("run"),
            fence=fence_of(request) if "run" in body else None,
            once=once,
        )
        return answered(once)


class WithdrawView(AgentView):
    """POST approvals/{id}/withdraw: the agent no longer wants it."""

    scope = APPROVALS

    @extend_schema(
        operation_id="withdraw_approval",
        request=ReasonSerializer,
        responses=ApprovalDocument,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        body = ReasonSerializer.read(request)
        once = once_from(request, rendered(approval_document))
        withdraw(self.principal, request_id=id, reason=body["reason"], once=once)
        return answered(once)


class ReviseView(AgentView):
    """POST approvals/{id}/revise: new arguments, after changes were asked for."""

    scope = APPROVALS

    @extend_schema(
        operation_id="revise_approval",
        request=ReviseSerializer,
        responses=ApprovalDocument,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        body = ReviseSerializer.read(request)
        once = once_from(request, rendered(approval_document))
        revise(
            self.principal,
            request_id=id,
            arguments=body["arguments"],
            explanation=body.get("explanation", ""),
            once=once,
        )
        return answered(once)


class RedeemView(AgentView):
    """POST approvals/{id}/redeem: consume the grant and receive the effect."""

    scope = EFFECTS

    @extend_schema(
        operation_id="redeem_approval",
        request=None,
        parameters=[FENCE],
        responses=RedeemedDocument,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        NothingSerializer.read(request)
        once = once_from(request, rendered(redeemed_document))
        redeem(self.principal, request_id=id, fence=fence_of(request), once=once)
        return answered(once)


class ReportView(AgentView):
    """POST effects/{id}/report: what came of the agent's own action."""

    scope = EFFECTS

    @extend_schema(
        operation_id="report_effect",
        request=ReportSerializer,
        parameters=[FENCE],
        responses=EffectSummary,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        body = ReportSerializer.read(request)
        once = once_from(request, rendered(effect_document))
        report_effect(
            self.principal,
            effect_id=id,
            attempt=body["attempt"],
            fence=fence_of(request),
            outcome=body["outcome"],
            external_id=body.get("external_id", ""),
            evidence=body.get("evidence"),
            once=once,
        )
        return answered(once)


class DecisionsView(MemberView):
    """POST approvals/{id}/decisions: a member's browser session and nothing else."""

    @extend_schema(
        operation_id="decide_approval",
        request=DecisionSerializer,
        responses=ApprovalDocument,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        body = DecisionSerializer.read(request)
        once = once_from(request, rendered(approval_document))
        answer = Answer(
            verdict=Decision.Verdict(body["verdict"]),
            digest=bytes.fromhex(body["digest"]),
            reason=body.get("reason", ""),
            arguments=body.get("arguments"),
            response=body.get("response"),
        )
        decide(self.person, request_id=id, answer=answer, once=once)
        return answered(once)


class RevokeView(MemberView):
    """POST approvals/{id}/revoke: take an approval back before it is used."""

    @extend_schema(
        operation_id="revoke_approval",
        request=ReasonSerializer,
        responses=ApprovalDocument,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        body = ReasonSerializer.read(request)
        once = once_from(request, rendered(approval_document))
        revoke(self.person, request_id=id, reason=body["reason"], once=once)
        return answered(once)
