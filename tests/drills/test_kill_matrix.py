"""Kill whoever acts, at each place of the way, again and again: nothing comes of it.

Real processes, SIGKILL, and an external tool that counts. `make drill-long` kills 25 times
in each cell (KILLS=N: as often as that), `make test` once in a few of them.
"""

import os
from collections.abc import Callable, Iterator
from statistics import median

import pytest

from approvals.resume.barriers import NAMES, OUTCOME, RESTORE, SEND
from config.embedded import supervisor
from oversight.drills.ground import Ground
from oversight.drills.incidents.workers import CHILD, PARENT, kill_at, killing_ground
from oversight.drills.reckoning import reckon
from oversight.drills.scene import Counts, Scene
from tests.drills.stage import fresh_ground

type Say = Callable[[str], None]

KILLS = int(os.environ.get("KILLS", "25"))
CELLS = [(place, whom) for whom in (CHILD, PARENT) for place in NAMES]
QUICK = [(RESTORE, CHILD), (SEND, CHILD), (OUTCOME, PARENT)]

# One installation for all of them.
pytestmark = pytest.mark.xdist_group("kill-matrix")


@pytest.fixture(scope="module")
def ground(django_db_setup: None) -> Iterator[Ground]:
    """On the tests' database; its worker starts again soon, however often it ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supervisor, "LAST_DELAY", supervisor.FIRST_DELAY)
        with fresh_ground() as own:
            yield own


@pytest.fixture(scope="module")
def say(pytestconfig: pytest.Config) -> Say:
    """Print a line at once, for who waits; nothing where tests run in parallel."""
    plugins = pytestconfig.pluginmanager
    terminal = plugins.get_plugin("terminalreporter")
    capture = plugins.get_plugin("capturemanager")

    def say(line: str) -> None:
        if terminal and capture:
            with capture.global_and_fixture_disabled():
                terminal.write_line(f"\n{line}")

    return say


@pytest.fixture(scope="module")
def total(say: Say) -> Iterator[Counts]:
    """What all cells together came to."""
    counts = Counts()
    yield counts
    if counts.kills:
        say(f"kill matrix: {spoken(counts)}")


@pytest.mark.long
@pytest.mark.parametrize(("place", "whom"), CELLS)
def test_nothing_is_lost_doubled_or_stuck(
    place: str, whom: str, ground: Ground, total: Counts, say: Say
) -> None:
    scene, taken = hold_cell(ground, place, whom, KILLS)
    total.add(scene.counts)
    say(
        f"{whom} killed at {place}: {spoken(scene.counts)};"
        f" made good after {median(taken):.1f} s, at most {max(taken):.1f} s"
    )
    assert_harmless(scene, KILLS)


@pytest.mark.parametrize(("place", "whom"), QUICK)
def test_one_kill_is_made_good(place: str, whom: str, ground: Ground) -> None:
    scene, _ = hold_cell(ground, place, whom, 1)
    assert_harmless(scene, 1)


def test_every_place_of_the_way_is_in_the_matrix() -> None:
    assert len(CELLS) == len(set(CELLS)) == 16
    assert set(QUICK) < set(CELLS)


def hold_cell(
    ground: Ground, place: str, whom: str, times: int
) -> tuple[Scene, list[float]]:
    """Kill `times` times; what was counted, and the seconds until each was made good.

    Each must be within the claim, one sweep and the slack of `kill_at`.
    """
    scene = Scene(f"kill-{place}-{whom}", ground)
    house = killing_ground(scene)
    try:
        taken = [kill_at(scene, house, place, whom) for _ in range(times)]
        reckon(scene)
    finally:
        house.close()
    return scene, taken


def assert_harmless(scene: Scene, times: int) -> None:
    counts = scene.counts
    assert (counts.kills, counts.effects) == (times, times)
    assert (counts.duplicates, counts.lost, counts.stuck) == (0, 0, 0)
    # As the tool itself counts, under each key: not as anybody here would have it.
    acted = [times for tool in scene.tools for times in tool.effects.values()]
    assert acted == [1] * times


def spoken(counts: Counts) -> str:
    """In one line, as the command tells them."""
    return (
        f"{counts.kills} kills, {counts.effects} effects, {counts.duplicates}"
        f" duplicates, {counts.lost} lost, {counts.stuck} stuck"
    )
