"""How rights change: with the tenant's gate closed, so that no decision is under way.

Every verb of this package runs through `change`; rules that the database holds come
back as problems that name them.
"""

from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from django.db import IntegrityError, models

from kernel.problems import NOT_FOUND, Kind, declare
from tenants.idempotency import Once
from tenants.models import TenantModel
from tenants.verbs import Gate, Verb, perform

SLUG_TAKEN: Final = declare(
    "slug_taken", status=409, title="Another tenant has this address"
)
EMAIL_TAKEN: Final = declare(
    "email_taken", status=409, title="Someone signs in with this e-mail address"
)
NAME_TAKEN: Final = declare("name_taken", status=409, title="This name is in use")
ALREADY_SO: Final = declare("already_so", status=409, title="This is so already")

_RULES: Final[Mapping[str, Kind]] = {
    "tenants_tenant_slug_key": SLUG_TAKEN,
    "tenants_user_email_key": EMAIL_TAKEN,
    "member_once_per_tenant": ALREADY_SO,
    "group_name_per_tenant": NAME_TAKEN,
    "agent_name_per_tenant": NAME_TAKEN,
    "agent_owner_once": ALREADY_SO,
    "secret_pattern_once_per_kind": ALREADY_SO,
    "group_mapping_once": ALREADY_SO,
    "external_identity_once": ALREADY_SO,
    "external_identity_per_member": ALREADY_SO,
}


def change[T](
    tenant_id: UUID, work: Callable[[Verb], T], *, once: Once | None = None
) -> T:
    """Perform a verb that changes who may do what.

    Raises what `perform` raises, and 409 for a broken rule of the database.
    """
    try:
        return perform(tenant_id, work, gate=Gate.EXCLUSIVE, once=once)
    except IntegrityError as error:
        raise rule_broken(error) from error


def rule_broken(error: IntegrityError) -> Exception:
    """The problem that names the broken rule, or the error itself if it has none."""
    diagnosis = getattr(error.__cause__, "diag", None)
    kind = _RULES.get(getattr(diagnosis, "constraint_name", None) or "")
    return kind() if kind else error


def own[M: TenantModel](model: type[M], tenant_id: UUID, row_id: UUID) -> M:
    """The tenant's row. Raises `not_found` (404) for any other."""
    manager: models.Manager[M] = model._default_manager
    row = manager.filter(tenant_id=tenant_id, id=row_id).first()
    if row is None:
        raise NOT_FOUND()
    return row
