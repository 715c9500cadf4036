"""A stage on which the glass may be broken: two keys are needed, and one person is there.

Bob and Carol decide. Dave may break the glass and does nothing else; the policy's author
is the installation's operator, so that nobody here is excluded by it.
"""

from dataclasses import dataclass, replace
from typing import Any

from approvals.models import Decision, Grant, Request
from approvals.services.break_glass import break_glass
from approvals.services.policies import publish_policy
from approvals.services.queues import give_right, take_right
from audit.models import Entry
from kernel.scope import tenant_transaction
from sessions.models import Run
from tenants.checks import Operator
from tenants.models import Role
from tenants.services import deactivate_member
from tests.approvals.changes import Approved
from tests.approvals.stage import Stage, fresh_stage
from tests.factories import Somebody, fresh_member

TWO_KEYS = {"rules": [{"approvals": 2}], "break_glass": True}
WHY = "The pager says that the warehouse stands still."


@dataclass(frozen=True, kw_only=True)
class GlassStage(Stage):
    """`dave` holds the right; nobody else does."""

    dave: Somebody

    def permit(self, name: str = "two-keys", **definition: Any) -> None:
        """A policy that nobody here wrote; what is None is not stated."""
        said = {"verdict": "require_review", **TWO_KEYS, **definition}
        publish_policy(
            tenant_id=self.tenant_id,
            by=Operator.CONSOLE,
            name=name,
            definition={key: value for key, value in said.items() if value is not None},
        )

    def smash(
        self,
        request: Request,
        by: Somebody | None = None,
        *,
        ago: float | None = 10.0,
        reason: str = WHY,
        digest: bytes | None = None,
    ) -> Request:
        """Break it as the page would, `ago` seconds after having signed in."""
        person = replace((by or self.dave).person, authenticated_ago=ago)
        return break_glass(
            person,
            request_id=request.id,
            digest=digest or self.digest(request),
            reason=reason,
        )

    def breaking(self, request: Request) -> Decision:
        """The decision that broke it."""
        with tenant_transaction(self.tenant_id):
            return Decision.objects.get(request=request, broke_glass=True)

    def broken(self, request: Request) -> int:
        """How often it was."""
        with tenant_transaction(self.tenant_id):
            return Decision.objects.filter(request=request, broke_glass=True).count()


def give(stage: Stage, who: Somebody, *rights: str) -> None:
    for right in rights:
        give_right(
            tenant_id=stage.tenant_id,
            by=stage.house.alice.id,
            queue_id=stage.queue.id,
            right=right,
            member_id=who.id,
        )


def glass_stage(mode: str = "agent", **definition: Any) -> GlassStage:
    stage = fresh_stage(mode, **definition)
    dave = fresh_member(stage.house.alice, "Dave", role=Role.ADMIN)
    give(stage, dave, "view", "break_glass")
    made = GlassStage(house=stage.house, queue=stage.queue, tool=stage.tool, dave=dave)
    made.permit()
    return made


UNSAID: Any = {"break_glass": None}


def entries(stage: GlassStage, kind: str) -> list[dict[str, Any]]:
    with tenant_transaction(stage.tenant_id):
        return list(Entry.objects.filter(kind=kind).values_list("data", flat=True))


def after_deactivation(stage: GlassStage) -> dict[str, Any]:
    deactivate_member(
        tenant_id=stage.tenant_id, by=stage.house.alice.id, member_id=stage.dave.id
    )
    return {}


def take(stage: GlassStage) -> None:
    take_right(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        queue_id=stage.queue.id,
        right="break_glass",
        member_id=stage.dave.id,
    )


def glass(case: Approved) -> GlassStage:
    assert isinstance(case.stage, GlassStage)
    return case.stage


def case_of(stage: GlassStage, request: Request) -> Approved:
    with tenant_transaction(stage.tenant_id):
        run = Run.objects.get(id=request.run_id)
    return Approved(stage=stage, request=request, run=run)


def nothing_came_of_it(stage: GlassStage, request: Request) -> bool:
    now = stage.fresh(request)
    with tenant_transaction(stage.tenant_id):
        granted = Grant.objects.filter(request=request).exists()
    said = entries(stage, "approval.broke_glass")
    return (now.state, granted, stage.broken(request), said) == (
        Request.State.PENDING,
        False,
        0,
        [],
    )
