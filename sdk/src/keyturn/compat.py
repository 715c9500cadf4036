"""Other frameworks' bodies as they are: asked as a whole, answered in their own shape.

What comes back resumes the framework's interrupt and lets nothing happen: each of its
`requests` whose `next` is `redeem` is redeemed as any approval is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keyturn.calling import Call, get, path_of, post
from keyturn.documents import AskedInterrupt, Interrupt, Resumed


def ask_hitl_request(
    request: Mapping[str, Any], *, fence: int | None = None, key: str | None = None
) -> Call[AskedInterrupt]:
    """Ask about every action of LangChain's `HITLRequest`: all of them, or none.

    A member `keyturn` of it says in which run or session, and on whose behalf.
    """
    path = path_of("compat", "hitl-requests")
    return post(AskedInterrupt, path, dict(request), key, fence)


def get_hitl_response(interrupt: str, *, wait: int = 0) -> Call[Interrupt]:
    """Its `HITLResponse`, or a wait of up to `wait` seconds (at most 60) for it."""
    path = path_of("compat", "hitl-requests", interrupt)
    return get(Interrupt, path, **({"wait": wait} if wait else {}))


def ask_human_interrupt(
    request: Mapping[str, Any], *, fence: int | None = None, key: str | None = None
) -> Call[AskedInterrupt]:
    """Ask about the action of LangGraph's `HumanInterrupt`; `keyturn` as above."""
    path = path_of("compat", "human-interrupts")
    return post(AskedInterrupt, path, dict(request), key, fence)


def get_human_response(interrupt: str, *, wait: int = 0) -> Call[Interrupt]:
    """Its `HumanResponse`, or a wait of up to `wait` seconds (at most 60) for it."""
    path = path_of("compat", "human-interrupts", interrupt)
    return get(Interrupt, path, **({"wait": wait} if wait else {}))


def resume_interrupts(
    resume: Sequence[Mapping[str, Any]], *, key: str | None = None
) -> Call[Resumed]:
    """What an AG-UI page sends back: it takes questions back, and approves nothing."""
    body = {"resume": [dict(one) for one in resume]}
    return post(Resumed, path_of("compat", "resumes"), body, key)
