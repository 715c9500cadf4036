"""What shares an installation is dealt to one process."""

import os

import pytest


@pytest.mark.xdist_group("groups")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process")
def test_a_group_is_known_to_who_deals(request: pytest.FixtureRequest) -> None:
    """The parent of the processes is told nothing but names."""
    assert request.node.nodeid.endswith("@groups")
