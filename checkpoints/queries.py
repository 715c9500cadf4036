"""Reading checkpoints, tools and effects, inside their tenant's scope."""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from checkpoints.models import Attempt, Checkpoint, Effect, Fork, Tool
from checkpoints.vault import payload_hashes
from sessions.models import Run
from sessions.queries import found
from tenants.principal import Principal

MANY_FORKS: Final = 32
MANY_EFFECTS: Final = 200


def positions_since(run: Run, number: int) -> dict[int, tuple[Checkpoint, bytes]]:
    """The run's checkpoints from `number` on, each with its payload's SHA-256."""
    rows = Checkpoint.objects.filter(
        tenant_id=run.tenant_id, run_id=run.id, number__gte=number
    )
    hashed = payload_hashes(rows, tenant_id=run.tenant_id, session_id=run.session_id)
    return {one.number: (one, digest) for one, digest in hashed}


def checkpoint_of(run: Run, number: int | None = None) -> Checkpoint:
    """A checkpoint of the run, or its head, with its payload. Raises `not_found` (404)."""
    wanted = (run.head_number if number is None else number) or 0
    return found(
        Checkpoint.objects.filter(tenant_id=run.tenant_id, run_id=run.id, number=wanted)
    )


def tool_named(tenant_id: UUID, name: str) -> Tool | None:
    """The tool, whether or not it is enabled."""
    return Tool.objects.filter(tenant_id=tenant_id, name=name).first()


def own_effect(who: Principal, effect_id: UUID) -> Effect:
    """An effect of a run that is the agent's. Raises `not_found` (404) for others."""
    effects = Effect.objects.select_related("tool", "run")
    return found(
        effects.filter(
            tenant_id=who.tenant_id, run__agent_id=who.agent_id, id=effect_id
        )
    )


def unknown_tools(tenant_id: UUID, names: Collection[str]) -> set[str]:
    """Those of the names that no tool has."""
    tools = Tool.objects.filter(tenant_id=tenant_id, name__in=names)
    return set(names) - set(tools.values_list("name", flat=True))


def attempt_of(effect: Effect, number: int) -> Attempt | None:
    """One numbered attempt."""
    return attempts_of(effect).filter(number=number).first()


def attempts_of(effect: Effect) -> QuerySet[Attempt]:
    """All attempts, first to last."""
    attempts = Attempt.objects.filter(tenant_id=effect.tenant_id, effect_id=effect.id)
    return attempts.order_by("number")


def effects_in(
    run_ids: Collection[UUID], *, settled: Collection[str]
) -> tuple[list[Effect], int]:
    """The effects of these runs, oldest first, with their tools; and how many are not
    among them: the oldest of very many whose state is `settled`."""
    rows = Effect.objects.filter(run_id__in=run_ids)
    done, live = rows.filter(state__in=settled), rows.exclude(state__in=settled)
    newest = done.select_related("tool").order_by("-created_at", "-id")[:MANY_EFFECTS]
    told = [*newest, *live.select_related("tool")]
    older = done.count() - len(newest)
    return sorted(told, key=lambda one: (one.created_at, one.id)), older


def runs_behind(run: Run) -> list[UUID]:
    """The run that this one was forked from, the one before that, and so on."""
    behind: list[UUID] = []
    at: UUID | None = run.id
    while at is not None and len(behind) < MANY_FORKS:
        fork = Fork.objects.filter(tenant_id=run.tenant_id, run_id=at).first()
        at = fork.source_id if fork else None
        behind += [at] if at else []
    return behind


def restorable_runs(tenant_id: UUID, *, ended: bool) -> QuerySet[Run]:
    """The runs that have a checkpoint, oldest first; those that ended only if wanted."""
    runs = Run.objects.filter(tenant_id=tenant_id, head_number__isnull=False)
    return (runs if ended else runs.filter(ended_at=None)).order_by("created_at", "id")
