"""Saved views: whose they are, who may change them, and what one begins with."""

from uuid import UUID

import pytest

from approvals.models import SavedView
from approvals.services.saved_views import (
    LONGEST_QUERY,
    MOST,
    default_view,
    delete_view,
    rename_view,
    save_view,
)
from audit.models import Entry
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.concurrency import together
from tests.factories import Somebody
from tests.refusals import refused


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


def save(by: Somebody, name: str = "Mine", **other: object) -> UUID:
    said: dict[str, object] = {"query": "risk=high", **other}
    return save_view(by.person, name=name, **said).id  # type: ignore[arg-type]


def kept(stage: Stage) -> dict[str, bool]:
    with tenant_transaction(stage.tenant_id):
        return dict(SavedView.objects.values_list("name", "default"))


def test_each_has_their_own_and_the_names_do_not_meet(stage: Stage) -> None:
    save(stage.bob)
    save(stage.reviewer())
    save(stage.house.alice, shared=True)
    with refused("name_taken", status=409):
        save(stage.bob)
    with tenant_transaction(stage.tenant_id):
        assert SavedView.objects.filter(name="Mine").count() == 3


def test_only_administrators_touch_what_all_see(stage: Stage) -> None:
    with refused("not_permitted", status=403):
        save(stage.bob, shared=True)
    shared = save(stage.house.alice, shared=True)
    for act in (
        lambda: rename_view(stage.bob.person, view_id=shared, name="His"),
        lambda: default_view(stage.bob.person, view_id=shared),
        lambda: delete_view(stage.bob.person, view_id=shared),
    ):
        with refused("not_permitted", status=403):
            act()
    assert kept(stage) == {"Mine": False}


def test_somebody_elses_is_as_if_it_did_not_exist(stage: Stage) -> None:
    """Also for the owner of the tenant, and in another tenant."""
    own = save(stage.bob)
    for other in (stage.house.alice, stage.reviewer(), fresh_stage().bob):
        for act in (
            lambda by=other: rename_view(by.person, view_id=own, name="Theirs"),
            lambda by=other: default_view(by.person, view_id=own),
            lambda by=other: delete_view(by.person, view_id=own),
        ):
            with refused("not_found", status=404):
                act()
    assert kept(stage) == {"Mine": False}


def test_one_is_the_first(stage: Stage) -> None:
    first, second = save(stage.bob, "One", default=True), save(stage.bob, "Two")
    default_view(stage.bob.person, view_id=second)
    assert kept(stage) == {"One": False, "Two": True}
    default_view(stage.bob.person, view_id=second, on=False)
    rename_view(stage.bob.person, view_id=first, name="Three")
    delete_view(stage.bob.person, view_id=second)
    assert kept(stage) == {"Three": False}
    with tenant_transaction(stage.tenant_id):
        said = Entry.objects.filter(kind__startswith="view.").order_by("seq")
        kinds = [(one.kind, one.data) for one in said]
    assert [kind for kind, _ in kinds] == [
        "view.saved",
        "view.saved",
        "view.made_default",
        "view.no_default",
        "view.renamed",
        "view.deleted",
    ]
    assert all(data == {"of": "own"} for _, data in kinds)  # and none of its words


def test_two_at_once_leave_one_first(stage: Stage) -> None:
    """Of everybody's, which are not held by the lock of one person."""
    views = [save(stage.house.alice, name, shared=True) for name in ("One", "Two")]
    answers = together(
        *(
            lambda id=id: default_view(stage.house.alice.person, view_id=id)
            for id in views
        )
    )
    late = [one for one in answers if isinstance(one, Exception)]
    # Whoever comes second is told so, or takes its place.
    assert [str(one).partition(":")[0] for one in late] in ([], ["already_so"])
    assert sorted(kept(stage).values()) == [False, True]


def test_what_cannot_be_kept(stage: Stage) -> None:
    with refused("view_invalid", status=422):
        save(stage.bob, query="q=" + "x" * LONGEST_QUERY)
    with refused("view_invalid", status=422):
        save(stage.bob, query="q=\0")
    with refused("name_invalid", status=422):
        save(stage.bob, "\u202eeniM")
    for number in range(MOST):
        save(stage.bob, f"View {number}")
    with refused("too_many_views", status=409):
        save(stage.bob)
