"""What a workflow lets somebody see of its facts, and what still counts of them."""

from dataclasses import dataclass
from datetime import datetime

from approvals.pages.viewer import Viewer
from sessions.contract import Contract
from sessions.models import Fact, Workflow


@dataclass(frozen=True, slots=True)
class Reading:
    """A workflow's contract, asked for one person at one time."""

    contract: Contract
    oversees: bool
    now: datetime

    def shows(self, name: str) -> bool:
        return self.contract.shows_person(name, oversees=self.oversees)

    def age(self, fact: Fact) -> float:
        return (self.now - fact.observed_at).total_seconds()

    def has_lapsed(self, fact: Fact) -> bool:
        return self.contract.has_lapsed(fact.name, self.age(fact))


def reading_of(viewer: Viewer, workflow: Workflow, now: datetime) -> Reading:
    """For a member who looks at a page."""
    return Reading(Contract.of(workflow), viewer.membership.oversees, now)
