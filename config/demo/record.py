"""`demo.json`: what a person, or a program of theirs, needs to use the demo.

It holds passwords and keys in clear, so only its owner may read it.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from config.embedded.passwords import write_private


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """One person, as they sign in to one tenant."""

    email: str
    password: str
    roles: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRecord:
    """One tenant: its agents' keys by the agent's name, and its people."""

    slug: str
    api_keys: dict[str, str] = field(default_factory=dict)
    users: list[SignIn] = field(default_factory=list)

    def user(self, email: str) -> SignIn:
        """The person of that address. Raises LookupError where there is none."""
        for one in self.users:
            if one.email == email:
                return one
        raise LookupError(email)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The whole file."""

    url: str
    correction_url: str
    tenants: list[TenantRecord]

    def tenant(self, slug: str) -> TenantRecord:
        """The tenant of that address. Raises LookupError where there is none."""
        for one in self.tenants:
            if one.slug == slug:
                return one
        raise LookupError(slug)

    def moved(self, *, url: str) -> "Record":
        """The same demo at another address."""
        return replace(self, url=url)


def record_file(data_dir: Path) -> Path:
    return data_dir / "demo.json"


def read_record(data_dir: Path) -> Record | None:
    """What is written; None where nothing was ever seeded."""
    try:
        text = record_file(data_dir).read_text()
    except FileNotFoundError:
        return None
    return _record(json.loads(text))


def write_record(data_dir: Path, record: Record) -> None:
    """Write it (0600), whole or not at all."""
    text = json.dumps(asdict(record), indent=2, ensure_ascii=False)
    write_private(record_file(data_dir), f"{text}\n")


def _record(read: dict[str, Any]) -> Record:
    tenants = [
        TenantRecord(**{**one, "users": [SignIn(**user) for user in one["users"]]})
        for one in read["tenants"]
    ]
    return Record(**{**read, "tenants": tenants})
