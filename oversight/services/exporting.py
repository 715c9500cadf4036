"""Taking the audit log away: that somebody did is an entry of the log itself."""

from typing import Any
from uuid import UUID

from sessions.redaction import redacted
from tenants.access import OVERSEERS
from tenants.checks import permitted
from tenants.principal import Person
from tenants.verbs import Verb, perform


def record_export(person: Person, *, form: str, asked: dict[str, Any]) -> UUID:
    """Record who exports what, before the first byte leaves. Returns the tenant's id.

    Raises what `permitted` raises for whoever does not oversee the tenant.
    """

    def work(verb: Verb) -> UUID:
        actor = permitted(
            person.tenant_id, person.member_id, roles=OVERSEERS, while_stopped=True
        )
        data = {"form": form, "asked": redacted(asked, person.tenant_id)[0]}
        about = ("tenant", person.tenant_id)
        verb.record("audit.exported", actor=actor, subject=about, data=data)
        return person.tenant_id

    return perform(person.tenant_id, work)
