"""How fast an agent asks: counted with each question; said once where it is unusual."""

from collections.abc import Sequence
from typing import Final

from approvals.models import Request
from audit.append import Actor
from tenants.principal import Principal
from tenants.services.quotas import count_asked
from tenants.verbs import Verb

UNUSUAL: Final = "agent.unusual"


def count(verb: Verb, principal: Principal, requests: Sequence[Request]) -> None:
    """The last step of asking, and nothing but a record: it never blocks by itself.

    Raises `quota_exceeded` (429).
    """
    pace = count_asked(principal.agent_id, len(requests))
    if pace.began:
        verb.record(
            UNUSUAL,
            actor=Actor(type="system", id="keyturn"),
            subject=("request", requests[0].id),
            data={"agent": str(principal.agent_id), "usual_per_minute": pace.usual},
        )
