from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.approvals.stage import Stage


@pytest.fixture
def stage() -> "Stage":
    from tests.approvals.stage import fresh_stage  # only once the settings are there

    return fresh_stage()
