"""One incident while it is played: its tenants and tools, and what is kept of it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from approvals.models import Request
from oversight.drills.ground import Ground, Harm, Skipped
from oversight.drills.house import House
from oversight.drills.tool import ToolHandle
from oversight.drills.waiting import Failed, wait_until


@dataclass(slots=True)
class Counts:
    """What happened, and what must not have: the last three stay 0."""

    kills: int = 0
    effects: int = 0
    duplicates: int = 0
    lost: int = 0
    stuck: int = 0

    def add(self, more: "Counts") -> None:
        for name, value in asdict(more).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where to look: an id or a sentence, and the page that shows it."""

    label: str
    text: str
    href: str = ""


@dataclass(slots=True)
class Scene:
    """What an incident is given. It checks; whatever does not hold raises `Failed`."""

    purpose: str
    ground: Ground
    counts: Counts = field(default_factory=Counts)
    evidence: list[Evidence] = field(default_factory=list)
    houses: list[House] = field(default_factory=list)
    tools: list[ToolHandle] = field(default_factory=list)
    due: list[tuple[House, UUID]] = field(default_factory=list)

    @property
    def harm(self) -> Harm:
        """Raises `Skipped` where nothing may be harmed."""
        if self.ground.harm is None:
            raise Skipped("it needs an installation of its own")
        return self.ground.harm

    def house(self) -> House:
        """One more throw-away tenant."""
        house = House.build(self.purpose)
        self.houses.append(house)
        return house

    def tool(self, **how: Any) -> ToolHandle:
        """One more external tool, told how to behave."""
        tool = self.ground.new_tool()
        tool.tell(**how)
        self.tools.append(tool)
        return tool

    def must_happen(self, house: House, *requests: Request) -> None:
        """Each of these is to be carried out, once, before the scene ends."""
        self.due += [(house, request.id) for request in requests]

    def check(self, what: str, holds: object, found: object = None) -> None:
        """`what` is a sentence that is true when all is well."""
        if not holds:
            raise Failed(what if found is None else f"{what}; found {found}")

    def equal(self, what: str, found: object, wanted: object) -> None:
        self.check(what, found == wanted, found)

    def wait(
        self, what: str, condition: Callable[[], object], seconds: float = 30.0
    ) -> float:
        return wait_until(what, condition, seconds=seconds)

    def until_done(self, house: House, *requests: Request, within: float) -> float:
        """Wait until each is confirmed; the seconds that took."""

        def confirmed() -> bool:
            return all(house.effect_state(one) == "confirmed" for one in requests)

        return self.wait("every approved action is confirmed", confirmed, within)

    def note(self, label: str, text: object) -> None:
        self.evidence.append(Evidence(label, str(text)))

    def note_run(self, house: House, run_id: UUID) -> None:
        """A link to the run's page; its tenant's members may follow it."""
        href = f"/t/{house.tenant.slug}/runs/{run_id}"
        self.evidence.append(Evidence("run", str(run_id), href))
