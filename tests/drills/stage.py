"""An installation to harm, on the tests' database and with nothing left to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from config.drill.own_ground import own_ground
from oversight.drills.ground import Ground
from tests.installation import Log


@contextmanager
def fresh_ground(**how: Any) -> Iterator[Ground]:
    """As `own_ground`. Tests without a worker have left thousands of messages behind."""
    for message in (Path(settings.DATA_DIR) / "broker" / "messages").glob("*"):
        message.unlink(missing_ok=True)
    with own_ground(output=Log(), **how) as ground:
        yield ground
