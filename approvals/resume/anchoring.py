"""Writing down how far every chain has come, unless it has been set back meanwhile."""

from uuid import UUID

import structlog
from django.db import DatabaseError

from approvals.services.recovery import begin_recovery
from audit.anchors import anchor, tenants_set_back

log = structlog.get_logger(__name__)


def anchor_or_stop() -> int:
    """Begin a recovery where the anchor is ahead; anchor all others. How many moved."""
    for tenant_id in tenants_set_back():
        _stop(tenant_id)
    return anchor()


def _stop(tenant_id: UUID) -> None:
    """One tenant whose chain is too broken to append to must not hold up the others."""
    try:
        begin_recovery(tenant_id)
    except DatabaseError as error:
        log.exception("recovery_not_begun", tenant=str(tenant_id), exc_info=error)
