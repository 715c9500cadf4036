"""What the doors answer with, read inside the tenant's scope."""

import base64
from typing import Any

from checkpoints.models import Attempt, Checkpoint, Effect
from checkpoints.queries import attempts_of
from checkpoints.serializers import BASE64, TEXT
from checkpoints.services.forks import Forked
from checkpoints.services.restores import Restoration
from checkpoints.upgrades import Content
from kernel.strict_json import parse
from sessions.api.documents import run_document


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
    content = Content(checkpoint.payload, checkpoint.header)
    return _document(checkpoint, checkpoint.schema_version, content)


def restored_document(restoration: Restoration) -> dict[str, Any]:
    """A checkpoint as it is read today, and how it came to be read so."""
    restored = restoration.restored
    return {
        **_document(restored.checkpoint, restored.schema_version, restored.content),
        "restored": restoration.report,
    }


def fork_document(forked: Forked) -> dict[str, Any]:
    """The run that was opened, where it begins, and where that came from."""
    fork = forked.fork
    return {
        "run": run_document(forked.run),
        "checkpoint": saved_document(forked.checkpoint),
        "forked_from": {
            "run": fork.source_id,
            "number": fork.number,
            "reason": fork.reason,
        },
        "restored": forked.restoration.report,
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


def _document(
    checkpoint: Checkpoint, schema_version: int, content: Content
) -> dict[str, Any]:
    encoding, payload = _encoded(content.payload)
    return {
        **saved_document(checkpoint),
        "schema_version": schema_version,
        "header": content.header,
        "closes": checkpoint.closes,
        "payload": payload,
        "payload_encoding": encoding,
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
