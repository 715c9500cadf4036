"""A tenant's own shapes of credentials, for every search inside its scope."""

from collections.abc import Mapping, Sequence
from typing import Final

from kernel.scope import current_scope
from kernel.secrets import Shape, shape_of
from tenants.models import SecretPattern

Alphabet = SecretPattern.Alphabet
CHARACTERS: Final[Mapping[str, str]] = {
    Alphabet.DIGITS: "0-9",
    Alphabet.HEX: "0-9a-fA-F",
    Alphabet.UPPER: "0-9A-Z",
    Alphabet.LOWER: "0-9a-z",
    Alphabet.ALNUM: "0-9A-Za-z",
    Alphabet.BASE64: "0-9A-Za-z+/=",
    Alphabet.BASE64URL: "0-9A-Za-z_-",
}
_MEMO: Final = "secret patterns"


def shapes_here() -> Sequence[Shape]:
    """The shapes of the tenant in whose scope this runs, read once in a transaction."""
    scope = current_scope()
    if scope is None:
        return ()
    if _MEMO not in scope.memo:
        rows = SecretPattern.objects.filter(tenant_id=scope.tenant_id).order_by("kind")
        scope.memo[_MEMO] = tuple(map(shape_from, rows))
    shapes: Sequence[Shape] = scope.memo[_MEMO]
    return shapes


def shape_from(row: SecretPattern) -> Shape:
    return shape_of(row.kind, row.prefix, CHARACTERS[row.alphabet], row.least, row.most)
