"""A tenant's data key, as an operator's console changes it."""

from uuid import UUID

from audit.append import Actor
from tenants.vault import destroy, rewrap
from tenants.verbs import Gate, Verb, perform


def rewrap_data_key(tenant_id: UUID) -> bool:
    """Wrap the key under the first master key; False if it was already, or is gone.

    It waits for verbs that may just be making the key, under a former one.
    """

    def work(verb: Verb) -> bool:
        changed = rewrap(tenant_id)
        if changed:
            _record(verb, "tenant.data_key_rewrapped")
        return changed

    return perform(tenant_id, work, gate=Gate.EXCLUSIVE)


def destroy_data_key(tenant_id: UUID) -> None:
    """Make all that is sealed for the tenant unreadable, for ever and for everybody."""

    def work(verb: Verb) -> None:
        destroy(tenant_id)
        _record(verb, "tenant.data_key_destroyed")

    perform(tenant_id, work, gate=Gate.EXCLUSIVE)


def _record(verb: Verb, kind: str) -> None:
    operator = Actor("operator", verb.tenant_id)
    verb.record(kind, actor=operator, subject=("tenant", verb.tenant_id))
