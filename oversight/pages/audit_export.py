"""The audit log as a file: written line by line, whatever its length."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import batched
from typing import IO, Any, Final
from uuid import UUID

from audit.browsing import Wanted, each_entry
from audit.chain import moment
from audit.export import export_chain
from audit.models import Entry
from audit.queries import chain_snapshot
from oversight.pages.audit import actor_name, actor_names
from oversight.presentation.audit import BUNDLE

COLUMNS: Final = ("seq", "at", "kind", "actor", "actor_id", "subject", "data", "hash")
NAMES_AT_ONCE: Final = 500  # entries whose actors are looked up together

type Write = Callable[[UUID, Wanted, IO[bytes]], None]


def write_bundle(tenant_id: UUID, _: Wanted, out: IO[bytes]) -> None:
    """All of the chain as it is signed: what the offline verifier takes."""
    export_chain(tenant_id, out)


def write_csv(tenant_id: UUID, wanted: Wanted, out: IO[bytes]) -> None:
    """What was asked for as a table, newest first, for spreadsheets."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    table = csv.writer(text)
    table.writerow(COLUMNS)
    for row in _each(tenant_id, wanted):
        table.writerow([_inert(str(row[name])) for name in COLUMNS])
    text.detach()


def write_ndjson(tenant_id: UUID, wanted: Wanted, out: IO[bytes]) -> None:
    """What was asked for, an object a line, newest first, for programs."""
    for row in _each(tenant_id, wanted):
        out.write(json.dumps(row, separators=(",", ":")).encode() + b"\n")


NDJSON: Final = "application/x-ndjson"

FORMS: Final[Mapping[str, tuple[Write, str, str]]] = {
    "bundle": (write_bundle, NDJSON, BUNDLE),
    "csv": (write_csv, "text/csv; charset=utf-8", "audit.csv"),
    "ndjson": (write_ndjson, NDJSON, "audit.ndjson"),
}


def _each(tenant_id: UUID, wanted: Wanted) -> Iterator[dict[str, Any]]:
    with chain_snapshot(tenant_id):
        for some in batched(each_entry(tenant_id, wanted), NAMES_AT_ONCE):
            names = actor_names(some)
            for row in some:
                yield _document(row, names)


def _document(row: Entry, names: Mapping[str, str]) -> dict[str, Any]:
    about = f" {row.subject_id}" if row.subject_id else ""
    return {
        "seq": row.seq,
        "at": moment(row.at),
        "kind": row.kind,
        "actor": actor_name(row, names),
        "actor_id": row.actor_id,
        "subject": f"{row.subject_type}{about}",
        "data": json.dumps(row.data, ensure_ascii=False, separators=(",", ":")),
        "hash": bytes(row.hash).hex(),
    }


def _inert(cell: str) -> str:
    """A spreadsheet takes what begins so for a formula, and an agent may have said it."""
    return f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell
