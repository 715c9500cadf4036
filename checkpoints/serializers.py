"""Bodies that the checkpoints' doors accept, and the documents they answer with."""

import base64
import binascii
from typing import Any, Final

from rest_framework import serializers

from checkpoints.checkpoint import Position
from checkpoints.models import Effect
from checkpoints.upgrades import MANY_STEPS
from kernel.problems import declare
from sessions.serializers import LeaseSerializer, RunDocument, Text
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


class StepDocument(serializers.Serializer[Any]):
    name = serializers.CharField()
    before = serializers.CharField(help_text="The content's digest, 64 hex digits.")
    after = serializers.CharField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`from` is no name that a class could have."""
        versions = {name: serializers.IntegerField() for name in ("from", "to")}
        return {**super().get_fields(), **versions}


class SchemaDocument(serializers.Serializer[Any]):
    found = serializers.IntegerField(help_text="As it is stored.")
    returned = serializers.IntegerField(help_text="As it is answered.")
    steps = StepDocument(many=True)


class SoFarDocument(serializers.Serializer[Any]):
    """What was done to the world, by the run and by those it was forked from."""

    done = serializers.ListField(child=serializers.DictField())
    failed = serializers.ListField(child=serializers.DictField())
    open = serializers.ListField(child=serializers.DictField())
    not_started = serializers.ListField(child=serializers.DictField())
    older = serializers.IntegerField(
        help_text="Effects with an outcome, of very many, that are not listed."
    )


class RestoreDocument(serializers.Serializer[Any]):
    """What was found and done when the checkpoint was restored."""

    checkpoint = serializers.IntegerField()
    is_head = serializers.BooleanField()
    digest = serializers.CharField()
    digest_ok = serializers.BooleanField()
    schema = SchemaDocument()
    completed = serializers.ListField(child=serializers.CharField())
    pending = serializers.ListField(child=serializers.CharField())
    effects = SoFarDocument()
    code = serializers.CharField(help_text="Empty: it was restored.")
    reason = serializers.CharField()
    advice = serializers.CharField()


class CheckpointDocument(SavedDocument):
    schema_version = serializers.IntegerField()
    header = HeaderSerializer()
    closes = serializers.ListField(child=serializers.UUIDField())
    payload = serializers.CharField()
    payload_encoding = serializers.ChoiceField([TEXT, BASE64])


class RestoredDocument(CheckpointDocument):
    """`schema_version`, `header` and `payload` are as they are read today."""

    restored = RestoreDocument()


class ForkSerializer(LeaseSerializer):
    """Why a run goes on from that checkpoint, and for how long the caller writes it."""

    reason = Text(required=False, allow_blank=True, max_length=2_000)


class OriginDocument(serializers.Serializer[Any]):
    run = serializers.UUIDField()
    number = serializers.IntegerField()
    reason = serializers.CharField()


class ForkDocument(serializers.Serializer[Any]):
    run = RunDocument()
    checkpoint = SavedDocument()
    forked_from = OriginDocument()
    restored = RestoreDocument()


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
