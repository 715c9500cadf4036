"""Saved views on the page: saved, begun with, counted, and nobody else's."""

import re
from typing import Any

from approvals.models import Decision
from approvals.presentation.saved_views import SavedViewsPage
from approvals.presentation.shell import NavItem
from approvals.services.saved_views import delete_view, save_view
from tenants.models import Role
from tests.approvals.stage import Stage
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_member

HOSTILE = "<script>alert(1)</script>"


def page(bob: Reader, query: str = "") -> SavedViewsPage:
    found: SavedViewsPage = bob.get(f"views{query}").context["page"]
    return found


def beside(bob: Reader, query: str = "") -> dict[str, NavItem]:
    views = bob.get(f"queue{query}").context["shell"].views
    return {item.label: item for item in views}


def test_a_list_is_saved_and_found_beside_the_queue_with_its_count(
    stage: Stage,
) -> None:
    stage.ask()
    bob = reader(stage)
    response = bob.post("views?risk=high&after=1", {"act": "save", "name": "Grave"})
    assert response.status_code == 303
    row = page(bob).rows[0]
    assert (row.name, row.words, row.shared) == ("Grave", "All open; high risk", False)
    assert bob.queue("?risk=high").heading == "Grave"
    item = beside(bob, "?risk=high")["Grave"]
    assert (item.count, item.current) == (1, True)
    assert item.href.endswith("/queue?risk=high")
    assert not beside(bob, "?risk=low")["Grave"].current
    stage.ask()
    assert beside(bob)["Grave"].count == 2 == bob.queue("?risk=high").pages.total


def test_a_list_that_is_drawn_anew_brings_the_views_as_they_are_now(
    stage: Stage,
) -> None:
    """Those too that another page has made or removed since this one was opened."""
    bob = reader(stage)
    headers = {"HX-Request": "true", "HX-Target": "list"}
    page = bob.get("queue").content.decode()
    gone = save_view(stage.bob.person, name="Grave", query="risk=high", default=True)
    again = bob.get("queue", headers=headers).content.decode()
    assert "Grave" in again
    assert_each_has_a_place(again, page)
    page = bob.get("queue").content.decode()
    delete_view(stage.bob.person, view_id=gone.id)
    save_view(stage.bob.person, name="Found", query="q=x", default=True)
    again = bob.get("queue", headers=headers).content.decode()
    assert "Grave" not in again
    assert_each_has_a_place(again, page)


def assert_each_has_a_place(part: str, page: str) -> None:
    """Whatever is exchanged beside the list is on the page that is open."""
    brought = re.findall(r'id="([^"]+)"[^<>]* hx-swap-oob', part)
    assert len(brought) >= 3
    assert [one for one in brought if f'id="{one}"' not in page] == []


def test_one_begins_with_ones_own_or_else_with_everybodys(stage: Stage) -> None:
    alice, bob = reader(stage, stage.house.alice), reader(stage)
    said: dict[str, str] = {"act": "save", "default": "on"}
    assert bob.get("").headers["Location"].endswith("/queue?view=mine")
    alice.post("views?view=soon", {**said, "name": "Soon", "shared": "on"})
    assert bob.get("").headers["Location"].endswith("/queue?view=soon")
    bob.post("views?view=changes", {**said, "name": "Mine"})
    assert bob.get("").headers["Location"].endswith("/queue?view=changes")
    assert alice.get("").headers["Location"].endswith("/queue?view=soon")


def test_what_the_way_to_the_queue_counts_is_the_list_behind_it(stage: Stage) -> None:
    stage.ask()
    stage.answer(stage.ask(), verdict=Decision.Verdict.REQUEST_CHANGES, reason="Less.")
    auditor = fresh_member(stage.house.alice, "Samir", role=Role.AUDITOR)
    for somebody, count in ((stage.bob, 1), (auditor, 2)):
        one = reader(stage, somebody)
        way = one.get("leave").context["shell"].nav[0]
        begun = one.get("").headers["Location"].partition("?")[2]
        assert way.count == one.queue(f"?{begun}").pages.total == count


