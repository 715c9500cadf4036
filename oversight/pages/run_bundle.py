"""The signed bundle of one run: which entries concern it, and what they commit to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import IO, Any, Final
from uuid import UUID

from approvals.envelope import Envelope
from approvals.models import (
    Comment,
    Decision,
    Grant,
    PolicyRevision,
    Request,
    Revision,
)
from audit.bundle import Evidence, Wanted, write_bundle
from audit.models import Entry
from checkpoints.models import Checkpoint, Effect
from kernel.canonical import canonical_bytes
from sessions.models import Run, Transition
from sessions.runs import transition_record

ASKED: Final = ("request.asked", "request.revised")
# Of its session only what explains that evidence is gone.
ERASED: Final = ("session.erased", "session.purged")


def write_run_bundle(tenant_id: UUID, run_id: UUID, out: IO[bytes]) -> None:
    """Write it, as the chain stands now. The run exists."""
    write_bundle(tenant_id, partial(_wanted, tenant_id, run_id), out)


def _wanted(tenant_id: UUID, run_id: UUID) -> Wanted:
    run = Run.objects.select_related("session").get(id=run_id)
    entries = Entry.objects.filter(tenant_id=tenant_id)
    mine = entries.filter(subject_id__in=list(_subjects(run)))
    gone = entries.filter(subject_id=run.session_id, kind__in=ERASED)
    numbers = chain(_numbers(mine), _numbers(gone))
    return Wanted(
        about={"run": str(run.id)},
        entries=sorted(set(numbers)),
        evidence=_Evidence(run).of,
    )


def _numbers(rows: Any) -> Iterator[int]:
    yield from rows.values_list("seq", flat=True)


def _subjects(run: Run) -> Iterator[UUID]:
    """The run, and every row of it that entries speak of."""
    yield run.id
    asked = Request.objects.filter(run=run).values("id")
    for rows in (
        Checkpoint.objects.filter(run=run),
        Effect.objects.filter(run=run),
        Request.objects.filter(run=run),
        Decision.objects.filter(request__in=asked),
        Grant.objects.filter(request__in=asked),
        Comment.objects.filter(request__in=asked),
    ):
        yield from rows.values_list("id", flat=True)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The rows of a run whose digests the chain has, as the trace shows them.

    Payloads, contexts and items are sealed, and are not among them.
    """

    run: Run

    def of(self, body: Mapping[str, Any]) -> Evidence:
        data, subject = body["data"], body["subject"]
        if body["kind"] in ASKED:
            return self._asked(UUID(subject["id"]), data["revision"], data["digest"])
        if subject["id"] == str(self.run.id) and {"seq", "digest"} <= data.keys():
            return self._changed(data["seq"])
        return ()

    def _asked(
        self, request: UUID, number: int, digest: str
    ) -> Iterator[tuple[str, bytes | None]]:
        row = Revision.objects.filter(request_id=request, number=number).first()
        envelope = bytes(row.envelope) if row else b""
        sealed = Envelope(envelope)
        if self._is_gone and sealed.digest.hex() != digest:
            yield "envelope", None
            return
        yield "envelope", envelope
        if sealed.digest.hex() == digest:
            for _, _, pinned in sealed.obligation.policies:
                yield from _policy(pinned)

    def _changed(self, seq: int) -> Iterator[tuple[str, bytes | None]]:
        row = Transition.objects.filter(run=self.run, seq=seq).first()
        if self._is_gone:
            yield "transition", None
        else:
            yield "transition", canonical_bytes(transition_record(row)) if row else b""

    @property
    def _is_gone(self) -> bool:
        return self.run.session.erased_at is not None


def _policy(digest: str) -> Iterator[tuple[str, bytes]]:
    row = PolicyRevision.objects.filter(digest=bytes.fromhex(digest)).first()
    if row is not None:
        yield "policy", canonical_bytes(row.definition)
