from collections.abc import Iterator
from typing import Any

import pytest

from tests.approvals.webhooks.receiver import Receiver


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """A receiver on this machine, which outbound calls may reach here."""
    settings.ALLOW_PRIVATE = ["127.0.0.0/8"]
    with Receiver() as one:
        yield one


@pytest.fixture
def stage() -> Any:
    from tests.approvals.stage import fresh_stage  # once Django has its settings

    return fresh_stage()


@pytest.fixture
def listening(stage: Any, receiver: Receiver) -> Any:
    """The stage's tenant, with a webhook that wants everything."""
    from tests.approvals.webhooks.listening import Listening

    return Listening.to(stage, receiver)
