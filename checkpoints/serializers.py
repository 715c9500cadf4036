"""Bodies that the checkpoints' doors accept, and the documents they answer with."""

import base64
import binascii
from typing import Any, Final

from rest_framework import serializers

from checkpoints.checkpoint import MANY_STEPS, Position
from checkpoints.models import Effect
from kernel.problems import declare
from sessions.serializers import Text
from tenants.rest.strict import StrictSerializer

PAYLOAD_INVALID: Final = declare(
    "payload_invalid", status=400, title="The payload is not the base64 it claims to be"
)
TEXT: Final = "text"
BASE64: Final = "base64"


class Steps(serializers.ListField):
    """Names of steps, in order."""

    child = Text(allow_blank=True)

    def __init__(self) -> None:
        super().__init__(required=False, max_length=MANY_STEPS)


class HeaderSerializer(StrictSerializer):
    """What is done, what is to be done, and what proves it."""

    completed = Steps()
    pending = Steps()
    markers = serializers.DictField(required=False)


class PositionSerializer(StrictSerializer):
    """A position to come back to: `payload` is opaque, and kept byte for byte."""

    parent = serializers.IntegerField(  # type: ignore[assignment]  # the API calls it so
        allow_null=True, min_value=1
    )
    schema_version = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    payload = serializers.CharField(allow_blank=True, trim_whitespace=False)
    payload_encoding = serializers.ChoiceField([TEXT, BASE64], required=False)
    header = HeaderSerializer(required=False)

    @staticmethod
    def position(data: dict[str, Any], pointer: str = "") -> Position:
        """The validated position, its payload as bytes; `pointer` leads to it."""
        return Position(
            parent=data["parent"],
            schema_version=data["schema_version"],
            payload=_payload(data, pointer),
            header=dict(data.get("header", {})),
        )


class SavedDocument(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    run = serializers.UUIDField()
    number = serializers.IntegerField()
    parent = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    digest = serializers.CharField(help_text="SHA-256, 64 hex digits.")
    created_at = serializers.DateTimeField()


class CheckpointDocument(SavedDocument):
    schema_version = serializers.IntegerField()
    header = HeaderSerializer()
    closes = serializers.ListField(child=serializers.UUIDField())
    payload = serializers.CharField()
    payload_encoding = serializers.ChoiceField([TEXT, BASE64])


class AttemptDocument(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    fence = serializers.IntegerField()
    send_before = serializers.DateTimeField()
    outcome = serializers.CharField(help_text="Empty while it is not known.")
    ended_at = serializers.DateTimeField(allow_null=True)


class EffectDocument(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    run = serializers.UUIDField()
    request = serializers.UUIDField()
    tool = serializers.CharField()
    target = serializers.JSONField(allow_null=True)
    arguments = serializers.DictField()
    idempotency_key = serializers.CharField(help_text="64 hex digits.")
    state = serializers.ChoiceField(Effect.State.choices)
    attempt = serializers.IntegerField()
    attempts = AttemptDocument(many=True)
    external_id = serializers.CharField()
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


def _payload(data: dict[str, Any], pointer: str) -> bytes:
    text: str = data["payload"]
    if data.get("payload_encoding") != BASE64:
        return text.encode()
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise PAYLOAD_INVALID(None, f"{pointer}/payload") from None
