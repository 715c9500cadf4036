"""Counting after each incident: effects, and whatever was doubled, lost or left stuck."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from approvals.models import ResumeJob
from audit.verify import verify_tenant
from checkpoints.models import Effect
from kernel.clock import database_now
from kernel.scope import tenant_transaction
from oversight.drills.house import House
from oversight.drills.scene import Counts, Scene
from oversight.drills.waiting import Failed
from sessions.models import Run

OPEN: Final = ("intended", "started", "unknown")
# A job that is due is published by the next sweep; one that stays due is forgotten.
OVERDUE: Final = timedelta(seconds=30)


def reckon(scene: Scene) -> Counts:
    """Complete the scene's counts. Raises `Failed` for what must not have happened."""
    counts = scene.counts
    acted = [n for tool in scene.tools for n in tool.effects.values()]
    handed_out = sum(map(_handed_out, scene.houses))
    counts.effects += sum(acted) + handed_out
    counts.duplicates += sum(n - 1 for n in acted)
    counts.lost += sum(_is_lost(house, request) for house, request in scene.due)
    counts.stuck += sum(map(_stuck, scene.houses))
    for name in ("duplicates", "lost", "stuck"):
        if found := getattr(counts, name):
            raise Failed(f"{name}: {found}, and there must be none")
    for house in scene.houses:
        _verify(house)
    return counts


def _handed_out(house: House) -> int:
    """Effects that the agent itself was to carry out."""
    with tenant_transaction(house.id):
        return Effect.objects.filter(tool__mode="agent").count()


def _is_lost(house: House, request_id: UUID) -> bool:
    with tenant_transaction(house.id):
        rows = Effect.objects.filter(request=request_id, state="confirmed")
        return not rows.exists()


def _stuck(house: House) -> int:
    """Work that nobody will look at again, and runs that wait for nothing."""
    with tenant_transaction(house.id):
        jobs = ResumeJob.objects.filter(due_at__lt=database_now() - OVERDUE).count()
        busy = ResumeJob.objects.filter(due_at__isnull=False).values("request__run_id")
        unclear = Effect.objects.filter(state__in=OPEN).values("run_id")
        resuming = Run.objects.filter(state=Run.State.RESUMING)
        idle = resuming.exclude(id__in=busy).exclude(id__in=unclear).count()
        return jobs + idle


def _verify(house: House) -> None:
    flaw = verify_tenant(house.id).flaw
    if flaw is not None:
        raise Failed(f"the audit chain is broken at {flaw.seq}: {flaw.detail}")
