"""From a request with `Idempotency-Key` to a verb's `once`, and to the answer.

once = once_from(request, rendered(session_document, status=201))
open_session(…, once=once)
return answered(once)
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from kernel.problems import Problem, declare
from tenants.idempotency import Once, kept_key
from tenants.principal import Person, Principal
from tenants.rest.answers import Rendered, json_response, json_text
from tenants.rest.bodies import body_of

HEADER: Final = "Idempotency-Key"
KEY_MALFORMED: Final = declare(
    "idempotency_key_malformed",
    status=400,
    title=f"{HEADER} is 1 to 255 visible ASCII characters",
)

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def once_from(request: Request, render: Callable[[Any], Rendered]) -> Once:
    """What a verb needs so as to answer a repeated request without repeating it.

    Without the header nothing is stored, yet `render` runs inside the transaction all
    the same. A verb that returns a `Problem` has it stored like any other answer.
    Raises `Problem` `idempotency_key_malformed` (400).
    """
    key = request.headers.get(HEADER)
    if key is not None and not _KEY.fullmatch(key):
        raise KEY_MALFORMED()
    return Once(
        principal=_principal_id(request),
        key=key and kept_key(key),
        body_hash=_fingerprint(request),
        render=lambda result: _render(result, render),
    )


def answered(once: Once) -> HttpResponse:
    """The response that was rendered, and stored, with the work."""
    if once.answer is None:
        raise RuntimeError("the verb was not given this `once`")
    return json_response(*once.answer)


def _principal_id(request: Request) -> UUID:
    who: Any = request.auth
    if isinstance(who, Principal):
        return who.agent_id
    assert isinstance(who, Person)
    return who.member_id


def _fingerprint(request: Request) -> bytes:
    """Method, path and body as they came, and an agent's environment: 32 bytes.

    What a key for tests was answered is no answer to the same agent's for production.
    """
    who: Any = request.auth
    environment = who.environment if isinstance(who, Principal) else ""
    said = (str(request.method), request.path, environment)
    parts = (*(one.encode() for one in said), body_of(request))
    return hashlib.sha256(b"\0".join(parts)).digest()


def _render(result: Any, render: Callable[[Any], Rendered]) -> Rendered:
    if isinstance(result, Problem):
        return result.status, json_text(result.document())
    return render(result)
