"""For each incident the guard that it is about, and how to take that guard away.

A drill that passes all the same is worth nothing. Where two guards stand behind each
other, and either is enough, both are taken away: what is left is the world without them.

`guard` is put out of order with a `pytest.MonkeyPatch`, in this process or, by
`tests.drills.sabotaged`, in the processes of an installation. `found` is what the drill
must then say (a regular expression): so that it fails for that, and for nothing else.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import connections
from django.db.models import Q

from approvals import tasks
from approvals.checks import authority, identity, verdict
from approvals.envelope import Envelope
from approvals.models import Grant, Request
from approvals.pages import index
from approvals.resume import delivering, job, recover, send, sweep
from approvals.services import asking, case, consume, ending, granting, redeem, revoke
from checkpoints import checkpoint, checks, effects, tools
from checkpoints.models import Checkpoint
from checkpoints.tools import ToolOutcome, ToolStatus
from kernel.clock import database_now
from kernel.outcome import Passed
from oversight.drills.incident import Verdict
from sessions import queries
from sessions.contract import Contract
from sessions.hooks import hooks
from sessions.models import Run, Session
from tenants import verbs
from tenants.rest import exceptions, fallbacks

type Guard = Callable[[pytest.MonkeyPatch], None]

STARTED: Final = "it is refused; found started"
TOO_LONG: Final = "not within"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sabotage:
    """`own`: processes of an installation must be sabotaged, not this one alone."""

    incident: str
    guard: Guard
    found: str
    own: bool

    def is_noticed(self, verdict: Verdict) -> bool:
        """Whether the drill failed, and for the right reason."""
        said = re.search(self.found, verdict.reason)
        return verdict.word == "failed" and said is not None


SABOTAGES: Final[dict[str, Sabotage]] = {}


def sabotages(
    *incidents: str, found: str, own: bool = False
) -> Callable[[Guard], Guard]:
    """What takes away the guard of these incidents."""

    def register(guard: Guard) -> Guard:
        for id in incidents:
            assert id not in SABOTAGES, id
            SABOTAGES[id] = Sabotage(incident=id, guard=guard, found=found, own=own)
        return guard

    return register


def nothing(*args: Any, **kwargs: Any) -> None:
    """Instead of a guard that refuses by raising, or by answering something."""


def without(patch: pytest.MonkeyPatch, *names: str) -> None:
    """Authority no longer asks these questions."""
    kept = [each for each in authority.QUESTIONS if each.__name__ not in names]
    assert len(kept) == len(authority.QUESTIONS) - len(names)
    patch.setattr(authority, "QUESTIONS", tuple(kept))


# -- Authority, verified again ---------------------------------------------------------


@sabotages("authority-control", found="all four checks held; found")
def authority_is_not_checked(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(verdict.CHECKS, "authority")


@sabotages(
    "authority-group-removed",
    "authority-right-taken",
    "authority-reviewer-deactivated",
    found=STARTED,
)
def who_once_agreed_counts_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(authority, "_is_satisfied", lambda matter, obligation: True)


@sabotages("authority-policy-tightened", found=STARTED)
def policy_is_as_it_was_at_the_review(patch: pytest.MonkeyPatch) -> None:
    without(patch, "_current_holds")


@sabotages("authority-tool-changed", "authority-tool-disabled", found=STARTED)
def a_tool_is_what_it_was(patch: pytest.MonkeyPatch) -> None:
    without(patch, "_tool_unchanged")


@sabotages("authority-precondition-changed", found=STARTED)
def facts_are_not_looked_at_again(patch: pytest.MonkeyPatch) -> None:
    without(patch, "check_preconditions")


@sabotages(
    "authority-agent-disabled",
    "authority-key-revoked",
    "authority-tenant-stopped",
    found=STARTED,
)
def whoever_asked_is_still_trusted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(identity, "_enabled", nothing)


@sabotages("authority-revoked", found=STARTED)
def taking_back_changes_nothing(patch: pytest.MonkeyPatch) -> None:
    for step in ("end_grant", "end_jobs", "dismiss_decisions", "end_request"):
        patch.setattr(revoke, step, nothing)


@sabotages("authority-expired", found=STARTED)
def an_approval_lasts_for_ever(patch: pytest.MonkeyPatch) -> None:
    def use_up(verb: verbs.Verb, grant: Grant, actor: object) -> None:
        ended = {"state": Grant.State.CONSUMED, "due_at": None}
        Grant.objects.filter(id=grant.id).update(**ended, ended_at=database_now())

    without(patch, "_in_time")
    patch.setattr(consume, "_use_up", use_up)


@sabotages("authority-race", found=STARTED)
def nobody_waits_at_the_gate(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(verbs, "share_gate", nothing)


# -- Deciding, and using a decision ----------------------------------------------------


@sabotages("one-decision", found="one answer was taken of each eight; found")
def it_is_read_and_then_written(patch: pytest.MonkeyPatch) -> None:
    """Neither is the request locked, nor is its state asked for as it is changed."""

    def unlocked(request_id: UUID) -> Request:
        return Request.objects.get(id=request_id)

    def moved(request: Request, to: Request.State, **values: object) -> None:
        Request.objects.filter(id=request.id).update(state=to, **values)
        request.state = to

    patch.setattr(case, "lock_scene_of", unlocked)
    for module in (granting, ending):
        patch.setattr(module, "move_request", moved)


@sabotages("expired-decision", found="it is refused; found accepted")
def our_own_clock_decides(patch: pytest.MonkeyPatch) -> None:
    """It is ten minutes slow, as a machine's may be."""
    patch.setattr(case, "database_now", lambda: database_now() - timedelta(minutes=10))


