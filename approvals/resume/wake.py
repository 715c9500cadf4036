"""Waking an agent whose question ended without an action."""

from typing import Final

from approvals.checks import verify_to_wake
from approvals.resume.job import Claimed, finish, hold, wait
from approvals.services.closing import go_on
from approvals.services.gather import gather
from approvals.services.refusing import ALTERED, need_attention, store_report
from approvals.services.scene import lock_scene_of
from kernel.clock import database_now
from kernel.outcome import Refused
from sessions.runs import lock_run
from tenants.verbs import Verb, perform

# Whoever switched these off may switch them on again; nothing is lost meanwhile.
SWITCHED_OFF: Final = frozenset({"identity.tenant_stopped", "identity.agent_disabled"})


def wake(claimed: Claimed) -> str:
    """Identity and position hold: the agent may go on. Returns the outcome's code."""
    return perform(claimed.tenant_id, lambda verb: _wake(verb, claimed))


def _wake(verb: Verb, claimed: Claimed) -> str:
    request = lock_scene_of(claimed.request_id)
    run = lock_run(claimed.run_id)
    hold(claimed)
    matter = gather(request, run, database_now())
    verification = verify_to_wake(matter)
    store_report(verb, matter, verification, door="wake")
    refused = verification.refused
    if refused and (refused.klass == "wait" or refused.code in SWITCHED_OFF):
        wait(claimed, refused.code)
        return refused.code
    finish(claimed, run, refused.code if refused else "woken")
    if refused is None:
        go_on(verb, run, request.pause_id)
    elif _needs_a_person(refused):
        need_attention(verb, run, refused.reason)
    verb.changed(request.id, run.id)
    return refused.code if refused else "woken"


def _needs_a_person(refused: Refused) -> bool:
    """Nobody can be woken, and the run has not gone on by itself."""
    return refused.code in ALTERED or refused.code.startswith("identity.")
