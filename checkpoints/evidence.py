"""What was said of an attempt, by whom, and how they know. Kept, and never rewritten.

`Attempt.evidence` is {"told": statement, "late": [statement, …], "found": [statement,
…]}: the sender's first word, what was said after that, and what was found out. A
statement is {"outcome", "external_id", "evidence", "by": {"type", "id"}}.
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from audit.append import Actor
from checkpoints.models import Attempt
from kernel.canonical import canonical_bytes, digest
from kernel.problems import declare
from kernel.update import update_exactly_one
from sessions.redaction import redacted, redacted_text

EVIDENCE_TOO_LARGE: Final = declare(
    "evidence_too_large", status=422, title="The evidence is too large"
)

MAX_EVIDENCE: Final = 16 * 1024  # bytes of canonical JSON
MAX_EXTERNAL_ID: Final = 255  # characters
MAX_STATEMENTS: Final = 20  # of one kind: the first ones, and the last

type Statement = dict[str, Any]


def statement(
    tenant_id: UUID,
    outcome: str,
    external_id: str,
    evidence: Mapping[str, Any] | None,
    by: Actor,
) -> Statement:
    """Bounded, strict, without credentials. Raises `evidence_too_large` (422)."""
    value = dict(evidence or {})
    if len(canonical_bytes(value)) > MAX_EVIDENCE:
        raise EVIDENCE_TOO_LARGE(f"At most {MAX_EVIDENCE} bytes.", "/evidence")
    clean, kinds = redacted(value, tenant_id)
    return {
        "outcome": outcome,
        "external_id": redacted_text(external_id, tenant_id)[:MAX_EXTERNAL_ID],
        "evidence": clean,
        "by": {"type": by.type, "id": str(by.id)},
        **({"redacted": kinds} if kinds else {}),
    }


def keep_told(attempt: Attempt, said: Statement, **end: Any) -> None:
    """Keep the sender's first word, with the attempt's end. Raises `LostRace`."""
    rows = Attempt.objects.filter(
        tenant_id=attempt.tenant_id, id=attempt.id, outcome=""
    )
    attempt.evidence = {**attempt.evidence, "told": said}
    update_exactly_one(rows, evidence=attempt.evidence, **end)


def keep_also(attempt: Attempt, kind: str, said: Statement) -> None:
    """Add to what was said `late`, or `found` out."""
    before = attempt.evidence.get(kind, [])
    kept = [*before[: MAX_STATEMENTS - 1], said]
    attempt.evidence = {**attempt.evidence, kind: kept}
    rows = Attempt.objects.filter(tenant_id=attempt.tenant_id, id=attempt.id)
    update_exactly_one(rows, evidence=attempt.evidence)


def statement_digest(attempt: Attempt, said: Statement) -> bytes:
    """What the audit log keeps of a statement, 32 bytes.

    The attempt's id is under it and nowhere else on the chain: once the row is erased,
    nobody can find the statement by trying.
    """
    return digest("keyturn/evidence/v1", {"attempt": str(attempt.id), "said": said})
