"""What the OpenAPI document says of these doors' answers. Nothing is read with these."""

from typing import Final

from drf_spectacular.utils import OpenApiExample, OpenApiParameter
from rest_framework import serializers

from approvals.api.described import NOT_ASKED, ApprovalDocument
from approvals.problems import ENVIRONMENT_DIFFERS, TOO_LATE, WRONG_MODE
from sessions.runs import FENCE
from tenants.rest.refusals import OWN, refuses

ASKED: Final = {OWN: [*NOT_ASKED[OWN], WRONG_MODE.code]}
NOT_RESUMED: Final = refuses(TOO_LATE, ENVIRONMENT_DIFFERS)
FENCED_WITH_A_RUN: Final = OpenApiParameter(
    name=FENCE,
    type=int,
    location=OpenApiParameter.HEADER,
    description="Needed with `keyturn.run`: the fence of the caller's own claim of it.",
)
HITL_REQUEST: Final = OpenApiExample(
    "Two payments",
    value={
        "action_requests": [
            {"name": "pay", "args": {"payee": "Halden Paper", "amount": "1240.00"}},
            {"name": "pay", "args": {"payee": "Orla Print", "amount": "80.00"}},
        ],
        "review_configs": [
            {"action_name": "pay", "allowed_decisions": ["approve", "edit", "reject"]}
        ],
        "keyturn": {"subject": "customer-7"},
    },
    request_only=True,
)
HUMAN_INTERRUPT: Final = OpenApiExample(
    "A payment",
    value={
        "action_request": {
            "action": "pay",
            "args": {"payee": "Halden Paper", "amount": "1240.00"},
        },
        "config": {
            "allow_ignore": True,
            "allow_respond": True,
            "allow_edit": True,
            "allow_accept": True,
        },
        "description": "Invoice INV-1042.",
    },
    request_only=True,
)


class HITLAction(serializers.Serializer[object]):
    name = serializers.CharField()
    args = serializers.DictField()


class HITLDecision(serializers.Serializer[object]):
    """One action's answer: `edited_action` with edit, `message` with the last two."""

    type = serializers.ChoiceField(["approve", "edit", "reject", "respond"])
    edited_action = HITLAction(required=False)
    message = serializers.CharField(required=False)


class HITLResponse(serializers.Serializer[object]):
    """What resumes the interrupt. It lets nothing happen: each `redeem` does."""

    decisions = HITLDecision(many=True)


class HumanResponse(serializers.Serializer[object]):
    """What resumes the interrupt; `args` is null, a text, or an action. It lets nothing
    happen: `redeem` does."""

    type = serializers.ChoiceField(["accept", "ignore", "response", "edit"])
    args = serializers.JSONField(allow_null=True)


class InterruptDocument(serializers.Serializer[object]):
    """`answered` once every action is; then there is the `response`."""

    id = serializers.UUIDField()
    run = serializers.UUIDField()
    answered = serializers.BooleanField()
    requests = ApprovalDocument(many=True)


class HITLDocument(InterruptDocument):
    """A `HITLRequest` as it stands; `requests` in the order of its actions."""

    response = HITLResponse(allow_null=True)


class HumanDocument(InterruptDocument):
    """A `HumanInterrupt` as it stands."""

    response = HumanResponse(allow_null=True)


class AskedHITL(HITLDocument):
    """Right after asking: also the fence of the run that waits."""

    fence = serializers.IntegerField()


class AskedHuman(HumanDocument):
    """Right after asking: also the fence of the run that waits."""

    fence = serializers.IntegerField()


class AGUIInterrupt(serializers.Serializer[object]):
    """A question that nobody has answered, as AG-UI has it."""

    id = serializers.UUIDField()
    reason = serializers.CharField()
    message = serializers.CharField()
    toolCallId = serializers.CharField(required=False)
    expiresAt = serializers.DateTimeField(required=False)
    metadata = serializers.DictField()


class AGUIOutcome(serializers.Serializer[object]):
    """For RUN_FINISHED: `interrupt` while anything named waits for people."""

    type = serializers.ChoiceField(["success", "interrupt"])
    interrupts = AGUIInterrupt(many=True, required=False)


class ResumedDocument(serializers.Serializer[object]):
    """How the named questions stand, in the order in which they were named."""

    outcome = AGUIOutcome()
    requests = ApprovalDocument(many=True)
