"""Recording what a model is shown, and keeping summaries that are made for it."""

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from django.utils.module_loading import import_string

from approvals.context import Assembled, Wanted, assemble
from approvals.context.items import Entry
from approvals.context.records import entry_of
from approvals.context.stored import inputs_digest, opened, sealed
from approvals.context.summary import Summariser
from approvals.models import Context, Summary
from kernel.problems import NOT_FOUND, declare
from kernel.scope import tenant_transaction
from sessions.models import Item, Session
from sessions.queries import (
    TRUNK,
    items_between,
    lock_own_session,
    own_run,
    own_session,
)
from sessions.redaction import redacted_text
from sessions.runs import lock_run
from tenants.idempotency import Once
from tenants.principal import Principal
from tenants.vault import DATA_ERASED
from tenants.verbs import Verb, perform

CONTEXT_UNKNOWN: Final = declare(
    "context_unknown", status=422, title="No such context of this run was recorded"
)
SUMMARY_FAILED: Final = declare(
    "summary_failed", status=422, title="The summariser gave no usable text"
)
SUMMARY_OVERTAKEN: Final = declare(
    "summary_overtaken", status=409, title="The items changed while it was made"
)
AGENT: Final = "agent"
LONGEST_SUMMARY: Final = 20_000  # characters
MOST_SUMMARISED: Final = 2_000  # items

log = structlog.get_logger(__name__)


def read_context(principal: Principal, *, run_id: UUID, wanted: Wanted) -> Assembled:
    """Build a context and keep nothing. Raises `not_found` (404), before all else."""
    with tenant_transaction(principal.tenant_id, snapshot=True):
        return assemble(lambda: own_run(principal, run_id), wanted)


def record_context(
    principal: Principal, *, run_id: UUID, wanted: Wanted, once: Once | None = None
) -> Assembled:
    """Build a context, and keep its digest and manifest, so that it can be named.

    Nothing that it is built of changes meanwhile. Raises `not_found` (404).
    """

    def work(verb: Verb) -> Assembled:
        lock_own_session(principal, own_run(principal, run_id).session_id)
        lock_run(run_id)
        found = assemble(lambda: own_run(principal, run_id), wanted)
        _keep(verb, principal, found)
        return found

    return perform(principal.tenant_id, work, once=once)


def named_context(run_id: UUID, digest: bytes | None, pointer: str) -> Context | None:
    """The recorded context of that digest. Raises `context_unknown` (422)."""
    if digest is None:
        return None
    found = Context.objects.filter(run_id=run_id, digest=digest).first()
    if found is None:
        raise CONTEXT_UNKNOWN("Record it first: POST …/context.", pointer)
    return found


def keep_summary(
    principal: Principal,
    *,
    session_id: UUID,
    first: int,
    last: int,
    branch: int = TRUNK,
    text: str | None = None,
    once: Once | None = None,
) -> Summary:
    """Keep a summary of items as a derived view: the agent's, or the installation's.

    Without a `text` the installation's summariser makes it, outside of any
    transaction. Nothing is kept, and the history stays as it is, if it fails. Raises
    `not_found` (404), `summary_failed` (422), `summary_overtaken` (409).
    """
    method = AGENT if text is not None else str(settings.SUMMARISER)
    inputs = None
    if text is None:
        inputs, text = _summarised(principal, session_id, branch, first, last)

    def work(verb: Verb) -> Summary:
        session = lock_own_session(principal, session_id)
        said = _usable(text, verb.tenant_id)
        now = inputs_digest(_covered(session, branch, first, last))
        if inputs is not None and inputs != now:
            raise SUMMARY_OVERTAKEN()
        summary = Summary(
            tenant_id=verb.tenant_id,
            session=session,
            branch=branch,
            first=first,
            last=last,
            inputs=now,
            method=method,
        )
        summary.sealed = sealed(summary, said)
        summary.save(force_insert=True)
        _record_summary(verb, principal, summary)
        return summary

    return perform(principal.tenant_id, work, once=once)


def read_summary(
    principal: Principal, *, session_id: UUID, summary_id: UUID
) -> tuple[Summary, str]:
    """A summary with its text. Raises `not_found` (404), `data_erased` (410)."""
    with tenant_transaction(principal.tenant_id):
        session = own_session(principal, session_id)
        if session.erased_at is not None:
            raise DATA_ERASED()
        summary = Summary.objects.get(session=session, id=summary_id)
        return summary, opened(summary)


def _summarised(
    principal: Principal, session_id: UUID, branch: int, first: int, last: int
) -> tuple[bytes, str]:
    with tenant_transaction(principal.tenant_id, snapshot=True):
        session = own_session(principal, session_id)
        items = _covered(session, branch, first, last)
    return inputs_digest(items), _made([entry_of(item) for item in items])


def _made(entries: Sequence[Entry]) -> str:
    """What the installation's summariser says; whatever it raises is its failure."""
    summarise: Callable[[Sequence[Entry]], object] = _summariser()
    try:
        text = summarise(entries)
    except Exception as error:
        log.warning("summariser_failed", exc_info=error)
        raise SUMMARY_FAILED("It failed.") from error
    if not isinstance(text, str):
        raise SUMMARY_FAILED("It gave no text.")
    return text


def _summariser() -> Summariser:
    found: Summariser = import_string(settings.SUMMARISER)
    return found


def _usable(text: str, tenant_id: UUID) -> str:
    """The text as it may be kept: without credentials, and bounded.

    Nothing is taken out of it afterwards but its end: two halves would become one that
    nobody looks at, and a part that is cut off would not be known any more.
    """
    plain = text.replace("\x00", "").encode(errors="replace").decode()
    clean = redacted_text(plain, tenant_id)[:LONGEST_SUMMARY]
    if not clean.strip():
        raise SUMMARY_FAILED("It is empty.")
    return clean


def _covered(session: Session, branch: int, first: int, last: int) -> list[Item]:
    """Exactly the items of that range. Raises `not_found` where one is missing."""
    if last - first >= MOST_SUMMARISED:
        raise SUMMARY_FAILED(f"At most {MOST_SUMMARISED} items at once.", "/last")
    items = items_between(session, first, last, branch=branch)
    if not items or (items[0].position, items[-1].position) != (first, last):
        raise NOT_FOUND("There are no such items.")
    return items


def _keep(verb: Verb, principal: Principal, found: Assembled) -> None:
    known = Context.objects.filter(run_id=found.run.id, digest=found.digest)
    if known.exists():
        return
    row = Context(
        tenant_id=verb.tenant_id,
        run=found.run,
        digest=found.digest,
        shape=found.built.wanted.shape,
        max_tokens=found.built.wanted.max_tokens,
        tokens=found.built.tokens,
        manifest=found.built.manifest,
    )
    Context.objects.bulk_create([row], ignore_conflicts=True)
    if not Context.objects.filter(id=row.id).exists():
        return  # A twin that kept the same at the same time has recorded it.
    verb.record(
        "context.recorded",
        actor=principal.actor,
        subject=("run", found.run.id),
        data={"digest": found.digest.hex(), "shape": row.shape, "tokens": row.tokens},
    )


def _record_summary(verb: Verb, principal: Principal, summary: Summary) -> None:
    verb.record(
        "summary.kept",
        actor=principal.actor,
        subject=("session", summary.session_id),
        data={
            "branch": summary.branch,
            "first": summary.first,
            "last": summary.last,
            "inputs": bytes(summary.inputs).hex(),
            "method": summary.method,
        },
    )
