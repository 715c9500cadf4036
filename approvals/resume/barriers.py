"""Named places of the resume path at which a test can hold a worker, to kill it there.

They are nothing unless `KEYTURN_TEST_BARRIERS` names a folder, which boot refuses where
the database is a real one. In that folder, whoever removes `NAME.armed` first waits
there, for as long as its `NAME.PID` is left lying.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from django.conf import settings

# In the order in which one managed action passes them.
CLAIM: Final = "claim"  # the job is claimed, nothing was read yet
RESTORE: Final = "restore"  # rows are locked, nothing was verified yet
CONSUME: Final = "consume"  # the grant is consumed, and that is not committed yet
INTENT: Final = "intent"  # it is committed that the effect starts
SEND: Final = "send"  # the tool is about to be called
OUTCOME: Final = "outcome"  # the tool has answered, and nothing of that is recorded
COMMIT: Final = "commit"  # the outcome is recorded, and that is not committed yet
ACK: Final = "ack"  # the job is done, and the broker does not know yet
NAMES: Final = (CLAIM, RESTORE, CONSUME, INTENT, SEND, OUTCOME, COMMIT, ACK)

_TICK: Final = 0.005  # seconds


def reach(name: str) -> None:
    """Go on, or wait if a test has armed this place for the next who comes."""
    if settings.TEST_BARRIERS:
        _wait(Path(settings.TEST_BARRIERS), name)


def _wait(folder: Path, name: str) -> None:
    here = folder / f"{name}.{os.getpid()}"
    with suppress(FileNotFoundError):
        (folder / f"{name}.armed").rename(here)
        while here.exists():
            time.sleep(_TICK)
