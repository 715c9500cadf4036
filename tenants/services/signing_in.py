"""Signing in, as each tenant of the person sees it."""

from audit.append import Actor
from tenants.access import Membership
from tenants.verbs import Gate, Verb, perform


def record_sign_in(membership: Membership) -> None:
    """Put on the tenant's record that a member signed in."""

    def work(verb: Verb) -> None:
        subject = ("member", membership.member_id)
        verb.record("member.signed_in", actor=Actor(*subject), subject=subject)

    perform(membership.tenant_id, work, gate=Gate.NONE)
