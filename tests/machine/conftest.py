from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def machine_house() -> Iterator[Any]:
    """What all episodes share. Imported late: Django is not ready when this is read."""
    from tests.machine.foundation import open_house

    with open_house() as house:
        yield house
