"""The list itself: it fits the source, and leaves no invariant out.

That each is killed takes minutes: `make mutants`.
"""

from collections import Counter

import pytest

from tests.mutants.__main__ import (
    AT_LEAST,
    BASE_DIR,
    INVARIANTS,
    Mutant,
    misplaced,
    mutated,
    read_mutants,
)

MUTANTS = read_mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_is_to_be_undone_stands_in_the_source_once(mutant: Mutant) -> None:
    assert misplaced(mutant) == []
    assert all(edit.old != edit.new for edit in mutant.edits)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_is_left_loads(mutant: Mutant) -> None:
    """Otherwise every test would notice, and none would tell anything."""
    for name, text in mutated(mutant).items():
        if name.endswith(".py"):
            compile(text, name, "exec")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_who_must_notice_is_there(mutant: Mutant) -> None:
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert f"def {name}" in (BASE_DIR / file).read_text()


def test_each_invariant_has_several() -> None:
    count = Counter(mutant.invariant for mutant in MUTANTS)
    assert [number for number in INVARIANTS if count[number] < AT_LEAST] == []


def test_names_are_told_apart() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
