"""Narrowing the list: by what, in which order, and with counts that are those of it."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from approvals.models import Decision, Request
from approvals.pages.selection import OPEN_VIEWS
from approvals.presentation.queue import QueueView
from approvals.services.queues import create_queue, give_right
from approvals.services.remarks import take
from checkpoints.services.tools import register_tool
from kernel.scope import tenant_transaction
from tests.approvals.stage import ARGUMENTS, Stage
from tests.approvals.superuser import superuser
from tests.approvals.views.browsing import reader
from tests.factories import fresh_agent

V = Decision.Verdict


@pytest.fixture(scope="module")
def mixed() -> Stage:
    """Two of everything that a list can be narrowed by; what each has differs."""
    from tests.approvals.stage import fresh_stage

    stage = fresh_stage()
    second_queue(stage)
    register_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        name="tag",
        mode="agent",
        risk="low",
        definition={},
    )
    stage.policy("tags", selector="tool == 'tag'", queue="other")
    stage.ask(decide_within=600)
    stage.ask(decide_within=20_000)
    stage.ask(tool="tag", arguments={"a": 1}, decide_within=7_000)
    stage.ask(tool="tag", arguments={"a": "1"}, decide_within=90_000)
    stage.answer(stage.ask(), verdict=V.REQUEST_CHANGES, reason="More.")
    return stage


def second_queue(stage: Stage) -> None:
    by = stage.house.alice.id
    other = create_queue(tenant_id=stage.tenant_id, by=by, slug="other", name="Other")
    give_right(
        tenant_id=stage.tenant_id,
        by=by,
        queue_id=other.id,
        right="view",
        group_id=stage.house.reviewers.id,
    )


def shown(stage: Stage, query: str) -> QueueView:
    return reader(stage).queue(query)


def tools(stage: Stage, query: str) -> list[str]:
    return sorted(row.tool for row in shown(stage, query).rows)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?queue=other", ["tag", "tag"]),
        ("?queue=payments", ["pay", "pay", "pay"]),
        ("?tool=tag", ["tag", "tag"]),
        ("?agent=robot", ["pay", "pay", "pay", "tag", "tag"]),
        ("?agent=nobody", []),
        ("?expiring=1h", ["pay"]),
        ("?expiring=8h", ["pay", "pay", "tag"]),
        ("?expiring=1h&tool=tag", []),
        ("?expiring=8h&risk=low&q=tag", ["tag"]),
        ("?mine=1", ["pay", "pay"]),
        ("?mine=1&queue=other", []),
        ("?view=changes&tool=pay", ["pay"]),
        ("?age=1h", []),
        ("?expiring=never&age=old", ["pay", "pay", "pay", "tag", "tag"]),
    ],
)
def test_all_that_is_given_holds(mixed: Stage, query: str, expected: list[str]) -> None:
    assert tools(mixed, query) == expected


def test_age_is_counted_by_the_databases_clock(stage: Stage) -> None:
    old, _ = stage.ask(), stage.ask()
    asked_before(stage, old, "2 hours")
    assert [row.id for row in shown(stage, "?age=1h").rows] == [str(old.id)]
    assert shown(stage, "?age=8h").rows == ()


def asked_before(stage: Stage, request: Request, ago: str) -> None:
    """No role of ours may write this column."""
    with superuser() as connection:
        connection.execute(
            "UPDATE approvals_request SET created_at = created_at - %s::interval"
            " WHERE id = %s",
            [ago, request.id],
        )


@pytest.fixture(scope="module")
def rows_of(mixed: Stage) -> Callable[[str], int]:
    """How many rows a list has; each is drawn once, since nothing changes meanwhile."""
    bob = reader(mixed)

    @cache
    def drawn(place: str, *said: str) -> int:
        there = bob.client.get(f"{place}?{'&'.join(said)}").context["queue"]
        assert len(there.rows) == there.pages.total, said
        return len(there.rows)

    def rows_of(address: str) -> int:
        place, _, said = address.partition("?")
        parameters = sorted(said.split("&"), key=lambda one: one.partition("=")[0])
        return drawn(place, *parameters)

    return rows_of


@pytest.mark.parametrize("view", OPEN_VIEWS)
@pytest.mark.parametrize("search", ["", "&q=tag", "&q=nothing+like+it"])
@pytest.mark.parametrize("narrowed", ["", "&tool=tag", "&queue=payments", "&mine=1"])
def test_every_count_is_that_of_the_list_it_leads_to(
    mixed: Stage, rows_of: Callable[[str], int], view: str, search: str, narrowed: str
) -> None:
    bob, here = reader(mixed), f"?view={view}{search}{narrowed}"
    response = bob.get(f"queue{here}")
    queue, shell = response.context["queue"], response.context["shell"]
    leading = [(one.href, one.count) for one in (*queue.facets, *shell.views)]
    for href, count in leading:
        if count is not None:
            assert rows_of(href) == count, href
    assert queue.pages.total == sum(facet.count for facet in queue.facets)
    mine = next(item for item in shell.nav if item.key == "q").count
    assert mine == rows_of(f"{bob.home}/queue?view=mine")
    for control in queue.filters.controls:
        counted = [one for one in control.options if one.count is not None]
        for option in counted:
            query = f"{here}&{control.name}={option.value}"
            assert rows_of(f"{bob.home}/queue{query}") == option.count, query


def test_each_filter_in_force_is_shown_and_taken_away(mixed: Stage) -> None:
    query = (
        "?queue=other&tool=tag&agent=robot&risk=low&q=tag&expiring=8h&age=1h"
        "&mine=1&sort=newest"
    )
    bob = reader(mixed)
    found = bob.queue(query)
    assert [one.label for one in found.filtered_by] == [
        "low risk",
        "“tag”",
        "Queue: other",
        "Tool: tag",
        "Agent: robot",
        "Needs my key",
        "Asked over 1 h ago",
        "Expires within 8 h",
        "Newest first",
    ]
    while found.filtered_by:
        left = len(found.filtered_by)
        found = bob.client.get(found.filtered_by[0].href).context["queue"]
        assert len(found.filtered_by) == left - 1
    assert len(found.rows) == 5


def test_the_newest_come_first_where_that_is_wanted(
    mixed: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.pages.listing.PAGE", 2)
    bob, seen = reader(mixed), []
    path = f"{bob.home}/queue?sort=newest"
    while path:
        queue = bob.client.get(path).context["queue"]
        seen += [row.id for row in queue.rows]
        path = queue.pages.next_href
    with tenant_transaction(mixed.tenant_id):
        rows = list(Request.objects.order_by("-created_at"))
    assert seen == [str(one.id) for one in rows]
    assert len(seen) == 5


def test_a_page_begins_right_though_its_last_row_has_left(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.pages.listing.PAGE", 2)
    asked = [stage.ask(decide_within=900 + n) for n in range(4)]
    bob = reader(stage)
    following = bob.queue("?tool=pay").pages.next_href
    stage.answer(asked[1])
    rows = bob.client.get(following).context["queue"].rows
    assert [row.id for row in rows] == [str(asked[2].id), str(asked[3].id)]


def test_what_fits_nothing_says_how_to_see_all(mixed: Stage) -> None:
    bob = reader(mixed)
    empty = bob.queue("?view=changes&tool=tag").empty
    assert empty is not None
    there = bob.client.get(empty.href).context["queue"]
    assert len(there.rows) == 1


@pytest.mark.parametrize(
    ("query", "count"),
    [("", 2), ("&mine=1", 1), ("&tool=pay", 2), ("&tool=tag", 0), ("&queue=other", 0)],
)
def test_the_decided_are_narrowed_too(stage: Stage, query: str, count: int) -> None:
    stage.answer(stage.ask())
    stage.answer(stage.ask(), stage.reviewer("Carol"))
    found = shown(stage, f"?view=decided{query}")
    assert len(found.rows) == count
    names = {control.name for control in found.filters.controls if found.filters}
    assert "expiring" not in names


def test_a_queue_that_is_not_seen_is_not_offered(stage: Stage) -> None:
    by = stage.house.alice.id
    create_queue(tenant_id=stage.tenant_id, by=by, slug="secret", name="Secret")
    stage.policy(queue="secret")
    stage.ask()
    page = reader(stage).get("queue?queue=secret").content.decode()
    known = reader(stage).get("queue?queue=unknown").content.decode()
    assert page.count("secret") == known.count("unknown")


def test_hostile_words_of_an_address_are_marked_and_inert(stage: Stage) -> None:
    stage.ask()
    said = "%E2%80%AE%3Cscript%3E"
    page = reader(stage).get(f"queue?tool={said}&q={said}").content.decode()
    assert "\u202e<script>" not in page
    assert "[U+202E]&lt;script&gt;" in page


def test_those_alike_are_told_and_found(stage: Stage) -> None:
    alike = {str(stage.ask(arguments=pay(n)).id) for n in range(3)}
    stage.ask(arguments={**pay(4), "urgent": True})
    bob = reader(stage)
    rows = bob.queue().rows
    links = {row.id: row.alike for row in rows if row.alike}
    assert set(links) == alike
    assert {link.text for link in links.values()} == {"3 alike"}
    found = bob.client.get(next(iter(links.values())).href).context["queue"]
    assert {row.id for row in found.rows} == alike
    assert [one.label for one in found.filtered_by] == ["Alike"]
    assert [row.alike for row in found.rows] == [None] * 3


def pay(amount: int) -> dict[str, str]:
    return {"payee": "Halden", "amount": f"{amount}.00"}


def test_the_same_arguments_of_another_agent_are_not_alike(stage: Stage) -> None:
    stage.ask()
    other = fresh_agent(stage.house.alice, name="other")
    replace(stage, house=replace(stage.house, robot=other)).ask()
    rows = reader(stage).queue().rows
    assert [row.alike for row in rows] == [None, None]


def test_who_is_on_it(stage: Stage) -> None:
    carol = stage.reviewer()
    mine, theirs, free = stage.ask(), stage.ask(), stage.ask()
    take(stage.bob.person, request_id=mine.id)
    take(carol.person, request_id=theirs.id)
    found = {who: shown(stage, f"?taken={who}") for who in ("me", "others", "free")}
    assert {who: [row.id for row in one.rows] for who, one in found.items()} == {
        "me": [str(mine.id)],
        "others": [str(theirs.id)],
        "free": [str(free.id)],
    }
    assert [one.pages.total for one in found.values()] == [1, 1, 1]
    chip = found["others"].filtered_by[0]
    assert (chip.label, chip.href.partition("?")[2]) == ("Others are on it", "")


def tags(stage: Stage, count: int, risk: str = "low") -> list[Request]:
    register_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        name="tag",
        mode="agent",
        risk=risk,
        definition={},
    )
    return [stage.ask(tool="tag", arguments={"tag": f"t{n}"}) for n in range(count)]


def test_alike_requests_stand_behind_the_first_and_all_are_counted(
    stage: Stage,
) -> None:
    high, asked = stage.ask(), tags(stage, 9)
    page = shown(stage, "")
    assert [row.id for row in page.rows] == [str(high.id), str(asked[0].id)]
    fold = page.rows[1]
    assert fold.more == 8
    assert [row.id for row in fold.folded] == [str(one.id) for one in asked[1:6]]
    assert (page.pages.shown, page.pages.total) == (10, 10)
    assert fold.alike
    whole = shown(stage, f"?{fold.alike.href.partition('?')[2]}")
    assert [row.id for row in whole.rows] == [str(one.id) for one in asked]


def test_the_open_one_is_never_out_of_sight(stage: Stage) -> None:
    asked = tags(stage, 9)
    page: QueueView = reader(stage).get(f"queue/{asked[8].id}").context["queue"]
    assert page.rows[0].unfolded
    assert [row.current for row in page.rows[0].folded] == [False] * 5 + [True]
    assert page.case
    assert page.case.place == "9 of 9"


@pytest.mark.parametrize("risk", ["high", "critical"])
def test_what_could_do_harm_is_never_folded(stage: Stage, risk: str) -> None:
    asked = tags(stage, 4, risk)
    assert [row.id for row in shown(stage, "").rows] == [str(one.id) for one in asked]


def test_two_are_not_worth_it(stage: Stage) -> None:
    tags(stage, 2)
    assert [row.more for row in shown(stage, "").rows] == [0, 0]


def test_a_text_is_found_in_what_is_asked(stage: Stage) -> None:
    """Also where the title does not say it: deep in the arguments, or in the target."""
    one = stage.ask(arguments={**ARGUMENTS, "lines": [{"iban": "DE77-Ünal"}]})
    two = stage.ask(target={"account": "DE77-x"})
    stage.ask()
    assert [row.id for row in shown(stage, "?q=de77-ünal").rows] == [str(one.id)]
    assert {row.id for row in shown(stage, "?q=de77").rows} == {
        str(one.id),
        str(two.id),
    }
    assert shown(stage, "?q=de78").rows == ()
