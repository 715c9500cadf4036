from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from tests.oversight.sso.provider import Provider, running


@pytest.fixture(scope="package")
def process() -> Iterator[Provider]:
    with running() as provider:
        yield provider


@pytest.fixture
def provider(process: Provider, settings: Any) -> Iterator[Provider]:
    """A provider on this machine, which may be asked here; nobody tried anything yet."""
    from oversight.sso.provider import forget

    settings.ALLOW_PRIVATE = ["127.0.0.0/8"]
    process.signs_in("nobody")
    forget()
    cache.clear()
    yield process
    cache.clear()
    forget()
