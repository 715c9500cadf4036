"""The style guide: all components in all states, and never in production."""

from typing import Any

from django.test import Client

from approvals.presentation.marks import KINDS
from approvals.presentation.specimens import STATES


def test_it_is_there_for_whoever_develops_only(settings: Any) -> None:
    assert Client().get("/styleguide").status_code == 404
    settings.DEBUG = True
    assert Client().get("/styleguide").status_code == 200


def test_it_shows_every_mark_and_every_state(settings: Any) -> None:
    settings.DEBUG = True
    page = Client().get("/styleguide").content.decode()
    for kind, marks in KINDS.items():
        for mark in marks.values():
            assert mark.word in page, (kind, mark.word)
    for name in ("--risk-critical", "--codepoint-fg", "key-refused"):
        assert f"<code>{name}</code>" in page
    for state in (*STATES, "case", "theirs"):
        assert f'data-specimen="{state}"' in page
    for part in (
        "req__link",
        "exact__foot",
        "facts",
        "words--person",
        "decide--closed",
        'class="fold"',
        "Waits for others",
        "Saved views",
        "timeline",
        "needs",
    ):
        assert part in page, part


def test_what_is_hostile_in_a_specimen_is_marked(settings: Any) -> None:
    settings.DEBUG = True
    page = Client().get("/styleguide").content.decode()
    assert "\u202e" not in page
    assert "U+202E" in page
