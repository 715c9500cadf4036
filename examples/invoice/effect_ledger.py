"""The correction system's own memory: what it did, once per idempotency key.

SQLite with a full sync on every commit, so that whatever was answered is still true
after the process or the machine is killed.
"""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE IF NOT EXISTS effect (
    sequence INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    external_id TEXT NOT NULL UNIQUE,
    invoice_id TEXT NOT NULL,
    body TEXT NOT NULL,
    body_digest TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE INDEX IF NOT EXISTS effect_key ON effect (key);
CREATE TABLE IF NOT EXISTS fence (
    key TEXT PRIMARY KEY,
    highest INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS arrival (
    key TEXT PRIMARY KEY,
    calls INTEGER NOT NULL
) STRICT;
"""

# The first id of a kind is its number here; each later one counts on.
FIRST_IDS = {
    "corrections": ("CR", 771),
    "holds": ("PH", 501),
    # What other agents of the company do, in the demo.
    "payments": ("PAY", 9001),
    "refunds": ("RF", 301),
    "deployments": ("DPL", 4181),
    "settings": ("SET", 77),
    "grants": ("ACC", 212),
    "deletions": ("DEL", 5),
    "campaigns": ("CMP", 12),
    "keys": ("KEY", 64),
    "labels": ("LBL", 903),
}
ABOUT_INVOICES = frozenset({"corrections", "holds"})


class StaleFence(Exception):
    """The caller's fencing token is older than one already seen for this key."""


class KeyReused(Exception):
    """The idempotency key was used before, for a different body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing that was done. `replayed`: it was done by an earlier call."""

    kind: str
    key: str
    external_id: str
    arguments: dict[str, Any]
    created_at: str
    replayed: bool


class EffectLedger:
    """Records effects in `folder`/effects.sqlite3; safe for many threads.

    Without `honours_keys` it plays the worse kind of system: every call is one more
    effect, and only its caller can prevent a second one.
    """

    def __init__(self, folder: Path, *, honours_keys: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._honours_keys = honours_keys
        self._lock = threading.Lock()
        self._database = sqlite3.connect(
            folder / "effects.sqlite3", check_same_thread=False, autocommit=True
        )
        self._database.row_factory = sqlite3.Row
        self._database.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;" + _TABLES
        )

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def record(
        self, *, kind: str, key: str, fence: int | None, body: dict[str, Any]
    ) -> Effect:
        """Do it, or say what was done for this key before.

        Raises `StaleFence` and `KeyReused`; neither leaves anything behind.
        """
        with self._transaction():
            self._raise_fence(key, fence)
            known = self._find(key) if self._honours_keys else None
            if known is None:
                self._insert(kind, key, body)
            elif (known["kind"], known["body_digest"]) != (kind, _digest(body)):
                raise KeyReused(key)
            return _effect(self._find(key), replayed=known is not None)

    def find(self, key: str) -> Effect | None:
        with self._lock:
            row = self._find(key)
        return _effect(row, replayed=True) if row else None

    def note_arrival(self, key: str) -> None:
        """Count a call before anything is decided about it."""
        with self._transaction():
            self._database.execute(
                "INSERT INTO arrival (key, calls) VALUES (?, 1)"
                " ON CONFLICT (key) DO UPDATE SET calls = calls + 1",
                (key,),
            )

    def statistics(self) -> dict[str, Any]:
        """Effects by key and by invoice, calls by key, and how many effects in all.

        Two effects of one key, or of one invoice, are what nobody wants to see.
        """
        with self._lock:
            count = "SELECT {0}, count(*) FROM effect GROUP BY {0}"
            effects = dict(self._database.execute(count.format("key")))
            invoices = dict(self._database.execute(count.format("invoice_id")))
            calls = dict(self._database.execute("SELECT key, calls FROM arrival"))
        return {
            "total": sum(effects.values()),
            "effects": effects,
            "by_invoice": invoices,
            "calls": calls,
        }

    def _raise_fence(self, key: str, fence: int | None) -> None:
        if fence is None:
            return
        # By key and not by invoice: tokens of different runs cannot be compared.
        raised = self._database.execute(
            "INSERT INTO fence (key, highest) VALUES (?, ?) ON CONFLICT (key)"
            " DO UPDATE SET highest = excluded.highest"
            " WHERE excluded.highest >= highest",
            (key, fence),
        )
        if raised.rowcount == 0:
            raise StaleFence(key)

    def _insert(self, kind: str, key: str, body: dict[str, Any]) -> None:
        prefix, first = FIRST_IDS[kind]
        done = self._database.execute(
            "SELECT count(*) FROM effect WHERE kind = ?", (kind,)
        ).fetchone()[0]
        self._database.execute(
            "INSERT INTO effect (key, kind, external_id, invoice_id, body, body_digest)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                key,
                kind,
                f"{prefix}-{first + done}",
                body.get("invoice_id", ""),
                json.dumps(body, ensure_ascii=False),
                _digest(body),
            ),
        )

    def _find(self, key: str) -> Any:
        return self._database.execute(
            "SELECT * FROM effect WHERE key = ? ORDER BY sequence DESC", (key,)
        ).fetchone()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                self._database.execute("ROLLBACK")
                raise


def _digest(body: dict[str, Any]) -> str:
    canonical = json.dumps(body, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _effect(row: Any, *, replayed: bool) -> Effect:
    return Effect(
        kind=row["kind"],
        key=row["key"],
        external_id=row["external_id"],
        arguments=json.loads(row["body"]),
        created_at=row["created_at"],
        replayed=replayed,
    )
