"""How a person can say who they are, in the form that decides."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """`field` is the one that the form has: `password`, `code`, or '' for none.

    `passkey_href` is the page on which a passkey does it; '' for people without one.
    """

    field: str
    passkey_href: str = ""
