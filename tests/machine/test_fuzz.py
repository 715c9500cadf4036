"""The machine for as long as one likes: `make fuzz-state SECONDS=600 SEED=1`."""

import os
import time

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.machine.faults import Keyturn
from tests.machine.foundation import walk
from tests.machine.machine import House

SECONDS = int(os.environ.get("FUZZ_SECONDS", "60"))
SEED = int(os.environ.get("FUZZ_SEED", "0")) or time.time_ns() % 1_000_000
BATCH = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    database=None,
    phases=[Phase.generate, *([Phase.shrink] if os.environ.get("FUZZ_SHRINK") else [])],
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


@pytest.mark.long
def test_no_interleaving_breaks_a_promise(machine_house: House) -> None:
    class Walk(Keyturn):
        house = machine_house

    end, number = time.monotonic() + SECONDS, SEED
    while time.monotonic() < end:
        walk(Walk, machine_house, number, BATCH)
        number += 1
        print(number, len(machine_house.tally.interleavings), flush=True)
    tally = machine_house.tally
    for outcome, times in tally.outcomes.most_common():
        print(f"{times:5d} {outcome}")
