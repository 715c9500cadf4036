"""Flows run on processes of their own, ended with this folder's last test.

Elsewhere a worker would take the jobs that tests mean to work on themselves.
"""

from collections.abc import Iterator

import pytest

from tests.database import begin_anew
from tests.installation import Installation, running_installation


@pytest.fixture(scope="package")
def installation(django_db_setup: None) -> Iterator[Installation]:
    """Web, worker and beat as processes of their own, on the tests' database."""
    begin_anew()
    with running_installation() as running:
        yield running
