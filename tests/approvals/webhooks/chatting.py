"""A tenant with a chat that is told, at an address that is a secret."""

from typing import Any, Final

from approvals.chat import CHAT_TYPES
from approvals.services.chats import add_chat
from tests.approvals.stage import Stage
from tests.approvals.webhooks.listening import Listening
from tests.approvals.webhooks.receiver import Received, Receiver

SECRET: Final = "/T0GREEN/B0GREEN/zQxCANARYnOBODYsEESpL7k"
SHOWN: Final = "/…pL7k"


def address_of(receiver: Receiver) -> str:
    return receiver.url + SECRET


def chatting(
    stage: Stage, receiver: Receiver, *types: str, **options: Any
) -> Listening:
    """Added by the owner; told of everything unless some types are named."""
    webhook = add_chat(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        url=address_of(receiver),
        event_types=types or tuple(CHAT_TYPES),
        **options,
    )
    return Listening(stage=stage, receiver=receiver, webhook=webhook, secret="")


def headlines(receiver: Receiver) -> list[str]:
    return [header(one) for one in receiver.received]


def header(one: Received) -> str:
    found: str = one.told["blocks"][0]["text"]["text"]
    return found
