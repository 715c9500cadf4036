"""What the machine stands on: its company, its eye, its clock, and armed barriers."""

import gc
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final
from unittest.mock import patch

from django.test import override_settings
from hypothesis import seed, settings
from hypothesis.errors import Flaky, FlakyFailure
from hypothesis.internal.conjecture.engine import ConjectureRunner
from hypothesis.stateful import run_state_machine_as_test

from approvals.resume import sweep as sweeping
from approvals.services import granting
from tests.approvals.superuser import superuser
from tests.machine.clockwork import own_clock
from tests.machine.company import Company
from tests.machine.faults import Keyturn
from tests.machine.machine import House
from tests.machine.moves import watched
from tests.machine.workers import armed

# A thousand lines an episode, of which nobody reads one.
QUIET: Final = ("approvals", "django")


@contextmanager
def open_house() -> Iterator[House]:
    """Nothing is published: the broker loses every message, and rules deliver."""
    company = Company()
    gc.freeze()  # what is loaded by now stays: not to be looked through again
    with ExitStack() as stack:
        stack.callback(company.close)
        stack.enter_context(
            override_settings(ALLOW_PRIVATE=["127.0.0.0/8"], CLAIM_SECONDS=60)
        )
        for module in (sweeping, granting):
            stack.enter_context(patch.object(module, "publish", lambda job_id: None))
        eye = stack.enter_context(superuser())
        stack.enter_context(watched(eye))
        stack.enter_context(armed())
        clock = stack.enter_context(own_clock())
        for name in QUIET:
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.ERROR)
        yield House(company=company, superuser=eye, clock=clock)


def walk(machine: type[Keyturn], house: House, number: int, how: settings) -> None:
    """One batch of episodes from this seed. Raises `Violated` for what does not hold.

    Time is the database's, and real: what a replay did differently for that alone is
    not held against it. What failed is reported even if it fails once only.
    """
    # Parts of an episode pasted over others are mostly the same episode once more.
    unmixed = patch.object(ConjectureRunner, "generate_mutations_from", lambda *_: None)
    try:
        with unmixed:
            run_state_machine_as_test(seed(number)(machine), settings=how)
    except FlakyFailure:
        raise
    except Flaky:
        house.tally.outcomes["a replay went otherwise"] += 1
