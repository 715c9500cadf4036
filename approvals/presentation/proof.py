"""How a person can say who they are, in the form that decides."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """`field` is the one that the form has: `password`, `code`, or '' for none.

    `elsewhere` does it on a page of its own, to which a button of the form leads: a
    `passkey`, or the `provider` by which they came; '' for neither.
    """

    field: str
    elsewhere: str = ""
