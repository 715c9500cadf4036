"""What the OpenAPI document says of this app's answers. Nothing is read with these."""

from typing import Any, Final

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from approvals.asks import VERDICTS
from approvals.models import Request
from checkpoints.models import Effect, Risk, Tool

FENCE: Final = OpenApiParameter(
    name="Keyturn-Fence",
    type=int,
    location=OpenApiParameter.HEADER,
    required=True,
    description="The run's fencing token; 409 `stale_writer` once it was claimed anew.",
)
WAITING: Final = {
    "operationId": "get_approval",
    "description": (
        "Read an approval, or wait for it: the answer comes when it is `until`, or"
        " after `wait` seconds with what there is."
    ),
    "tags": ["approvals"],
    "security": [{"apiKey": []}],
    "parameters": [
        {
            "in": "path",
            "name": "id",
            "required": True,
            "schema": {"type": "string", "format": "uuid"},
        },
        {
            "in": "query",
            "name": "wait",
            "schema": {"type": "integer", "minimum": 0, "maximum": 60, "default": 0},
            "description": "Seconds.",
        },
        {
            "in": "query",
            "name": "until",
            "schema": {"type": "string", "enum": ["decided", "done"]},
            "description": "`done` is also reached when the next move is the agent's.",
        },
        {
            "in": "header",
            "name": "If-None-Match",
            "schema": {"type": "string"},
            "description": "The `ETag` that is known: 304 if it is still so.",
        },
    ],
    "responses": {
        "200": {
            "description": "",
            "content": {
                "application/json": {
                    "schema": {"$ref": "#/components/schemas/ApprovalDocument"}
                }
            },
        },
        "304": {"description": "It is as it was."},
    },
}
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
    at = serializers.DateTimeField()
    reason = serializers.CharField()
    counted = serializers.BooleanField()


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


def describe_waiting(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Add the one door that is no view of the framework, because it waits."""
    result["paths"].setdefault("/api/v1/approvals/{id}", {})["get"] = dict(WAITING)
    result["paths"] = dict(sorted(result["paths"].items()))
    return result
