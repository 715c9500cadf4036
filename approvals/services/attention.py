"""A person has looked at a run that needed attention: it goes on, or it ends."""

from uuid import UUID

from django.db.models import QuerySet

from approvals.access import may, visible_queues
from approvals.models import Pause, Request
from approvals.problems import MOVED_ON, NO_RIGHT, NOT_FOUND, REASON_NEEDED
from approvals.services.closing import ENDED, go_on
from approvals.services.ending_runs import close_questions
from approvals.services.granting import owe_when_ready
from approvals.states import LIVE
from checkpoints.effects import EFFECTS_OPEN
from checkpoints.models import Effect
from kernel.clock import database_now
from sessions.models import Run
from sessions.queries import last_seq
from sessions.runs import lock_run, move_run, release_lease, require_state
from tenants.access import ADMINISTRATORS
from tenants.idempotency import Once
from tenants.models import Member
from tenants.principal import Person
from tenants.verbs import Verb, perform


def release_run(
    person: Person,
    *,
    run_id: UUID,
    reason: str,
    seen: int | None = None,
    once: Once | None = None,
) -> Run:
    """Let the run go on from where it stopped; open questions wait as before.

    `seen` is the number of the last transition that the person was shown. Raises
    `moved_on` if there is a later one, `not_found`, `not_permitted`, `reason_needed`,
    `wrong_state` for a run that needs no attention, and `effects_open` until every
    action's outcome is recorded.
    """

    def work(verb: Verb) -> Run:
        run = _look(person, run_id, reason, seen)
        if Effect.objects.filter(run=run).exclude(state__in=ENDED).exists():
            raise EFFECTS_OPEN("Record the outcome of its actions first.")
        _go_on(verb, run, person, reason)
        return run

    return perform(person.tenant_id, work, once=once)


def abandon_run(
    person: Person,
    *,
    run_id: UUID,
    reason: str,
    seen: int | None = None,
    once: Once | None = None,
) -> Run:
    """End the run as cancelled, and take its open questions back.

    `seen` as for `release_run`. Raises `moved_on`, `not_found`, `not_permitted`,
    `reason_needed`, `wrong_state`.
    """

    def work(verb: Verb) -> Run:
        run = _look(person, run_id, reason, seen)
        close_questions(verb, run)
        to = Run.State.CANCELLED
        move_run(verb, run, to, actor=person.actor, reason=reason)
        return run

    return perform(person.tenant_id, work, once=once)


def _look(person: Person, run_id: UUID, reason: str, seen: int | None) -> Run:
    """The locked run, if this person sees it and may say what is to become of it.

    Its questions on queues that they do not see go with it: these count too.
    """
    if not reason.strip():
        raise REASON_NEEDED("Say what you found; the auditor reads it.", "/reason")
    member = Member.objects.get(id=person.member_id)
    asked = Request.objects.filter(run_id=run_id)
    known = _queues(asked) & set(visible_queues(member))
    in_charge = member.role in ADMINISTRATORS
    if not member.active or not (in_charge or known):
        raise NOT_FOUND("No such run.")
    run = lock_run(run_id)  # nothing is asked of it any more until this has ended
    touched = known | _queues(asked.filter(state__in=LIVE))
    if not in_charge and not all(may(member, "resolve", queue) for queue in touched):
        raise NO_RIGHT("You may not resolve on every queue where this run asks.")
    require_state(run, Run.State.NEEDS_ATTENTION)
    if seen is not None and seen != last_seq(run):
        raise MOVED_ON("Read why it stopped this time, and then say what is to become.")
    return run


def _queues(requests: QuerySet[Request]) -> set[UUID]:
    return set(requests.values_list("queue_id", flat=True))


def _go_on(verb: Verb, run: Run, person: Person, reason: str) -> None:
    """It resumes: into its open pause, whose jobs are owed anew, or into running."""
    release_lease(run)
    move_run(verb, run, Run.State.RESUMING, actor=person.actor, reason=reason)
    pause = Pause.objects.filter(run=run, closed_at=None).first()
    if pause is None:
        move_run(verb, run, Run.State.RUNNING, actor=person.actor, reason=reason)
        return
    owe_when_ready(verb, pause.id, database_now())
    go_on(verb, run, pause.id)  # perhaps nothing of it is open any more
