"""A short walk of the machine, on every run of the tests; `make fuzz-state` is longer."""

import time

from hypothesis import HealthCheck, Phase, settings

from tests.machine.faults import Keyturn
from tests.machine.foundation import walk
from tests.machine.machine import House

# On a busy machine fewer seeds are walked; it is never a long time.
SECONDS = 12
SEEDS = range(1, 9)
SHORT = settings(
    max_examples=6,
    stateful_step_count=25,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


def test_every_interleaving_keeps_every_promise(machine_house: House) -> None:
    class Walk(Keyturn):
        house = machine_house

    end = time.monotonic() + SECONDS
    for number in SEEDS:
        walk(Walk, machine_house, number, SHORT)
        if time.monotonic() > end:
            break
    tally = machine_house.tally
    assert tally.steps > 50, tally.outcomes
