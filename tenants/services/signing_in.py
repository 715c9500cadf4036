"""Signing in and what guards it, as each tenant of the person sees it."""

from typing import Any

from audit.append import Actor
from tenants.access import Membership
from tenants.verbs import Gate, Verb, perform


def record_sign_in(membership: Membership, methods: tuple[str, ...] = ()) -> None:
    """Put on the tenant's record that a member signed in, and with what."""
    record_own(membership, "member.signed_in", methods=list(methods))


def record_own(membership: Membership, kind: str, **data: Any) -> None:
    """Put on the tenant's record what a member did to their own sign-in."""

    def work(verb: Verb) -> None:
        subject = ("member", membership.member_id)
        verb.record(kind, actor=Actor(*subject), subject=subject, data=data)

    perform(membership.tenant_id, work, gate=Gate.NONE)
