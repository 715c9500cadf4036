"""One tenant's anchors, to be kept away from the server: no line of another's is in them.

    {"v", "tenant", "seq", "hash", "at", "prev", "key_id", "signature"}   as in the file
    {"copy": {"tenant", "at", "anchors", "sha256", "whole"}, "key_id", "signature"}

In the file each line continues the one before it, whoever's that is, which a tenant's
lines alone cannot show. The last one stands for it: it is signed over all lines before
it, and says whether the file was whole when they were taken from it.
`audit/offline/verify_export.py` takes either.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final
from uuid import UUID

from audit.anchors import anchors_file
from audit.chain import moment
from audit.keys import signing_key
from kernel.canonical import canonical_bytes
from kernel.clock import database_now

DOMAIN: Final = b"keyturn/anchors-copy/v1\0"


def write_anchor_copy(tenant_id: UUID, out: IO[bytes]) -> None:
    """Write the tenant's lines as they stand in the file, and the signed last one."""
    said, digest, count = _Walk(str(tenant_id)), sha256(), 0
    for line in said.own(_whole_lines(anchors_file())):
        out.write(line)
        digest.update(line)
        count += 1
    out.write(
        _last_line(
            {
                "tenant": str(tenant_id),
                "at": moment(database_now()),
                "anchors": count,
                "sha256": digest.hexdigest(),
                "whole": said.whole,
            }
        )
    )


@dataclass(slots=True)
class _Walk:
    """How far the file was followed; whoever is shown a line checks its signature."""

    tenant: str
    whole: bool = True
    _prev: str = field(default="")

    def own(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Those of the tenant."""
        for text in lines:
            try:
                line = json.loads(text)
                follows, tenant = line["prev"] == self._prev, line["tenant"]
                self._prev = line["signature"]
            except (ValueError, KeyError, TypeError):
                self.whole = False  # whose it was cannot be told
                continue
            self.whole = self.whole and follows
            if tenant == self.tenant:
                yield text


def _whole_lines(path: Path) -> Iterator[bytes]:
    """One after the other: the file grows for as long as there is the installation."""
    if path.exists():
        with path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))


def _last_line(said: dict[str, Any]) -> bytes:
    key = signing_key()
    signature = key.sign(DOMAIN + canonical_bytes(said)).hex()
    line = {"copy": said, "key_id": key.id, "signature": signature}
    return canonical_bytes(line) + b"\n"
