"""Which question is meant: a run finds what it asked before, and asks nothing twice."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256

from keyturn import calls, exact
from keyturn.asks import Ask
from keyturn.documents import Approval
from keyturn.errors import KeyReused
from keyturn.flows import Connection, Flow, send

_LONGEST = 200  # of the server's 255, so that the digest has its place
_DIGEST = re.compile(r"#sha256:[0-9a-f]{16}\Z")


def keyed(ask: Ask, key: str) -> Ask:
    """The question under a key of its tool's own.

    The digest stays with it through edits, and tells a repeated call from another one.
    """
    name = calls.key_from(ask.tool, key)
    if len(name) > _LONGEST:
        name = sha256(name.encode()).hexdigest()
    return replace(ask, tool_call_id=f"{name}#sha256:{_digest(ask)[:16]}")


def named(ask: Ask) -> Ask:
    """The question with a name: where it has none, one made of all that is asked."""
    if ask.tool_call_id is not None:
        return ask
    return replace(ask, tool_call_id=_digest(ask)[:32])


def asked_before(run: Connection, run_id: str) -> Flow[list[Approval]]:
    """Every question of a run."""
    found: list[Approval] = []
    cursor = None
    while True:
        page = yield from send(
            run, calls.list_approvals(run=run_id, cursor=cursor, limit=200)
        )
        found += page.items
        if page.next is None:
            return found
        cursor = page.next


def find(ask: Ask, among: Iterable[Approval]) -> Approval | None:
    """What was asked under that name. Raises `KeyReused` if it was something else."""
    name = _name(ask.tool_call_id)
    for one in among:
        if _name(one.tool_call_id) == name:
            if not _is_same(ask, one):
                raise KeyReused(one)
            return one
    return None


def _is_same(ask: Ask, found: Approval) -> bool:
    if found.tool != ask.tool or found.tool_call_id != ask.tool_call_id:
        return False
    # Later revisions have the arguments of whoever edited or revised them.
    as_asked = found.revision > 1 or exact.same(found.arguments, ask.arguments)
    return as_asked and exact.same(found.target, ask.target)


def _name(tool_call_id: str | None) -> str | None:
    return tool_call_id and _DIGEST.sub("", tool_call_id)


def _digest(ask: Ask) -> str:
    action = exact.encode([ask.tool, dict(ask.arguments), ask.target])
    return sha256(action).hexdigest()
