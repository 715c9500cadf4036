"""Bodies that the doors accept. Unknown keys and other types are refused."""

from typing import Any, Final

from rest_framework import serializers

from approvals.asks import VERDICTS, Ask
from approvals.models import Request
from approvals.target import MOST_BYTES
from checkpoints.definition import TOOL_NAME
from checkpoints.models import Risk
from checkpoints.serializers import PositionSerializer
from kernel.canonical import canonical_bytes
from sessions.contract import FACT_NAME
from sessions.serializers import Text, Word
from tenants.rest.strict import QuerySerializer, StrictSerializer

A_YEAR: Final = 366 * 24 * 60 * 60  # seconds


def seconds() -> serializers.IntegerField:
    """An optional duration of at most a year."""
    return serializers.IntegerField(required=False, min_value=1, max_value=A_YEAR)


class Bounded(serializers.JSONField):
    """Any JSON of at most `MOST_BYTES`, null too."""

    def __init__(self) -> None:
        super().__init__(required=False, allow_null=True)

    def to_internal_value(self, data: Any) -> Any:
        if len(canonical_bytes(data)) > MOST_BYTES:
            raise serializers.ValidationError(f"At most {MOST_BYTES} bytes.")
        return data


class PreconditionSerializer(StrictSerializer):
    """A fact that must hold when the action happens."""

    field = Word(FACT_NAME)
    equals = Bounded()
    max_age = seconds()


class AskSerializer(StrictSerializer):
    """One request for one exact action."""

    tool = Word(TOOL_NAME)
    arguments = serializers.DictField()
    target = Bounded()
    preconditions = serializers.ListField(
        child=PreconditionSerializer(), required=False, max_length=20
    )
    explanation = Text(required=False, allow_blank=True, max_length=20_000)
    tool_call_id = Text(required=False, max_length=255)
    context = Word("[0-9a-f]{64}", required=False)  # type: ignore[assignment]  # the API calls it so
    risk = serializers.ChoiceField(Risk.choices, required=False)
    allowed_decisions = serializers.MultipleChoiceField(
        choices=VERDICTS, required=False, allow_empty=False
    )
    response_schema = serializers.DictField(required=False)
    decide_within = seconds()
    use_within = seconds()
    reviewed_only = serializers.BooleanField(required=False)

    @staticmethod
    def ask(data: dict[str, Any]) -> Ask:
        """What a validated body asks for."""
        allowed = data.get("allowed_decisions") or VERDICTS
        return Ask(
            tool=data["tool"],
            arguments=data["arguments"],
            target=data.get("target"),
            preconditions=tuple(map(dict, data.get("preconditions", ()))),
            explanation=data.get("explanation", ""),
            tool_call_id=data.get("tool_call_id"),
            context=bytes.fromhex(data["context"]) if "context" in data else None,
            risk=data.get("risk"),
            allowed=[verdict for verdict in VERDICTS if verdict in allowed],
            response_schema=data.get("response_schema"),
            decide_within=data.get("decide_within"),
            use_within=data.get("use_within"),
            reviewed_only=data.get("reviewed_only", False),
        )


class OneCallSerializer(AskSerializer):
    """A request with nothing opened beforehand, or for a run that there is."""

    run = serializers.UUIDField(required=False)
    session = serializers.UUIDField(required=False)
    subject = Text(required=False, max_length=255)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A run has its session, and a session its subject: nothing is passed over."""
        given = [name for name in ("run", "session", "subject") if name in attrs]
        for name in given[1:]:
            known = f"It is given with the {given[0]}."
            raise serializers.ValidationError({name: known})
        return attrs


class ApprovalListQuery(QuerySerializer):
    """Which approvals are wanted."""

    status = serializers.ChoiceField(Request.State.choices, required=False)
    run = serializers.UUIDField(required=False)
    cursor = serializers.CharField(required=False)
    limit = serializers.CharField(required=False)


class PauseSerializer(StrictSerializer):
    """A checkpoint and the questions asked from it."""

    checkpoint = PositionSerializer()
    requests = serializers.ListField(
        child=AskSerializer(), allow_empty=False, max_length=50
    )
    resume_when = serializers.ChoiceField(["all", "each"], required=False)


class ReasonSerializer(StrictSerializer):
    """Why something is taken back."""

    reason = Text(max_length=2_000)


class TakeBackSerializer(StrictSerializer):
    """Which answer of one's own: the one to the revision of this digest."""

    digest = Word("[0-9a-f]{64}")


class ReviseSerializer(StrictSerializer):
    """The agent's answer to a request for changes."""

    arguments = serializers.DictField()
    explanation = Text(required=False, allow_blank=True, max_length=20_000)


class ReportSerializer(StrictSerializer):
    """What came of one attempt."""

    attempt = serializers.IntegerField(min_value=1, max_value=1000)
    outcome = serializers.ChoiceField(["confirmed", "failed", "unknown"])
    external_id = Text(required=False, allow_blank=True, max_length=255)
    evidence = serializers.DictField(required=False)


class DecisionSerializer(StrictSerializer):
    """One person's answer, to the revision whose digest they saw."""

    verdict = serializers.ChoiceField(VERDICTS)
    digest = Word("[0-9a-f]{64}")
    reason = Text(required=False, allow_blank=True, max_length=10_000)
    arguments = serializers.DictField(required=False)
    response = serializers.JSONField(required=False)
