from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.factories import House


@pytest.fixture
def house() -> "House":
    from tests.factories import fresh_house  # only once the settings are there

    return fresh_house()
