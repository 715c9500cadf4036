"""One installation for the folder, started when the first test needs it.

What knows the database's models is imported late: this file is read before Django is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.database import begin_anew
from tests.installation import Installation, running_installation

if TYPE_CHECKING:
    from tests.sdk.worlds import Real, World


@pytest.fixture(scope="package")
def installation(django_db_setup: None) -> Iterator[Installation]:
    begin_anew()
    with running_installation() as running:
        yield running


@pytest.fixture
def real(installation: Installation) -> Iterator[Real]:
    from tests.sdk.worlds import real_world

    with real_world(installation) as world:
        yield world


@pytest.fixture(params=["fake", "real"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    from tests.sdk.worlds import fake_world

    if request.param == "real":
        yield request.getfixturevalue("real")
        return
    with fake_world() as fake:
        yield fake
