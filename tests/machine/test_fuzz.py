"""The machine for as long as one likes. `make fuzz-state` starts several of these."""

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.machine.faults import Keyturn
from tests.machine.foundation import walk
from tests.machine.machine import House

SECONDS = int(os.environ.get("FUZZ_SECONDS", "60"))
SEED = int(os.environ.get("FUZZ_SEED") or time.time_ns() % 1_000_000)
REPORT = os.environ.get("FUZZ_REPORT")
BATCH = settings(
    max_examples=50,
    stateful_step_count=20,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


@dataclass(kw_only=True)
class Report:
    """What has been walked so far, for whoever waits for it."""

    seed: int  # of the batch under way: with it, a violation comes again
    seconds: float
    episodes: int
    interleavings: int
    steps: int
    outcomes: dict[str, int]


@pytest.mark.long
def test_no_interleaving_breaks_a_promise(machine_house: House) -> None:
    class Walk(Keyturn):
        house = machine_house

    began, number = time.monotonic(), SEED
    while time.monotonic() < began + SECONDS:
        _tell(machine_house, number, began)
        walk(Walk, machine_house, number, BATCH)
        number += 1
    _tell(machine_house, number, began)


def _tell(house: House, seed: int, began: float) -> None:
    tally = house.tally
    report = Report(
        seed=seed,
        seconds=time.monotonic() - began,
        episodes=tally.episodes,
        interleavings=len(tally.interleavings),
        steps=tally.steps,
        outcomes=dict(tally.outcomes),
    )
    if REPORT:
        partial = Path(f"{REPORT}.partial")
        partial.write_text(json.dumps(asdict(report)))
        partial.rename(REPORT)
    else:
        print(report.seed, report.interleavings, f"{report.seconds:.0f} s", flush=True)
