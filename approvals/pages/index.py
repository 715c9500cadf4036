"""Every open request that a member may see, in the order of the list.

One statement reads it, whatever the selection; counts, facets, pages and neighbours are
all taken from its rows, so that no count can differ from the list that it heads.
"""

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from approvals.models import Request
from approvals.pages.selection import (
    NEWEST,
    OPEN_VIEWS,
    RISKS,
    SPANS,
    Selection,
)
from approvals.pages.viewer import Viewer
from approvals.states import OPEN as OPEN_STATES

MOST: Final = 5_000  # rows of an index; what lies beyond it has the least risk
WHOLE: Final = Selection()
KEY_TEXTS: Final = 3
LONGEST_CURSOR: Final = 120

type Key = tuple[int, str, str, str]
"""What a list is sorted by; distinct for each request."""

# "Needs my key": an eligible stranger to the request who has not answered it yet. The
# same rules as when the answer is judged, on the same sealed obligation; and the
# judgement then is the one that counts. Bytes that are not those of their digest are
# not read at all. The same is asked of everybody for whom the viewer stands in now: what
# also waits for them is marked so.
OPEN: Final = """
WITH asked AS MATERIALIZED (
  SELECT %(member)s AS id, %(member_text)s AS text, '' AS name,
    %(groups)s::text[] AS groups, %(decides)s::uuid[] AS decides
  UNION ALL
  SELECT m.id, m.id::text, m.name,
    ARRAY(
      SELECT g.id::text FROM tenants_group g
      JOIN tenants_user_groups i ON i.group_id = g.django_group_id
      WHERE i.user_id = m.user_id),
    ARRAY(
      SELECT held.queue FROM (
        SELECT h.content_object_id, h.permission_id
        FROM approvals_queueuserpermission h WHERE h.user_id = m.user_id
        UNION
        SELECT h.content_object_id, h.permission_id
        FROM approvals_queuegrouppermission h
        JOIN tenants_user_groups i ON i.group_id = h.group_id
        WHERE i.user_id = m.user_id) AS held(queue, permission)
      JOIN auth_permission c ON c.id = held.permission AND c.codename = 'decide'
      WHERE l.queues = '{}' OR held.queue = ANY(l.queues))
  FROM approvals_delegation l
  JOIN tenants_member m ON m.id = l.delegator_id AND m.active AND m.until IS NULL
  JOIN tenants_user p ON p.id = m.user_id AND p.is_active
  WHERE l.delegate_id = %(member)s AND l.ended_at IS NULL
    AND clock_timestamp() >= l.starts_at AND clock_timestamp() < l.ends_at)
SELECT r.id, r.risk, r.due_at, r.created_at, r.state, q.id, q.slug, x.name, a.name,
  extract(epoch FROM n.at - r.created_at)::float8,
  extract(epoch FROM r.due_at - n.at)::float8,
  substr(md5(concat_ws(' ', x.id, a.id, (
    SELECT string_agg(key || ' ' || jsonb_typeof(value), ' ' ORDER BY key)
    FROM jsonb_each(CASE jsonb_typeof(o.asked) WHEN 'object' THEN o.asked END)))), 1, 12),
  s.matches,
  CASE WHEN r.taken_until IS NULL OR r.taken_until <= n.at THEN 'free'
    WHEN r.taken_by_id = %(member)s THEN 'me' ELSE 'others' END,
  EXISTS (
    SELECT FROM approvals_snooze z
    WHERE z.request_id = r.id AND z.member_id = %(member)s AND n.at < z.until
      AND z.revision = r.revision AND z.state = r.state
      AND z.answers = (
        SELECT count(*) + count(d.taken_back_by_id)
        FROM approvals_decision d WHERE d.request_id = r.id)),
  ARRAY(
    SELECT DISTINCT w.name FROM asked w
    WHERE r.state = 'pending' AND r.queue_id = ANY(w.decides)
    AND NOT EXISTS (
      SELECT FROM approvals_decision d
      WHERE d.revision_id = v.id AND w.id IN (d.member_id, d.on_behalf_of_id)
        AND d.taken_back_by_id IS NULL)
    AND EXISTS (
      SELECT FROM jsonb_array_elements(o.owed -> 'rules') AS rule(said)
      WHERE (said #> '{eligible,groups}' = '[]'
             OR said #> '{eligible,groups}' ?| w.groups)
        AND (said #> '{eligible,members}' = '[]'
             OR said #> '{eligible,members}' ? w.text))
    AND (t.solo OR NOT (
      k.created_by_id IS NOT DISTINCT FROM w.id
      OR (v.author_type = 'member' AND v.author_id = w.id
          AND NOT (o.owed -> 'editor_counts')::boolean)
      OR EXISTS (
        SELECT FROM tenants_agentowner y
        WHERE y.agent_id = r.agent_id AND y.member_id = w.id
          AND (y.until IS NULL OR y.until >= r.created_at))
      OR EXISTS (
        SELECT FROM jsonb_array_elements(o.owed -> 'policies') AS pinned(said)
        JOIN approvals_policyrevision p
          ON p.policy_id = (said ->> 'id')::uuid
          AND p.number = (said ->> 'revision')::integer
        WHERE p.author_id = w.id AND p.cosigned_by_id IS NULL))))
FROM approvals_request r
JOIN tenants_tenant t ON t.id = r.tenant_id
JOIN tenants_apikey k ON k.id = r.key_id
JOIN checkpoints_tool x ON x.id = r.tool_id
JOIN tenants_agent a ON a.id = r.agent_id
JOIN approvals_queue q ON q.id = r.queue_id
JOIN approvals_revision v ON v.request_id = r.id AND v.number = r.revision
CROSS JOIN LATERAL (SELECT CASE
  WHEN sha256('keyturn/approval/v1'::bytea || '\\x00'::bytea || v.envelope) = v.digest
  THEN convert_from(v.envelope, 'UTF8')::jsonb END AS sealed
  OFFSET 0) e  -- read once a row, and not again wherever it is named
CROSS JOIN LATERAL (SELECT
  e.sealed -> 'obligation' AS owed, e.sealed -> 'arguments' AS asked OFFSET 0) o
CROSS JOIN (SELECT clock_timestamp() AS at OFFSET 0) n
CROSS JOIN LATERAL (SELECT NOT EXISTS (
  SELECT FROM unnest(%(words)s::text[]) AS word(sought) WHERE (
    r.title ILIKE sought OR x.name ILIKE sought OR a.name ILIKE sought
    OR EXISTS (
      SELECT FROM agent_sessions_run u
      WHERE u.id = r.run_id AND u.external_id ILIKE sought)
    OR EXISTS (
      SELECT FROM approvals_decision d
      JOIN tenants_member m ON m.id = d.member_id
      JOIN tenants_user p ON p.id = m.user_id
      WHERE d.request_id = r.id AND (m.name ILIKE sought OR p.email ILIKE sought))
    OR o.asked::text ILIKE sought OR (e.sealed ->> 'target') ILIKE sought
  ) IS NOT TRUE) AS matches OFFSET 0) s
WHERE r.state IN ('pending', 'changes_requested') AND r.queue_id = ANY(%(sees)s)
ORDER BY s.matches AND %(queue)s IN ('', q.slug) AND %(tool)s IN ('', x.name)
    AND %(agent)s IN ('', a.name) DESC,  -- so that none that is sought is cut off
  array_position(%(risks)s, r.risk::text), r.due_at NULLS LAST, r.id
LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One open request's place in the list.

    `age` and `left` are seconds, by the database's clock. Requests of one `shape` are
    of one tool and agent, and have arguments of the same names and kinds. `taken` says
    who is on it: me, others or free. What is `snoozed` is in no other list of the
    viewer's. `waits_for` are names of those who could answer it and whom the viewer
    stands in for, and '' for the viewer.
    """

    id: UUID
    risk: str
    due_at: datetime | None
    asked_at: datetime
    state: str
    queue_id: UUID
    queue: str
    tool: str
    agent: str
    age: float
    left: float | None
    shape: str
    matches: bool
    taken: str
    snoozed: bool
    waits_for: tuple[str, ...]

    @property
    def mine(self) -> bool:
        return "" in self.waits_for

    @property
    def is_asked(self) -> bool:
        return self.state == Request.State.PENDING

    @property
    def behalf(self) -> tuple[str, ...]:
        """For whom as well; whoever could not answer themself cannot answer for them."""
        return tuple(filter(None, self.waits_for)) if self.mine else ()

    def is_in(self, view: str) -> bool:
        if self.snoozed or view == "snoozed":
            return self.snoozed and view == "snoozed"
        if view == "changes":
            return self.state == Request.State.CHANGES_REQUESTED
        return {"mine": self.mine, "soon": self.expires_within("1h")}.get(view, True)

    def expires_within(self, span: str) -> bool:
        return self.left is not None and self.left <= SPANS[span].total_seconds()

    def fits(self, selection: Selection) -> bool:
        """Whether every part of the selection holds."""
        named = ("risk", "queue", "tool", "agent", "taken")
        return (
            self.is_in(selection.view)
            and (self.matches or not selection.search)
            and all(getattr(selection, n) in {"", getattr(self, n)} for n in named)
            and selection.alike in {"", self.shape}
            and (self.mine or not selection.mine)
            and not (selection.age and self.age < SPANS[selection.age].total_seconds())
            and (not selection.expiring or self.expires_within(selection.expiring))
        )


