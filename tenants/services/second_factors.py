"""People's sealed second factors, as an operator's console changes them."""

from collections.abc import Iterator
from typing import Final

from allauth.mfa.models import Authenticator
from django.db import transaction

from tenants.factors import is_sealed_first, opened_factor, sealed_factor

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