def test_renamed_deleted_and_not_begun_with(stage: Stage) -> None:
    bob = reader(stage)
    view = save_view(stage.bob.person, name="Old", query="risk=low", default=True)
    saved = {"saved": str(view.id)}
    bob.post("views", {"act": "rename", "name": "New", **saved})
    assert [row.name for row in page(bob).rows] == ["New"]
    bob.post("views", {"act": "no_default", **saved})
    assert bob.get("").headers["Location"].endswith("/queue?view=mine")
    bob.post("views", {"act": "default", **saved})
    assert bob.get("").headers["Location"].endswith("/queue?risk=low")
    bob.post("views", {"act": "delete", **saved})
    assert page(bob).rows == ()


def test_what_was_done_to_a_view_is_said(stage: Stage) -> None:
    bob = reader(stage)

    def said(**form: str) -> str:
        there = bob.post("views?risk=high", form).headers["Location"]
        notice = bob.client.get(there).context["page"].notice
        return str(notice.title)

    assert said(act="save", name="Grave") == "“Grave” is saved."
    saved = page(bob).rows[0].id
    assert said(act="rename", saved=saved, name="New") == "It is called “New” now."
    for act, words in (("default", "now"), ("no_default", "no more")):
        assert said(act=act, saved=saved) == f"The queue begins with “New” {words}."
    assert page(bob, f"?done=default&saved={saved}").notice is None  # it does not
    assert page(bob, f"?done=delete&saved={saved}").notice is None
    assert said(act="delete", saved=saved) == "The view is deleted."
    assert page(bob).notice is None
    carol = reader(stage, stage.reviewer("Carol"))  # who was sent the address
    for who, view in ((carol, saved), (bob, stage.ask().id), (bob, "x"), (bob, "")):
        assert page(who, f"?done=delete&saved={view}").notice is None


def test_what_is_refused_stands_beside_what_was_typed(stage: Stage) -> None:
    bob = reader(stage)
    one, two = (
        save_view(stage.bob.person, name=name, query="") for name in ("One", "Two")
    )
    again = bob.post("views", {"act": "save", "name": "One"})
    assert again.status_code == 409
    shown = again.context["page"]
    assert (shown.name, shown.error) == ("One", "Another view has this name.")
    said = {"act": "rename", "saved": str(two.id), "name": "One"}
    rows = {row.id: row for row in bob.post("views", said).context["page"].rows}
    assert rows[str(two.id)].error
    assert not rows[str(one.id)].error


def test_others_neither_see_nor_change_it(stage: Stage) -> None:
    view = save_view(stage.bob.person, name="Private", query="")
    carol = reader(stage, stage.reviewer())
    assert "Private" not in carol.get("views").content.decode()
    assert "Private" not in carol.get("queue").content.decode()
    saved = {"act": "delete", "saved": str(view.id)}
    assert carol.post("views", saved).status_code == 404
    assert carol.post("views", {"act": "delete", "saved": "?"}).status_code == 404


def test_only_administrators_are_offered_to_share(stage: Stage) -> None:
    save_view(stage.house.alice.person, name="For all", query="", shared=True)
    shown = page(reader(stage))
    assert not shown.may_share
    assert [row.changeable for row in shown.rows] == [False]
    refused = reader(stage).post(
        "views", {"act": "save", "name": "Mine", "shared": "on"}
    )
    assert refused.status_code == 403


def test_names_are_inert(stage: Stage) -> None:
    save_view(stage.house.alice.person, name=HOSTILE, query="q=x", shared=True)
    for path in ("views", "queue"):
        text: Any = reader(stage).get(path).content.decode()
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text


def test_ones_own_decisions_are_a_view(stage: Stage) -> None:
    stage.answer(stage.ask(), by=stage.reviewer())
    request = stage.ask()
    stage.answer(request)
    bob = reader(stage)
    item = beside(bob)["Decided by me"]
    assert not item.current
    query = f"?{item.href.partition('?')[2]}"
    assert [row.id for row in bob.queue(query).rows] == [str(request.id)]
    assert [label for label, one in beside(bob, query).items() if one.current] == [
        "Decided by me"
    ]
