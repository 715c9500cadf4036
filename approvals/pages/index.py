"""Every open request that a member may see, in the order of the list.

One statement reads it; counts, facets, pages and neighbours are all taken from its
rows, so that no count can differ from the list that it heads.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from approvals.models import Request
from approvals.pages.selection import OPEN_VIEWS, RISKS, Selection
from approvals.pages.viewer import Viewer

MOST: Final = 5_000  # rows of an index; what lies beyond it has the least risk

# "Needs my key": an eligible stranger to the request who has not answered it yet. The
# same rules as when the answer is judged, on the same sealed obligation; and the
# judgement then is the one that counts. Bytes that are not those of their digest are
# not read at all. (`soon` is the hour that the view is named after.)
OPEN: Final = """
SELECT r.id, r.risk, r.due_at, r.state,
  r.due_at <= clock_timestamp() + interval '1 hour',
  r.state = 'pending' AND r.queue_id = ANY(%(decides)s)
    AND NOT EXISTS (
      SELECT FROM approvals_decision d
      WHERE d.revision_id = v.id AND d.member_id = %(member)s)
    AND EXISTS (
      SELECT FROM jsonb_array_elements(o.owed -> 'rules') AS rule(said)
      WHERE (said #> '{eligible,groups}' = '[]'
             OR said #> '{eligible,groups}' ?| %(groups)s)
        AND (said #> '{eligible,members}' = '[]'
             OR said #> '{eligible,members}' ? %(member_text)s))
    AND (t.solo OR NOT (
      k.created_by_id IS NOT DISTINCT FROM %(member)s
      OR (v.author_type = 'member' AND v.author_id = %(member)s
          AND NOT (o.owed -> 'editor_counts')::boolean)
      OR EXISTS (
        SELECT FROM tenants_agentowner w
        WHERE w.agent_id = r.agent_id AND w.member_id = %(member)s
          AND (w.until IS NULL OR w.until >= r.created_at))
      OR EXISTS (
        SELECT FROM jsonb_array_elements(o.owed -> 'policies') AS pinned(said)
        JOIN approvals_policyrevision p
          ON p.policy_id = (said ->> 'id')::uuid
          AND p.number = (said ->> 'revision')::integer
        WHERE p.author_id = %(member)s AND p.cosigned_by_id IS NULL)))
FROM approvals_request r
JOIN tenants_tenant t ON t.id = r.tenant_id
JOIN tenants_apikey k ON k.id = r.key_id
JOIN checkpoints_tool x ON x.id = r.tool_id
JOIN tenants_agent a ON a.id = r.agent_id
JOIN approvals_revision v ON v.request_id = r.id AND v.number = r.revision
CROSS JOIN LATERAL (SELECT CASE
  WHEN sha256('keyturn/approval/v1'::bytea || '\\x00'::bytea || v.envelope) = v.digest
  THEN convert_from(v.envelope, 'UTF8')::jsonb -> 'obligation' END AS owed
  OFFSET 0) o  -- read once a row, and not again wherever it is named
WHERE r.state IN ('pending', 'changes_requested') AND r.queue_id = ANY(%(sees)s)
  AND (r.title ILIKE %(like)s OR x.name ILIKE %(like)s OR a.name ILIKE %(like)s
    OR EXISTS (
      SELECT FROM agent_sessions_run u
      WHERE u.id = r.run_id AND u.external_id ILIKE %(like)s)
    OR EXISTS (
      SELECT FROM approvals_decision d
      JOIN tenants_member m ON m.id = d.member_id
      JOIN tenants_user p ON p.id = m.user_id
      WHERE d.request_id = r.id
        AND (p.name ILIKE %(like)s OR p.email ILIKE %(like)s)))
ORDER BY array_position(%(risks)s, r.risk::text), r.due_at NULLS LAST, r.id
LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One open request's place in the list."""

    id: UUID
    risk: str
    due_at: datetime | None
    state: str
    soon: bool
    mine: bool

    @property
    def cursor(self) -> str:
        """The whole sort key, so that a page begins right though its last row left."""
        due = self.due_at.isoformat() if self.due_at else ""
        return f"{RISKS.index(self.risk)} {due} {self.id}"

    @property
    def order(self) -> tuple[int, bool, str, str]:
        due = self.due_at.isoformat() if self.due_at else ""
        return RISKS.index(self.risk), self.due_at is None, due, str(self.id)

    def is_in(self, view: str) -> bool:
        if view == "changes":
            return self.state == Request.State.CHANGES_REQUESTED
        return {"mine": self.mine, "soon": self.soon}.get(view, True)


@dataclass(frozen=True, slots=True)
class Index:
    """The open requests that match a search, highest risk first, then next to expire."""

    entries: tuple[Entry, ...]

    def counts(self) -> dict[str, int]:
        """How many each view of the open requests holds."""
        return {
            view: sum(entry.is_in(view) for entry in self.entries)
            for view in OPEN_VIEWS
        }

    def risks(self, view: str) -> Counter[str]:
        """How many of a view there are of each risk."""
        return Counter(entry.risk for entry in self.entries if entry.is_in(view))

    def of(self, selection: Selection) -> list[Entry]:
        """All of a selection, whatever its page."""
        return [
            entry
            for entry in self.entries
            if entry.is_in(selection.view) and selection.risk in {"", entry.risk}
        ]


def read_index(viewer: Viewer, search: str = "") -> Index:
    """The one statement, besides those about the viewer's rights."""
    with connection.cursor() as cursor:
        cursor.execute(OPEN, _parameters(viewer, search))
        return Index(tuple(Entry(*row) for row in cursor.fetchall()))


def _parameters(viewer: Viewer, search: str) -> dict[str, Any]:
    return {
        "sees": viewer.sees,
        "decides": list(viewer.rights.get("decide", ())),
        "groups": [str(group) for group in viewer.groups],
        "member": viewer.id,
        "member_text": str(viewer.id),
        "like": like(search),
        "risks": list(RISKS),
        "most": MOST,
    }


def like(search: str) -> str:
    """A pattern that finds the text itself, wherever it stands."""
    plain = search.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{plain}%"


def page_of(
    entries: Sequence[Entry], after: str, size: int
) -> tuple[list[Entry], bool]:
    """The entries that follow a cursor, and whether there are more."""
    rest = [one for one in entries if one.order > _parse(after)] if after else entries
    return list(rest[:size]), len(rest) > size


def _parse(cursor: str) -> tuple[int, bool, str, str]:
    """A cursor's sort key; one that is not of our making sorts before everything."""
    risk, _, rest = cursor.partition(" ")
    due, _, id = rest.partition(" ")
    if not risk.isdecimal():
        return -1, False, "", ""
    return int(risk), due == "", due, id
