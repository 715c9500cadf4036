"""People's sealed second factors, as an operator's console changes them."""

from collections.abc import Iterator
from typing import Final

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db import transaction

from audit.append import Actor
from tenants.access import Membership, memberships
from tenants.factors import is_sealed_first, opened_factor, sealed_factor
from tenants.models import User
from tenants.verbs import Gate, Verb, perform

# Where each kind keeps what is sealed. A passkey's half is public.
PLACES: Final = {"totp": "secret", "recovery_codes": "seed"}


def sealed_factors() -> Iterator[int]:
    """The ids of all factors that keep something sealed."""
    rows = Authenticator.objects.filter(type__in=PLACES).order_by("id")
    yield from rows.values_list("id", flat=True)


def reseal_factor(factor_id: int) -> bool:
    """Seal it under the first master key; False if it was already, or is gone.

    Raises as `opened_factor`.
    """
    with transaction.atomic():
        row = Authenticator.objects.select_for_update().filter(id=factor_id).first()
        if row is None or is_sealed_first(row.data[PLACES[row.type]]):
            return False
        place = PLACES[row.type]
        row.data[place] = sealed_factor(opened_factor(row.data[place]))
        row.save(update_fields=["data"])
    return True


def remove_factors(user: User) -> int:
    """Remove all of a person's, first on the record of each of their tenants; how many.

    Whoever is signed in as them has to sign in again: it may be who took the device.
    """
    rows = Authenticator.objects.filter(user_id=user.pk)
    if not rows.exists():
        return 0
    for membership in memberships(user):
        _record_removal(membership)
    count: int = rows.delete()[0]
    for session in UserSession.objects.filter(user_id=user.pk):
        session.end()
    return count


def _record_removal(membership: Membership) -> None:
    def work(verb: Verb) -> None:
        operator = Actor("operator", verb.tenant_id)
        subject = ("member", membership.member_id)
        verb.record("member.factors_removed", actor=operator, subject=subject)

    perform(membership.tenant_id, work, gate=Gate.NONE)
