"""A server in memory: as much of the API as the SDK's own flows use, and one agent.

It keeps to the real one's order of things (fence, idempotency, single use), and judges
nothing: no policy, no schema, no scope. The SDK's tests run against both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from email.utils import format_datetime
from hashlib import sha256

import httpx

from keyturn.testing.questions import Questions
from keyturn.testing.rows import Asked, Json, Refuse


class Server(Questions):
    """The doors to all of it."""

    def handle(self, request: httpx.Request) -> httpx.Response:
        try:
            status, document = self._once(request)
        except Refuse as refused:
            return httpx.Response(refused.status, json=refused.document)
        told = {"Date": format_datetime(self.now(), usegmt=True)}
        return httpx.Response(status, json=document, headers=told)

    def _once(self, request: httpx.Request) -> tuple[int, Json]:
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return self._answer(request)
        fingerprint = sha256(
            b"\0".join([request.url.raw_path, request.content])
        ).digest()
        if key in self.kept:
            known, status, document = self.kept[key]
            if known != fingerprint:
                raise Refuse(422, "idempotency_mismatch")
            return status, document
        status, document = self._answer(request)
        document = json.loads(json.dumps(document))
        self.kept[key] = fingerprint, status, document
        return status, document

    def _answer(self, request: httpx.Request) -> tuple[int, Json]:
        words = request.url.path.removeprefix("/api/v1/").split("/")
        query = dict(request.url.params)
        body = json.loads(request.content) if request.content else query
        name = f"{request.method} {words[0]}{' …' if len(words) > 1 else ''}"
        name += f" {words[2]}" if len(words) > 2 else ""
        fence = int(request.headers.get("Keyturn-Fence", "-1"))
        door = _DOORS.get(name)
        if door is None:
            raise Refuse(501, "not_in_the_fake", detail=f"{name} is not played here")
        return door(self, Asked(words, body, fence))


_DOORS: Mapping[str, Callable[[Server, Asked], tuple[int, Json]]] = {
    "POST sessions": Server.open_session,
    "POST sessions … items": Server.append_items,
    "GET sessions … items": Server.list_items,
    "POST sessions … runs": Server.start_run,
    "GET runs …": lambda server, asked: (200, server.run(asked.id)),
    "POST runs … claim": Server.claim,
    "POST runs … heartbeat": Server.heartbeat,
    "POST runs … transitions": Server.record,
    "POST runs … checkpoints": Server.save,
    "GET runs … checkpoints": Server.get_checkpoint,
    "POST runs … pause": Server.pause,
    "POST runs … complete": Server.end_run,
    "POST runs … fail": Server.end_run,
    "POST runs … cancel": Server.end_run,
    "POST approvals": Server.request,
    "GET approvals": Server.list_approvals,
    "GET approvals …": Server.get_approval,
    "POST approvals … revise": Server.revise,
    "POST approvals … withdraw": Server.withdraw,
    "POST approvals … redeem": Server.redeem,
    "GET effects …": Server.get_effect,
    "POST effects … report": Server.report,
}
