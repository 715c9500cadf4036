"""Anna is away, and Bea stands in for her."""

from dataclasses import dataclass
from typing import Any

from approvals.models import Delegation, Request
from tests.approvals.stage import Stage, fresh_stage
from tests.factories import Somebody


@dataclass(frozen=True, kw_only=True)
class Absence:
    """A stage with the two of them, what is asked, and what stands in their way."""

    stage: Stage
    anna: Somebody
    bea: Somebody
    request: Request
    delegation: Delegation

    @property
    def by(self) -> dict[str, Any]:
        return {"tenant_id": self.stage.tenant_id, "by": self.stage.house.alice.id}

    def answer(self, **said: Any) -> Request:
        """Bea, for Anna."""
        said.setdefault("on_behalf_of", self.anna.id)
        return self.stage.answer(self.request, by=self.bea, **said)


def absence(**policy: Any) -> Absence:
    stage = fresh_stage()
    anna, bea = stage.reviewer("Anna"), stage.reviewer("Bea")
    if policy:
        stage.policy(**policy)
    delegation = stage.on_leave(anna, bea)
    return Absence(
        stage=stage, anna=anna, bea=bea, request=stage.ask(), delegation=delegation
    )
