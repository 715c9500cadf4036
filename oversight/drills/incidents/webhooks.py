"""Those outside who are told: they are away, they are slow, and they miss nothing."""

from typing import Final

from approvals.models import WebhookDelivery
from approvals.services.webhooks import create_webhook
from kernel.scope import tenant_transaction
from oversight.drills.house import House
from oversight.drills.incident import incident
from oversight.drills.incidents.workers import SLACK, SWEEP
from oversight.drills.scene import Scene
from oversight.drills.tool import ToolHandle

WITHIN: Final = 60.0  # seconds: the first pause and rest, and a worker with other work
MANY: Final = 12  # slow receivers, more than a worker has children
TYPES: Final = ("approval.requested", "approval.decided")


@incident(
    "webhook-receiver-down",
    "A webhook's receiver answers with errors for a while: it is told everything later",
    harms=True,
)
def receiver_down(scene: Scene) -> None:
    house, receiver = _listening(scene, answer="error")
    house.approved()
    scene.wait("the receiver was called", lambda: receiver.calls, WITHIN)
    scene.check("nothing counts as delivered", _left(house) == len(TYPES))
    receiver.tell(answer="confirm")
    taken = scene.wait("all is delivered", lambda: not _left(house), WITHIN)
    scene.note("seconds until it had heard everything", f"{taken:.1f}")
    scene.note("calls", receiver.calls)


@incident(
    "webhook-receiver-slow",
    "Many webhooks' receivers do not answer: approved actions happen meanwhile",
    harms=True,
)
def receiver_slow(scene: Scene) -> None:
    house, receiver = _listening(scene, MANY, hold="before")
    tool = scene.tool()
    house.tool(tool.definition(), name="pay")
    request = house.approved(tool="pay")
    scene.must_happen(house, request)
    scene.wait("receivers hold calls", lambda: receiver.held, WITHIN)
    taken = scene.until_done(house, request, within=SWEEP + SLACK)
    scene.check("no receiver had answered yet", _left(house) == MANY * len(TYPES))
    receiver.tell(hold="")
    scene.wait("it is told everything", lambda: not _left(house), WITHIN)
    scene.note("seconds until the action had happened", f"{taken:.1f}")


def _listening(scene: Scene, many: int = 1, **how: str) -> tuple[House, ToolHandle]:
    """A tenant with webhooks; their receiver is no tool, and so is not counted."""
    house, receiver = scene.house(), scene.ground.new_tool()
    receiver.tell(**how)
    house.agent_tool()
    for number in range(many):
        create_webhook(
            tenant_id=house.id,
            by=house.by,
            url=f"{receiver.definition()['url']}/{number}",
            event_types=TYPES,
        )
    return house, receiver


def _left(house: House) -> int:
    """How many messages have not arrived yet."""
    with tenant_transaction(house.id):
        rows = WebhookDelivery.objects.exclude(state=WebhookDelivery.State.DELIVERED)
        return rows.count()
