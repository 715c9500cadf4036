"""What the OpenAPI document says of this app's answers. Nothing is read with these."""

from typing import Final

from drf_spectacular.utils import OpenApiExample, OpenApiParameter
from rest_framework import serializers

from approvals import problems
from approvals.asks import VERDICTS
from approvals.beforehand import STANDING_STATES
from approvals.models import Request
from approvals.services.contexts import CONTEXT_UNKNOWN
from checkpoints.api.checkpoints import NOT_SAVED
from checkpoints.effects import ATTEMPT_UNKNOWN, OUTCOME_CONFLICT
from checkpoints.evidence import EVIDENCE_TOO_LARGE
from checkpoints.models import Effect, Risk, Tool
from checkpoints.tools import ARGUMENTS_INVALID
from kernel.json_schema import SCHEMA_INVALID, SCHEMA_TOO_COMPLEX
from kernel.problems import LOST_RACE
from sessions.rest import NOT_FENCED
from sessions.runs import FENCE, PAUSE_OPEN, RUN_ENDED
from tenants.rest.refusals import refuses
from tenants.services.quotas import QUOTA_EXCEEDED
from tenants.vault import DATA_ERASED

_ARGUMENTS: Final = (
    ARGUMENTS_INVALID,
    SCHEMA_TOO_COMPLEX,
    problems.SECRET_IN_ARGUMENTS,
)
_ASK: Final = (
    *_ARGUMENTS,
    SCHEMA_INVALID,
    problems.TOOL_DISABLED,
    problems.TOOL_NOT_REVIEWED,
    problems.TOOL_CALL_REPEATED,
    problems.RUN_NOT_RUNNING,
    CONTEXT_UNKNOWN,
    QUOTA_EXCEEDED,
)
NOT_ASKED: Final = refuses(*NOT_FENCED, *_ASK)
NOT_PAUSED: Final = refuses(*NOT_FENCED, *NOT_SAVED, *_ASK, PAUSE_OPEN, RUN_ENDED)
NOT_WITHDRAWN: Final = refuses(problems.TOO_LATE, problems.ENVIRONMENT_DIFFERS)
NOT_REVISED: Final = refuses(
    *_ARGUMENTS,
    problems.NOT_REVISABLE,
    problems.ENVIRONMENT_DIFFERS,
    QUOTA_EXCEEDED,
)
NOT_REDEEMED: Final = refuses(
    *NOT_FENCED,
    problems.ENVIRONMENT_DIFFERS,
    problems.NOT_APPROVED,
    problems.PAUSE_UNDECIDED,
    problems.WRONG_MODE,
    LOST_RACE,
)
NOT_REPORTED: Final = refuses(
    *NOT_FENCED,
    problems.ENVIRONMENT_DIFFERS,
    OUTCOME_CONFLICT,
    ATTEMPT_UNKNOWN,
    EVIDENCE_TOO_LARGE,
    DATA_ERASED,
)
NOT_DECIDED: Final = refuses(
    *_ARGUMENTS,
    SCHEMA_INVALID,
    problems.NO_RIGHT,
    problems.OWN_REQUEST,
    problems.NOT_ELIGIBLE,
    problems.REAUTHENTICATE,
    problems.NOT_PENDING,
    problems.DIGEST_CHANGED,
    problems.EXPIRED,
    problems.ANSWERED_BEFORE,
    problems.VERDICT_NOT_ALLOWED,
    problems.REASON_NEEDED,
    problems.RESPONSE_INVALID,
    problems.ARGUMENTS_UNCHANGED,
)
NOT_TAKEN_BACK: Final = refuses(
    problems.NOT_PENDING,
    problems.EXPIRED,
    problems.DIGEST_CHANGED,
    problems.NOT_ANSWERED,
    problems.TAKEN_BACK,
)
NOT_REVOKED: Final = refuses(
    problems.NO_RIGHT, problems.NOT_APPROVED, problems.TOO_LATE
)

KNOWN: Final = OpenApiParameter(
    name="If-None-Match",
    type=str,
    location=OpenApiParameter.HEADER,
    description="The `ETag` that is known: 304 if it is still so.",
)
FENCED_WITH_A_RUN: Final = OpenApiParameter(
    name=FENCE,
    type=int,
    location=OpenApiParameter.HEADER,
    description="Needed with `run`: the fence of the caller's own claim of it.",
)

_PAYMENT: Final = {
    "tool": "pay",
    "arguments": {"payee": "Halden Paper Supply", "amount": "1240.00"},
}
ONE_CALL: Final = OpenApiExample(
    "A payment",
    value={**_PAYMENT, "subject": "customer-7", "explanation": "Invoice INV-1042."},
    request_only=True,
)
PAUSE: Final = OpenApiExample(
    "A payment, from a checkpoint",
    value={
        "checkpoint": {
            "parent": 3,
            "schema_version": 1,
            "payload": "{}",
            "header": {"completed": ["compare"], "pending": ["pay"], "markers": {}},
        },
        "requests": [
            {
                **_PAYMENT,
                "tool_call_id": "call-8",
                "preconditions": [
                    {"field": "po_matched", "equals": True, "max_age": 86400}
                ],
            }
        ],
    },
    request_only=True,
)
REPORT: Final = OpenApiExample(
    "It happened",
    value={
        "attempt": 1,
        "outcome": "confirmed",
        "external_id": "PAY-7",
        "evidence": {"http_status": 201},
    },
    request_only=True,
)
DECISION: Final = OpenApiExample(
    "Approved",
    value={"verdict": "approve", "digest": "9f" * 32, "reason": "Matches the order."},
    request_only=True,
)
NEXT: Final = ("wait", "revise", "redeem", "use_answer", "stop", "done")