@sabotages("single-use", found="another run's writer gets nothing; found", own=True)
def anybody_redeems(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(redeem, "require_writer", nothing)


@sabotages("idempotency", found="again: the stored answer", own=True)
def every_request_is_new(patch: pytest.MonkeyPatch) -> None:
    def rendered(tenant_id: UUID, once: Any, result: Any) -> None:
        if once is not None:
            once.answer = once.render(result)

    patch.setattr(verbs, "check_once", nothing)
    patch.setattr(verbs, "keep_once", rendered)


@sabotages("approval-fatigue", found="the first of them is; found low", own=True)
def first_come_first_served(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(index.ORDERS, "", lambda entry: (0, *index.by_urgency(entry)[1:]))  # type: ignore[call-overload]


@sabotages("session-isolation", found="GET /api/v1/sessions/.* is not found", own=True)
def sessions_are_everybodys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queries, "sessions_of", lambda who: Session.objects.all())


# -- Workers, broker, clocks -----------------------------------------------------------


@sabotages(
    "restart-worker",
    "broker-wiped",
    "broker-down",
    found=f"(made good|is confirmed): {TOO_LONG}",
    own=True,
)
def sweeps_offer_nothing_again(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(sweep.SWEEPS, "jobs", ("approvals_resumejob", nothing))


@sabotages("two-resumers", found="it came too late; found 0", own=True)
def every_writer_has_the_same_fence(patch: pytest.MonkeyPatch) -> None:
    told = tools._headers

    def headers(*args: Any) -> dict[str, str]:
        return {**told(*args), "Keyturn-Fence": "1"}

    patch.setattr(tools, "_headers", headers)


@sabotages("broker-tenfold", found="each job was claimed once; found", own=True)
def a_job_is_claimed_whoever_has_it(patch: pytest.MonkeyPatch) -> None:
    def due(**terms: Any) -> Q:
        return Q() if "due_at__lte" in terms else Q(pk__in=[])

    patch.setattr(job, "Q", due)


@sabotages("clock-skew", found="is decided; found", own=True)
def every_machine_has_its_own_time(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(case, "database_now", lambda: datetime.now(UTC))


# -- Webhooks --------------------------------------------------------------------------


@sabotages("webhook-receiver-down", found=f"all is delivered: {TOO_LONG}", own=True)
def there_is_one_try(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delivering, "pause_after", nothing)


@sabotages("webhook-receiver-slow", found=f"is confirmed: {TOO_LONG}", own=True)
def a_worker_delivers_by_itself(patch: pytest.MonkeyPatch) -> None:
    class AtOnce(Thread):
        def start(self) -> None:
            self.run()

    patch.setattr(tasks, "Thread", AtOnce)


# -- The database ----------------------------------------------------------------------


@sabotages("postgres-down", found="the answer is 503; found 500", own=True)
def a_lost_database_is_our_fault(patch: pytest.MonkeyPatch) -> None:
    for module in (exceptions, fallbacks):
        patch.setattr(module, "passing", lambda _: None)


@sabotages("postgres-restarted", found="and after it; found", own=True)
def nobody_looks_at_a_pooled_connection(patch: pytest.MonkeyPatch) -> None:
    pool = connections["default"].pool  # type: ignore[attr-defined]
    if pool is not None:  # children of a worker have none
        patch.setattr(pool, "_check", None)


@sabotages("restored-backup", found="and waits; found", own=True)
def nobody_notices_that_it_was_set_back(patch: pytest.MonkeyPatch) -> None:
    for module in (verdict, recover):
        patch.setattr(module, "check_recovery", nothing)


# -- Effects ---------------------------------------------------------------------------


@sabotages("unknown-outcome", found=f"is confirmed: {TOO_LONG}", own=True)
def a_lost_answer_is_a_failure(patch: pytest.MonkeyPatch) -> None:
    call = send.call

    def certain(*args: Any, **kwargs: Any) -> ToolOutcome:
        outcome = call(*args, **kwargs)
        if outcome.state == "unknown":
            return replace(outcome, state="failed")
        return outcome

    patch.setattr(send, "call", certain)


@sabotages("delayed-send", found="it was called once; found 2", own=True)
def what_nobody_has_seen_did_not_happen(patch: pytest.MonkeyPatch) -> None:
    for module in (effects, recover):
        patch.setattr(module, "absence_proved", lambda *_, **__: Passed())


@sabotages("nobody-can-tell", found=f"put before a person: {TOO_LONG}", own=True)
def it_is_guessed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        recover, "ask_status", lambda tool, key: ToolStatus(state="confirmed")
    )


@sabotages("deadline-passed", found=f"did not happen: {TOO_LONG}", own=True)
def late_is_better_than_never(patch: pytest.MonkeyPatch) -> None:
    call = send.call

    def at_any_time(*args: Any, **kwargs: Any) -> ToolOutcome:
        return call(*args, **{**kwargs, "start_by": float("inf")})

    patch.setattr(send, "call", at_any_time)


@sabotages("partial-effects", found="request_tool_call_once", own=True)
def a_call_may_be_asked_for_twice(patch: pytest.MonkeyPatch) -> None:
    """The database's guard remains; but the agent is not told what it has done."""
    patch.setattr(asking, "_refuse_repeated", nothing)


@sabotages("stale-checkpoint", found="behind the head; found")
def the_last_writer_wins(patch: pytest.MonkeyPatch) -> None:
    def move(run: Run, saved: Checkpoint) -> None:
        values = {"head_number": saved.number, "head_digest": saved.digest}
        Run.objects.filter(id=run.id).update(**values)

    patch.setattr(checkpoint, "_check_place", nothing)
    patch.setattr(checkpoint, "_move_head", move)


@sabotages("compaction-keeps-facts", found="it is refused; found $")
def what_matters_is_not_compacted_away(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hooks, "critical", lambda session, run: None)


# -- What is stored --------------------------------------------------------------------


@sabotages("corrupted-checkpoint", found=f"it is refused: {TOO_LONG}", own=True)
def every_checkpoint_is_intact(patch: pytest.MonkeyPatch) -> None:
    for module in (checks, checkpoint):
        patch.setattr(module, "is_intact", lambda *_: True)


@sabotages("schema-from-future", found="newer: the run; found running")
def every_schema_is_understood(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Contract, "understands", lambda self, version: True)


@sabotages("exact-action", found=STARTED)
def what_is_stored_was_approved(patch: pytest.MonkeyPatch) -> None:
    without(patch, "_digest_holds", "check_evidence")
    patch.setattr(Envelope, "is_intact", lambda self, stated: True)


@sabotages("decision-forged", found=STARTED)
def what_is_stored_was_decided(patch: pytest.MonkeyPatch) -> None:
    without(patch, "check_evidence")