@dataclass(frozen=True, slots=True)
class Index:
    """The open requests that a member may see, whatever they look for."""

    entries: tuple[Entry, ...]

    def find(self, id: UUID) -> Entry | None:
        return next((one for one in self.entries if one.id == id), None)

    def counts(self) -> dict[str, int]:
        """How many each view of the open requests holds."""
        return {
            view: sum(entry.is_in(view) for entry in self.entries)
            for view in OPEN_VIEWS
        }

    def by(self, name: str, selection: Selection) -> Counter[str]:
        """How many of each value there are, were the selection not narrowed by it."""
        wider = selection.first_page(**{name: ""})
        return Counter(
            getattr(entry, name) for entry in self.entries if entry.fits(wider)
        )

    def answered(self, id: UUID, state: str) -> "Index":
        """The same once the viewer has answered that request, and it is in this state."""
        entries = (
            replace(one, state=state, waits_for=()) if one.id == id else one
            for one in self.entries
        )
        return Index(tuple(one for one in entries if one.state in OPEN_STATES))

    def within(self, queues: Container[UUID]) -> "Index":
        """What is left of it for somebody who sees these queues by now."""
        return Index(tuple(one for one in self.entries if one.queue_id in queues))

    def of(self, selection: Selection) -> list[Entry]:
        """All of a selection in its order, whatever its page."""
        found = (entry for entry in self.entries if entry.fits(selection))
        return sorted(found, key=ORDERS[selection.sort])