class EffectSummary(serializers.Serializer[object]):
    """What became of the action."""

    id = serializers.UUIDField()
    key = serializers.CharField()
    state = serializers.ChoiceField(Effect.State.choices)
    external_id = serializers.CharField()
    attempt = serializers.IntegerField()


class CheckAnswers(serializers.Serializer[object]):
    """`passed`, or the code of the refusal, for each check that was made."""

    identity = serializers.CharField(required=False)
    position = serializers.CharField(required=False)
    effects = serializers.CharField(required=False)
    authority = serializers.CharField(required=False)


class VerificationSummary(serializers.Serializer[object]):
    """The newest answer of the four checks."""

    outcome = serializers.ChoiceField(["passed", "refused"])
    code = serializers.CharField()
    reason = serializers.CharField()
    at = serializers.DateTimeField()
    checks = CheckAnswers()

    def get_fields(
        self,
    ) -> dict[str, serializers.Field[object, object, object, object]]:
        fields = super().get_fields()
        classes = ["wait", "reopen", "stop", ""]
        return {**fields, "class": serializers.ChoiceField(classes)}


class DecisionSummary(serializers.Serializer[object]):
    """One answer, and whether it still counts."""

    verdict = serializers.ChoiceField(VERDICTS)
    revision = serializers.IntegerField()
    by = serializers.CharField()
    on_behalf_of = serializers.CharField(allow_null=True)
    at = serializers.DateTimeField()
    reason = serializers.CharField()
    counted = serializers.BooleanField()
    standing_approval = serializers.UUIDField(
        allow_null=True, help_text="By which a person gave this answer beforehand."
    )


class ApprovalDocument(serializers.Serializer[object]):
    """A request as its agent reads it; `next` says what to do."""

    id = serializers.UUIDField()
    run = serializers.UUIDField()
    session = serializers.UUIDField()
    pause = serializers.UUIDField()
    queue = serializers.CharField()
    tool = serializers.CharField()
    mode = serializers.ChoiceField(Tool.Mode.choices)
    tool_call_id = serializers.CharField(allow_null=True)
    status = serializers.ChoiceField(Request.State.choices)
    resolved = serializers.BooleanField()
    next = serializers.ChoiceField(NEXT)
    revision = serializers.IntegerField()
    digest = serializers.CharField()
    arguments = serializers.DictField()
    target = serializers.JSONField(allow_null=True)
    title = serializers.CharField()
    explanation = serializers.CharField()
    context = serializers.CharField(  # type: ignore[assignment]  # the API calls it so
        allow_null=True, help_text="The digest of the context that the model saw."
    )
    risk = serializers.ChoiceField(Risk.choices)
    reason = serializers.CharField()
    response = serializers.JSONField(allow_null=True)
    effect = EffectSummary(allow_null=True)
    verification = VerificationSummary(allow_null=True)
    decisions = DecisionSummary(many=True)
    review_url = serializers.URLField()
    decide_by = serializers.DateTimeField()
    use_until = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class StandingApprovalDocument(serializers.Serializer[object]):
    """That some questions are answered beforehand: not which, which is for people."""

    id = serializers.UUIDField()
    tool = serializers.CharField()
    environment = serializers.CharField()
    state = serializers.ChoiceField(STANDING_STATES)
    by = serializers.CharField()
    uses = serializers.IntegerField()
    used = serializers.IntegerField()
    expires_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()


class StandingApprovalPage(serializers.Serializer[object]):
    """A page, and the cursor of the next one."""

    items = StandingApprovalDocument(many=True)
    next = serializers.CharField(allow_null=True)


class ApprovalWithFence(ApprovalDocument):
    """After one call: also the fence of the run that it opened or paused."""

    fence = serializers.IntegerField()


class ApprovalPage(serializers.Serializer[object]):
    """A page, and the cursor of the next one."""

    items = ApprovalDocument(many=True)
    next = serializers.CharField(allow_null=True)


class PausedAt(serializers.Serializer[object]):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    digest = serializers.CharField()


class PauseDocument(serializers.Serializer[object]):
    """The open pause and its questions, in the order in which they were asked."""

    pause = serializers.UUIDField()
    checkpoint = PausedAt()
    requests = ApprovalDocument(many=True)


class HandedEffect(serializers.Serializer[object]):
    """The one action that may happen now, exactly so."""

    id = serializers.UUIDField()
    tool = serializers.CharField()
    target = serializers.JSONField(allow_null=True)
    arguments = serializers.DictField()
    idempotency_key = serializers.CharField()
    fencing_token = serializers.IntegerField()
    attempt = serializers.IntegerField()
    not_after = serializers.DateTimeField()


class CheckLine(serializers.Serializer[object]):
    check = serializers.CharField()
    passed = serializers.BooleanField()
    code = serializers.CharField()
    reason = serializers.CharField()
    facts = serializers.DictField()


class VerificationPassed(serializers.Serializer[object]):
    outcome = serializers.ChoiceField(["passed"])
    checks = CheckLine(many=True)


class RedeemedDocument(serializers.Serializer[object]):
    """The started effect, its signed token, and the four answers."""

    effect = HandedEffect()
    token = serializers.CharField()
    verification = VerificationPassed()
