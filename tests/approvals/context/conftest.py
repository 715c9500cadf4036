from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # models exist only once the settings are there
    from tests.approvals.context.talking import Desk
    from tests.approvals.stage import Stage


@pytest.fixture
def stage() -> "Stage":
    from tests.approvals.stage import fresh_stage

    return fresh_stage()


@pytest.fixture
def desk(stage: "Stage") -> "Desk":
    from tests.approvals.context.talking import Desk

    return Desk(stage=stage, run=stage.run())
