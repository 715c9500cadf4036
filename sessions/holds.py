"""What a legal hold keeps."""

from typing import Final
from uuid import UUID

from django.db.models import Q

from kernel.problems import declare
from sessions.models import Hold

LEGAL_HOLD: Final = declare(
    "legal_hold", status=409, title="A legal hold keeps this from being erased"
)


def is_held(tenant_id: UUID, session_id: UUID) -> bool:
    """Whether a legal hold on the session or the tenant is in force."""
    holds = Hold.objects.filter(tenant_id=tenant_id, lifted_at=None)
    return holds.filter(Q(session=session_id) | Q(session=None)).exists()
