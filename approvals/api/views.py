"""Each view reads the body, calls one verb and answers with what it rendered."""

from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request as HTTPRequest
from rest_framework.response import Response

from approvals.api import described
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
    ApprovalListQuery,
    AskSerializer,
    DecisionSerializer,
    OneCallSerializer,
    PauseSerializer,
    ReasonSerializer,
    ReportSerializer,
    ReviseSerializer,
    TakeBackSerializer,
)
from approvals.services.case import Answer
from approvals.services.decide import decide
from approvals.services.pause import pause_run
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from approvals.services.request import request_approval
from approvals.services.revise import revise, withdraw
from approvals.services.revoke import revoke
from approvals.services.taking_back import take_back
from checkpoints.serializers import PositionSerializer
from kernel.scope import tenant_transaction
from sessions.rest import FENCED, fence_of
from sessions.serializers import NothingSerializer
from tenants.rest.answers import rendered
from tenants.rest.bodies import CHECKPOINT_LIMIT
from tenants.rest.once import answered, once_from
from tenants.rest.paging import page_of_many
from tenants.rest.views import AgentView, MemberView
from tenants.scopes import APPROVALS, EFFECTS


class PauseView(AgentView):
    """Stopping at a checkpoint to ask."""

    scope = APPROVALS
    body_limit = CHECKPOINT_LIMIT

    @extend_schema(
        operation_id="pause_run",
        parameters=[FENCED],
        request=PauseSerializer,
        responses={201: described.PauseDocument},
        examples=[described.PAUSE],
        extensions=described.NOT_PAUSED,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        """Save a checkpoint and ask for actions from it: all of it, or nothing."""
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


class ApprovalsView(AgentView):
    """The agent's requests."""

    scope = APPROVALS
    query_class = ApprovalListQuery

    @extend_schema(
        operation_id="list_approvals",
        parameters=[ApprovalListQuery],
        responses=described.ApprovalPage,
    )
    def get(self, request: HTTPRequest) -> Response:
        """List what this agent asked for, newest first."""
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
        parameters=[described.FENCED_WITH_A_RUN],
        request=OneCallSerializer,
        responses={201: described.ApprovalWithFence},
        examples=[described.ONE_CALL],
        extensions=described.NOT_ASKED,
    )
    def post(self, request: HTTPRequest) -> HttpResponse:
        """Ask for one action in one call; what it needs around it opens by itself."""
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
    """The agent no longer wants it."""

    scope = APPROVALS

    @extend_schema(
        operation_id="withdraw_approval",
        request=ReasonSerializer,
        responses=described.ApprovalDocument,
        extensions=described.NOT_WITHDRAWN,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        """Take a question back, also an approved one, until it was acted upon."""
        body = ReasonSerializer.read(request)
        once = once_from(request, rendered(approval_document))
        withdraw(self.principal, request_id=id, reason=body["reason"], once=once)
        return answered(once)


class ReviseView(AgentView):
    """The agent's answer to a request for changes."""

    scope = APPROVALS

    @extend_schema(
        operation_id="revise_approval",
        request=ReviseSerializer,
        responses=described.ApprovalDocument,
        extensions=described.NOT_REVISED,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        """Give new arguments after changes were asked for."""
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
    """The agent takes its approved action."""

    scope = EFFECTS

    @extend_schema(
        operation_id="redeem_approval",
        parameters=[FENCED],
        request=NothingSerializer,
        responses=described.RedeemedDocument,
        extensions=described.NOT_REDEEMED,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        """Use the approval up, and receive the one action that may happen now.

        Identity, position, effects and authority are checked live. A refusal is 409
        with the code of the check that refused, such as `authority.policy_changed`,
        its `class` (wait, reopen or stop) and the answers of all `checks`. One of
        class wait is not kept for its idempotency key.
        """
        NothingSerializer.read(request)
        once = once_from(request, rendered(redeemed_document))
        redeem(self.principal, request_id=id, fence=fence_of(request), once=once)
        return answered(once)


class ReportView(AgentView):
    """What came of the agent's own action."""

    scope = EFFECTS

    @extend_schema(
        operation_id="report_effect",
        parameters=[FENCED],
        request=ReportSerializer,
        responses=described.EffectSummary,
        examples=[described.REPORT],
        extensions=described.NOT_REPORTED,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        """Report an attempt's outcome; the same again is answered alike."""
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
    """A member's browser session and nothing else."""

    @extend_schema(
        operation_id="decide_approval",
        request=DecisionSerializer,
        responses=described.ApprovalDocument,
        examples=[described.DECISION],
        extensions=described.NOT_DECIDED,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        """Answer the revision whose digest was on the screen. Never with an API key."""
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


class TakeBackView(MemberView):
    """Taking one's answer back while others are still missing."""

    @extend_schema(
        operation_id="take_back_answer",
        request=TakeBackSerializer,
        responses=described.ApprovalDocument,
        extensions=described.NOT_TAKEN_BACK,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        """End one's own answer, while the request is pending. Never with an API key."""
        body = TakeBackSerializer.read(request)
        once = once_from(request, rendered(approval_document))
        digest = bytes.fromhex(body["digest"])
        take_back(self.person, request_id=id, digest=digest, once=once)
        return answered(once)


class RevokeView(MemberView):
    """Taking an approval back before it is used."""

    @extend_schema(
        operation_id="revoke_approval",
        request=ReasonSerializer,
        responses=described.ApprovalDocument,
        extensions=described.NOT_REVOKED,
    )
    def post(self, request: HTTPRequest, id: UUID) -> HttpResponse:
        """Revoke an approval, until it was acted upon."""
        body = ReasonSerializer.read(request)
        once = once_from(request, rendered(approval_document))
        revoke(self.person, request_id=id, reason=body["reason"], once=once)
        return answered(once)
