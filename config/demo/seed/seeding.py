"""Filling an empty installation, once.

First everything that agents and administrators do, through the verbs; then, when the
server answers, what reviewers have decided already, through their browsers.
"""

from dataclasses import dataclass
from typing import Final

from approvals.models import Request
from config.demo.record import Record, TenantRecord
from config.demo.reviewer import Reviewer
from config.demo.seed import requests
from config.demo.seed.cast import ADA, AINO, FJORDLINE, NORDVIK
from config.demo.seed.company import add_people, found
from config.demo.seed.tools import publish_policies, register_tools
from config.demo.seed.work import play

HALF_DECIDED: Final = "Checked with the partners: they send four times as much."
CHANGES: Final = "Reading is enough for an audit. Ask for read access, until 31 March."


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """What was made, and the two requests that reviewers answer next."""

    tenants: list[TenantRecord]
    half_decided: Request
    to_change: Request


def seed(correction_url: str) -> Seeded:
    """Found both companies and let their agents ask."""
    signs = add_people()
    fjordline, nordvik = (found(one, signs) for one in (FJORDLINE, NORDVIK))
    register_tools(fjordline, correction_url)
    publish_policies(fjordline)
    for scene in (*requests.DECIDED_BY_POLICY, *requests.OPEN):
        play(fjordline, scene)
    play(nordvik, requests.SHOP_PAYMENT)
    return Seeded(
        tenants=[fjordline.record(signs), nordvik.record(signs)],
        half_decided=play(fjordline, requests.RATE_LIMIT),
        to_change=play(fjordline, requests.ACCESS),
    )


def decide_some(record: Record, seeded: Seeded) -> None:
    """Aino turns the first of two keys, and Ada asks for changes."""
    _answer(record, AINO, seeded.half_decided, "approve", HALF_DECIDED)
    _answer(record, ADA, seeded.to_change, "request_changes", CHANGES)


def _answer(
    record: Record, email: str, request: Request, verdict: str, reason: str
) -> None:
    tenant = record.tenant(FJORDLINE.slug)
    with Reviewer.at(record.url, tenant.slug) as browser:
        browser.sign_in(tenant.user(email))
        digest = browser.digest_on_screen(str(request.id))
        answer = browser.decide(str(request.id), verdict, digest=digest, reason=reason)
        answer.raise_for_status()
