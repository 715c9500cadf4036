"""What the demo says while it starts: which step of how many, and nothing in between."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from config.demo.held import held
from config.demo.steps import Steps
from config.demo.summary import what_to_try


class Screen(io.StringIO):
    """A console's file; a terminal if it is said to be."""

    def console(self, *, terminal: bool) -> Console:
        return Console(file=self, force_terminal=terminal, width=100, no_color=True)


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.mark.parametrize("terminal", [True, False])
def test_each_step_says_which_of_them_it_is(screen: Screen, terminal: bool) -> None:
    steps = Steps(screen.console(terminal=terminal))
    steps.expect(2)
    for doing, done in (("Making tea", "Tea is there"), ("Pouring", "Poured")):
        with steps.step(doing, done):
            pass
    said = screen.getvalue()
    assert "✓ 1/2 Tea is there" in said
    assert "✓ 2/2 Poured" in said
    assert ("1/2 Making tea" in said) is terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_a_step_says_how_far_it_has_come(screen: Screen, terminal: bool) -> None:
    steps = Steps(screen.console(terminal=terminal))
    steps.expect(5)
    with steps.step("Creating tables") as tell:
        tell("1 of 70 migrations")
    assert "1/5 Creating tables: 1 of 70 migrations" in screen.getvalue()


@pytest.mark.parametrize(("every", "lines"), [(0.0, 70), (600.0, 1)])
def test_a_log_hears_of_it_now_and_then(
    screen: Screen, every: float, lines: int
) -> None:
    steps = Steps(screen.console(terminal=False), every=every)
    with steps.step("Creating tables") as tell:
        for number in range(70):
            tell(f"{number + 1} of 70 migrations")
    assert screen.getvalue().count("migrations") == lines


def test_nothing_is_said_where_nothing_is_to_be(screen: Screen) -> None:
    console = Console(file=screen, quiet=True)
    with Steps(console).step("Creating tables") as tell:
        tell("1 of 70 migrations")
    assert screen.getvalue() == ""


def test_lines_of_programs_wait_until_they_are_let_through(screen: Screen) -> None:
    with held(screen) as lines:
        lines.write("agent │ one\n")
        lines.write("agent │ two\n")
        assert screen.getvalue() == ""
        lines.release()
        lines.write("agent │ three\n")
        assert screen.getvalue() == "agent │ one\nagent │ two\nagent │ three\n"
    assert screen.getvalue().count("\n") == 3


def test_what_waited_is_told_also_where_it_goes_wrong(screen: Screen) -> None:
    def break_off() -> None:
        with held(screen) as lines:
            lines.write("web │ Address already in use\n")
            raise RuntimeError("no server")

    with pytest.raises(RuntimeError):
        break_off()
    assert "already in use" in screen.getvalue()


OTHER: dict[str, Any] = {"arguments": {"invoice_id": "INV-1"}}
STORY: dict[str, Any] = {"arguments": {"invoice_id": "INV-1042"}}


@pytest.mark.parametrize(
    ("waiting", "said"),
    [
        ([OTHER, STORY], "Open the correction request for invoice INV-1042"),
        ([OTHER], "Open any request of the queue"),
        ([], "To begin anew, stop this with Ctrl-C, remove /kept"),
    ],
)
def test_it_says_what_can_be_tried_now(
    waiting: list[dict[str, Any]], said: str
) -> None:
    """Also on a demo that has been played to its end."""
    first, *more = what_to_try(waiting, Path("/kept"))
    assert said in first
    assert bool(more) is bool(waiting)
