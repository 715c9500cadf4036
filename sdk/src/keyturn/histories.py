"""A framework's histories: sessions of an agent's own, found by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyturn import calls
from keyturn.documents import Item
from keyturn.flows import Connection, Flow, send


class Histories:
    """Sessions by their external ids; reading makes none."""

    def __init__(self, connection: Connection, subject: str) -> None:
        self._connection = connection
        self._subject = subject
        self._ids: dict[str, str] = {}

    def opened(self, name: str) -> Flow[str]:
        """The session of that name, made where there is none."""
        if name not in self._ids:
            opened = calls.open_session(subject=self._subject, external_id=name)
            self._ids[name] = (yield from send(self._connection, opened)).id
        return self._ids[name]

    def known(self, name: str) -> Flow[str | None]:
        """The session of that name, if there is one."""
        if name not in self._ids:
            listed = calls.list_sessions(external_id=name)
            for one in (yield from send(self._connection, listed)).items:
                self._ids[name] = one.id
        return self._ids.get(name)

    def append(
        self, name: str, items: Sequence[Any], *, key: str | None = None
    ) -> Flow[None]:
        session = yield from self.opened(name)
        appended = calls.append_items(session, items, key=key)
        yield from send(self._connection, appended)

    def items(self, name: str) -> Flow[list[Item]]:
        """All of them, in the order in which they were added."""
        session = yield from self.known(name)
        found: list[Item] = []
        before = None
        while session is not None:
            listed = calls.list_items(session, before=before)
            page = yield from send(self._connection, listed)
            found[:0] = page.items
            if not page.more:
                break
            before = found[0].position
        return found

    def clear(self, name: str) -> Flow[None]:
        session = yield from self.known(name)
        if session is not None:
            yield from send(self._connection, calls.clear_items(session))

    def replace(self, name: str, items: Sequence[Any], *, last: int) -> Flow[None]:
        """Keep these instead; 409 `items_changed` if one was added after `last`."""
        session = yield from self.opened(name)
        replaced = calls.replace_items(session, items, expected_last=last)
        yield from send(self._connection, replaced)