def by_urgency(entry: Entry) -> Key:
    """Highest risk first, then the next to expire, then who has waited longest."""
    due = entry.due_at.isoformat() if entry.due_at else ""
    return RISKS.index(entry.risk), str(entry.due_at is None), due, str(entry.id)


def by_newest(entry: Entry) -> Key:
    """What was asked last comes first."""
    return -round(entry.asked_at.timestamp() * 1_000_000), "", "", str(entry.id)


ORDERS: Final[Mapping[str, Callable[[Entry], Key]]] = {
    "": by_urgency,
    NEWEST: by_newest,
}


def read_index(viewer: Viewer, selection: Selection = WHOLE) -> Index:
    """The one statement, besides those about the viewer's rights."""
    with connection.cursor() as cursor:
        cursor.execute(OPEN, _parameters(viewer, selection))
        return Index(tuple(Entry(*row) for row in cursor.fetchall()))


def _parameters(viewer: Viewer, selection: Selection) -> dict[str, Any]:
    return {
        "sees": viewer.sees,
        "decides": list(viewer.rights.get("decide", ())),
        "groups": [str(group) for group in viewer.groups],
        "member": viewer.id,
        "member_text": str(viewer.id),
        "words": [like(word) for word in selection.words],
        "queue": selection.queue,
        "tool": selection.tool,
        "agent": selection.agent,
        "risks": list(RISKS),
        "most": MOST,
    }


def like(search: str) -> str:
    """A pattern that finds the text itself, wherever it stands."""
    plain = search.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{plain}%"


def page_of(
    entries: Sequence[Entry], selection: Selection, size: int
) -> tuple[list[Entry], str]:
    """The entries that follow the selection's cursor, and the next one ('' for none).

    A cursor is the whole key, so that a page begins right though its last row left.
    """
    order, after = ORDERS[selection.sort], _parse(selection.after)
    rest = [one for one in entries if after is None or order(one) > after]
    page = rest[:size]
    return page, _cursor(order(page[-1])) if len(rest) > size else ""


def _cursor(key: Key) -> str:
    return " ".join(map(str, key))


def _parse(cursor: str) -> Key | None:
    """A cursor's key; one that is not of our making is none."""
    first, *rest = cursor[:LONGEST_CURSOR].split(" ")
    if not first.removeprefix("-").isdecimal() or len(rest) != KEY_TEXTS:
        return None
    known, due, id = rest
    return int(first), known, due, id
