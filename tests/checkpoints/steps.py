"""Steps of effects as the rooms above take them: inside a verb, on a locked run."""

from datetime import timedelta
from typing import Any

from checkpoints.effects import (
    next_attempt,
    record_outcome,
    settle_effect,
    start_effect,
)
from checkpoints.models import Attempt, Effect, Tool
from checkpoints.services import register_tool
from kernel.canonical import canonical_bytes
from kernel.clock import database_now
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from sessions.models import Run
from sessions.runs import lock_run
from tenants.principal import Principal
from tenants.verbs import Verb, perform
from tests.factories import House, unique

ACTION = {"tool": "erp.correct", "target": None, "arguments": {"invoice": "INV-1042"}}


def managed_tool(house: House, **terms: Any) -> Tool:
    return register_tool(
        tenant_id=house.id,
        by=house.alice.id,
        name=f"erp.{unique()}",
        mode="managed",
        risk="high",
        definition={"url": "https://erp.example/", "settle": 0, **terms},
    )


def start(who: Principal, run: Run, tool: Tool, **change: Any) -> Effect:
    def work(verb: Verb) -> Effect:
        locked = lock_run(run.id)
        fields: dict[str, Any] = {
            "request_id": new_id(),
            "grant_id": new_id(),
            "key": new_id().bytes * 2,
            "action": canonical_bytes(ACTION),
            "fence": locked.fence,
            "send_before": database_now() + timedelta(seconds=5),
        }
        effect, _ = start_effect(
            verb, run=locked, tool=tool, actor=who.actor, **fields | change
        )
        return effect

    return perform(who.tenant_id, work)


def report(
    who: Principal,
    effect: Effect,
    outcome: str,
    external_id: str = "",
    *,
    attempt: int = 1,
    fence: int = 1,
    evidence: dict[str, Any] | None = None,
) -> Effect:
    def work(verb: Verb) -> Effect:
        lock_run(effect.run_id)
        return record_outcome(
            verb,
            effect.id,
            attempt=attempt,
            fence=fence,
            outcome=outcome,
            external_id=external_id,
            evidence=evidence,
            actor=who.actor,
        )

    return perform(who.tenant_id, work)


def said(
    who: Principal, outcome: str, external_id: str = "", **evidence: Any
) -> dict[str, Any]:
    """A statement of the agent's, as it is kept."""
    by = {"type": "agent", "id": str(who.agent_id)}
    told = {"outcome": outcome, "external_id": external_id, "evidence": evidence}
    return {**told, "by": by}


def settle(who: Principal, effect: Effect, outcome: str, **more: Any) -> Effect:
    def work(verb: Verb) -> Effect:
        lock_run(effect.run_id)
        fields = {"evidence": {"why": "asked the tool"}, **more}
        return settle_effect(
            verb, effect.id, outcome=outcome, actor=who.actor, **fields
        )

    return perform(who.tenant_id, work)


def again(who: Principal, effect: Effect, fence: int = 1) -> tuple[Effect, Attempt]:
    def work(verb: Verb) -> tuple[Effect, Attempt]:
        lock_run(effect.run_id)
        soon = database_now() + timedelta(seconds=5)
        return next_attempt(
            verb, effect.id, fence=fence, send_before=soon, actor=who.actor
        )

    return perform(who.tenant_id, work)


def stored(effect: Effect) -> tuple[Effect, list[Attempt]]:
    with tenant_transaction(effect.tenant_id):
        now = Effect.objects.select_related("tool").get(id=effect.id)
        attempts = Attempt.objects.filter(effect_id=effect.id).order_by("number")
        return now, list(attempts)


def age(effect: Effect, *, seconds: float) -> None:
    """Let the last attempt's deadline be so long ago."""
    from tests.checkpoints.tampering import superuser_says

    superuser_says(
        "update checkpoints_attempt set send_before ="
        f" clock_timestamp() - interval '{seconds} s' where effect_id = '{effect.id}'"
    )
