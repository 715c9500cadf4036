"""What the doors answer with, read inside the tenant's scope."""

import base64
from typing import Any

from checkpoints.models import Attempt, Checkpoint, Effect
from checkpoints.queries import attempts_of
from checkpoints.serializers import BASE64, TEXT
from kernel.strict_json import parse


def saved_document(checkpoint: Checkpoint) -> dict[str, Any]:
    """What became of a position that was saved."""
    return {
        "id": checkpoint.id,
        "run": checkpoint.run_id,
        "number": checkpoint.number,
        "parent": checkpoint.parent,
        "digest": bytes(checkpoint.digest).hex(),
        "created_at": checkpoint.created_at,
    }


def checkpoint_document(checkpoint: Checkpoint) -> dict[str, Any]:
    """A checkpoint with its payload, byte for byte."""
    encoding, payload = _encoded(checkpoint.payload)
    return {
        **saved_document(checkpoint),
        "schema_version": checkpoint.schema_version,
        "header": checkpoint.header,
        "closes": checkpoint.closes,
        "payload": payload,
        "payload_encoding": encoding,
    }


def effect_document(effect: Effect) -> dict[str, Any]:
    """An effect with its attempts; what was done is read from the sealed bytes."""
    action: Any = parse(bytes(effect.action), limit=len(effect.action))
    return {
        "id": effect.id,
        "run": effect.run_id,
        "request": effect.request,
        "tool": action["tool"],
        "target": action["target"],
        "arguments": action["arguments"],
        "idempotency_key": bytes(effect.key).hex(),
        "state": effect.state,
        "attempt": effect.attempt,
        "attempts": [_attempt(one) for one in attempts_of(effect)],
        "external_id": effect.external_id,
        "created_at": effect.created_at,
        "ended_at": effect.ended_at,
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "fence": attempt.fence,
        "send_before": attempt.send_before,
        "outcome": attempt.outcome,
        "ended_at": attempt.ended_at,
    }


def _encoded(payload: bytes) -> tuple[str, str]:
    """As text if it came as text: strict JSON has no null character."""
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        text = "\x00"
    if "\x00" in text:
        return BASE64, base64.b64encode(payload).decode()
    return TEXT, text
