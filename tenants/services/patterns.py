"""What else is cut out and refused as a credential, as a tenant's administrators say."""

import re
from typing import Final
from uuid import UUID

from kernel.problems import NOT_FOUND, declare
from tenants.checks import Acting, permitted
from tenants.models import SecretPattern
from tenants.services.change import change
from tenants.verbs import Verb

PATTERN_INVALID: Final = declare(
    "secret_pattern_invalid", status=422, title="Credentials cannot be told by this"
)
MOST_PATTERNS: Final = 50
# No word of a kind is as long as a match, so a mark is never taken for a credential.
_KIND: Final = re.compile(r"[a-z0-9]{1,10}(?: [a-z0-9]{1,10}){0,3}")
_PREFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{2,31}")
_LEAST, _MOST = 8, 256


def add_secret_pattern(
    *,
    tenant_id: UUID,
    by: Acting,
    kind: str,
    prefix: str,
    alphabet: str,
    least: int,
    most: int | None = None,
) -> SecretPattern:
    """From now on, cut out and refuse what begins so; `most` is `least` unless given.

    Raises `secret_pattern_invalid` (422), `already_so` (409) for a kind that is there.
    """
    most = least if most is None else most
    _check(kind, prefix, alphabet, least, most)

    def work(verb: Verb) -> SecretPattern:
        actor = permitted(tenant_id, by)
        if SecretPattern.objects.filter(tenant_id=tenant_id).count() >= MOST_PATTERNS:
            raise PATTERN_INVALID(f"At most {MOST_PATTERNS} of them.")
        row = SecretPattern.objects.create(
            tenant_id=tenant_id,
            kind=kind,
            prefix=prefix,
            alphabet=alphabet,
            least=least,
            most=most,
        )
        about = ("secret_pattern", row.id)
        shape = {"prefix": prefix, "alphabet": alphabet, "least": least, "most": most}
        data = {"kind": kind, **shape}
        verb.record("secret_pattern.added", actor=actor, subject=about, data=data)
        return row

    return change(tenant_id, work)


def remove_secret_pattern(*, tenant_id: UUID, by: Acting, kind: str) -> None:
    """What was cut out stays cut out. Raises `not_found` (404)."""

    def work(verb: Verb) -> None:
        actor = permitted(tenant_id, by)
        row = SecretPattern.objects.filter(tenant_id=tenant_id, kind=kind).first()
        if row is None:
            raise NOT_FOUND()
        about, data = ("secret_pattern", row.id), {"kind": kind}
        verb.record("secret_pattern.removed", actor=actor, subject=about, data=data)
        row.delete()

    change(tenant_id, work)


def _check(kind: str, prefix: str, alphabet: str, least: int, most: int) -> None:
    if not _KIND.fullmatch(kind):
        raise PATTERN_INVALID("One to four words of at most 10 a-z and 0-9.", "/kind")
    if not _PREFIX.fullmatch(prefix):
        raise PATTERN_INVALID("3 to 32 of A-Z, a-z, 0-9, and _.- inside.", "/prefix")
    if alphabet not in SecretPattern.Alphabet.values:
        known = ", ".join(SecretPattern.Alphabet.values)
        raise PATTERN_INVALID(f"One of {known}.", "/alphabet")
    if not _LEAST <= least <= most <= _MOST:
        raise PATTERN_INVALID(f"{_LEAST} to {_MOST} characters.", "/least")
