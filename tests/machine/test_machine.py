"""A short walk of the machine, on every run of the tests."""

from hypothesis import HealthCheck, Phase, settings

from tests.machine.faults import Keyturn
from tests.machine.foundation import walk
from tests.machine.machine import House

SHORT = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


def test_every_interleaving_keeps_every_promise(machine_house: House) -> None:
    class Walk(Keyturn):
        house = machine_house

    walk(Walk, machine_house, 1, SHORT)
    tally = machine_house.tally
    assert tally.steps > 100
    for outcome, times in tally.outcomes.most_common():
        print(f"{times:5d} {outcome}")
