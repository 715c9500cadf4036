"""The list: whose it is, in which order, and with counts that are those of the list."""

import pytest

from approvals.models import Decision, Request
from approvals.pages.selection import OPEN_VIEWS, RISKS, VIEWS
from approvals.services.queues import create_queue, give_right, take_right
from checkpoints.services.tools import register_tool
from sessions.services.runs import start_run
from sessions.services.sessions import open_session
from tenants.models import Role
from tests.approvals.stage import Stage
from tests.approvals.views.browsing import reader
from tests.factories import fresh_member

V = Decision.Verdict


def tool(stage: Stage, name: str, risk: str) -> str:
    register_tool(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        name=name,
        mode="agent",
        risk=risk,
        definition={},
    )
    return name


def titles(stage: Stage, query: str = "") -> list[str]:
    return [row.title for row in reader(stage).queue(query).rows]


def test_a_request_appears_with_what_it_is_about(stage: Stage) -> None:
    request = stage.ask()
    row = reader(stage).queue().rows[0]
    assert (row.id, row.title) == (
        str(request.id),
        "Pay 1240.00 to Halden Paper Supply",
    )
    assert (row.risk, row.tool, row.agent) == ("high", "pay", "robot")
    assert (row.keys.turned, row.keys.needed) == (0, 1)


def test_the_riskiest_comes_first_and_then_the_next_to_expire(stage: Stage) -> None:
    for name, risk in (("low", "low"), ("critical", "critical"), ("medium", "medium")):
        stage.ask(tool=tool(stage, name, risk), arguments={"a": name})
    later = stage.ask(decide_within=7_000)
    sooner = stage.ask(decide_within=3_000)
    rows = reader(stage).queue().rows
    assert [row.risk for row in rows] == ["critical", "high", "high", "medium", "low"]
    assert [row.id for row in rows[1:3]] == [str(sooner.id), str(later.id)]


@pytest.mark.parametrize("view", OPEN_VIEWS)
@pytest.mark.parametrize("risk", ["", *RISKS])
def test_counts_equal_the_list_that_they_head(
    mixed: Stage, view: str, risk: str
) -> None:
    response = reader(mixed).get(f"queue?view={view}&risk={risk}")
    queue, shell = response.context["queue"], response.context["shell"]
    assert queue.pages.total == queue.pages.shown == len(queue.rows)
    counts = {item.label: item.count for item in shell.views}
    assert counts[queue.heading] == sum(facet.count for facet in queue.facets)
    if not risk:
        assert counts[queue.heading] == len(queue.rows)
    else:
        facets = {facet.value: facet.count for facet in queue.facets}
        assert facets[risk] == len(queue.rows)
        assert {row.risk for row in queue.rows} <= {risk}


@pytest.mark.parametrize("view", [*VIEWS, "decided&mine=1"])
def test_a_list_is_headed_as_the_way_to_it_is_called(stage: Stage, view: str) -> None:
    response = reader(stage).get(f"queue?view={view}")
    (here,) = [item for item in response.context["shell"].views if item.current]
    assert response.context["queue"].heading == here.label


@pytest.fixture(scope="module")
def mixed() -> Stage:
    """One of each kind, so that no two views hold the same."""
    from tests.approvals.stage import fresh_stage

    stage = fresh_stage()
    low = tool(stage, "tag", "low")
    stage.ask(decide_within=600)
    stage.ask(tool=low, arguments={"a": 1})
    changed = stage.ask()
    stage.answer(changed, verdict=V.REQUEST_CHANGES, reason="More.")
    stage.policy("two", selector="tool == 'tag'", rules=[{"approvals": 2}])
    mine = stage.ask(tool=low, arguments={"a": 2})
    stage.answer(mine)
    return stage


def test_a_queue_that_somebody_does_not_see_is_not_counted(stage: Stage) -> None:
    stage.ask()
    take_right(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        queue_id=stage.queue.id,
        right="view",
        group_id=stage.house.reviewers.id,
    )
    queue = reader(stage).queue()
    assert queue.rows == ()
    assert queue.pages.total == 0
    assert queue.empty is not None


def test_who_is_given_no_queue_is_told_so(stage: Stage) -> None:
    stage.ask()
    lea = reader(stage, fresh_member(stage.house.alice, "Lea", role=Role.DEVELOPER))
    empty = lea.queue().empty
    assert empty is not None
    assert empty.title == "No queue is given to you"


def test_the_auditor_sees_all_of_it_and_owes_no_key(stage: Stage) -> None:
    stage.ask()
    auditor = fresh_member(stage.house.alice, "Dora", role=Role.AUDITOR)
    assert len(reader(stage, auditor).queue().rows) == 1
    assert reader(stage, auditor).queue("?view=mine").rows == ()


def test_mine_are_those_that_my_key_would_count_for(stage: Stage) -> None:
    stage.ask()
    assert len(titles(stage, "?view=mine")) == 1
    owner = reader(stage, stage.house.alice)
    assert owner.queue("?view=mine").rows == ()  # she answers for the agent
    assert len(owner.queue().rows) == 1


def test_mine_no_more_once_answered(stage: Stage) -> None:
    stage.policy(rules=[{"approvals": 2}])
    stage.answer(stage.ask())
    assert titles(stage, "?view=mine") == []
    assert len(titles(stage)) == 1


def test_not_mine_where_another_group_is_asked(stage: Stage) -> None:
    carol = stage.reviewer()
    stage.policy(rules=[{"eligible": {"members": [str(carol.id)]}}])
    stage.ask()
    assert titles(stage, "?view=mine") == []
    assert len(reader(stage, carol).queue("?view=mine").rows) == 1


def test_not_mine_when_i_wrote_the_policy_alone(stage: Stage) -> None:
    """Alice publishes; a reviewer whom she makes an admin publishes for himself."""
    from approvals.services.policies import publish_policy
    from tenants.services import change_role

    change_role(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        member_id=stage.bob.id,
        role=Role.ADMIN,
    )
    publish_policy(
        tenant_id=stage.tenant_id,
        by=stage.bob.id,
        name="own",
        definition={"verdict": "require_review"},
    )
    stage.ask()
    assert titles(stage, "?view=mine") == []


def test_not_mine_when_i_edited_it(stage: Stage) -> None:
    request = stage.ask()
    arguments = {"payee": "Halden Paper Supply", "amount": "1.00"}
    stage.answer(request, verdict=V.EDIT, arguments=arguments, reason="Less.")
    assert titles(stage, "?view=mine") == []
    assert len(titles(stage)) == 1


def test_search_finds_title_tool_and_agent(stage: Stage) -> None:
    stage.ask()
    stage.ask(arguments={"payee": "100%_off", "amount": "1.00"})
    assert titles(stage, "?q=halden") == ["Pay 1240.00 to Halden Paper Supply"]
    assert titles(stage, "?q=100%25_o") == ["Pay 1.00 to 100%_off"]
    assert titles(stage, "?q=%25") == ["Pay 1.00 to 100%_off"]
    assert titles(stage, "?q=supply+pay+halden") == titles(stage, "?q=halden")
    assert titles(stage, "?q=%22supply+halden%22") == []
    assert len(titles(stage, "?q=pay")) == len(titles(stage, "?q=robot")) == 2
    empty = reader(stage).queue("?q=nothing+like+it").empty
    assert empty is not None
    assert empty.href.endswith("/queue")


def test_search_finds_the_run_by_the_name_that_its_agent_gave_it(stage: Stage) -> None:
    request = named_run(stage, "TASK-1842")
    assert len(titles(stage, "?q=task-18")) == 1
    stage.answer(request, verdict=V.REJECT, reason="No.")
    assert titles(stage, "?q=task-18") == []
    assert len(titles(stage, "?view=decided&q=task-18")) == 1


def named_run(stage: Stage, name: str) -> Request:
    who = stage.house.robot.principal
    session = open_session(who=who, subject="customer-7")
    run, _ = start_run(who=who, session_id=session.id, external_id=name)
    return stage.ask(run)


@pytest.mark.parametrize("of", ["name", "email"])
def test_search_finds_who_has_answered(stage: Stage, of: str) -> None:
    carol = stage.reviewer("Carol")
    stage.policy(rules=[{"approvals": 2}])
    request = stage.ask()
    stage.ask(arguments={"payee": "Other", "amount": "1.00"})
    sought = f"?q={getattr(carol.user, of)}"
    assert titles(stage, sought) == []
    stage.answer(request, carol)
    assert titles(stage, sought) == ["Pay 1240.00 to Halden Paper Supply"]
    stage.answer(request)
    assert titles(stage, sought) == []
    assert len(titles(stage, f"{sought}&view=decided")) == 1


def test_what_was_decided_a_moment_ago_is_offered_to_a_search(stage: Stage) -> None:
    stage.answer(stage.ask(), verdict=V.REJECT, reason="No.")
    found = reader(stage).queue("?q=halden")
    assert found.empty is not None
    assert len(titles(stage, found.empty.href.partition("queue")[2])) == 1
    stage.ask()
    both = reader(stage).queue("?q=halden")
    assert len(both.rows) == 1
    assert both.decided is not None
    assert both.decided.text == "1 decided request"


def test_a_search_offers_nothing_of_a_queue_that_is_not_seen(stage: Stage) -> None:
    stage.answer(stage.ask(), verdict=V.REJECT, reason="No.")
    lea = reader(stage, fresh_member(stage.house.alice, "Lea", role=Role.DEVELOPER))
    for sought in ("halden", "bob", "robot"):
        queue = lea.queue(f"?q={sought}")
        assert queue.rows == ()
        assert queue.decided is None
        assert queue.empty is not None
        assert "Ask an administrator" in queue.empty.sentence
        assert lea.queue(f"?q={sought}&view=decided").rows == ()


@pytest.mark.parametrize("name", ["id", "REQ", "RUN"])
def test_what_is_pasted_is_opened(stage: Stage, name: str) -> None:
    request = stage.ask()
    of = request.run_id if name == "RUN" else request.id
    pasted = str(of) if name == "id" else f"{name}-{of.hex[-8:].upper()}"
    response = reader(stage).get(f"queue?q={pasted}")
    assert response.headers["Location"].endswith(f"/queue/{request.id}")


def test_the_decided_are_kept_with_who_decided(stage: Stage) -> None:
    stage.answer(stage.ask(), verdict=V.REJECT, reason="No.")
    stage.answer(stage.ask())
    rows = reader(stage).queue("?view=decided").rows
    assert [row.outcome for row in rows] == ["Approved by Bob", "Rejected by Bob"]
    assert reader(stage).queue().rows == ()


def test_pages_follow_each_other_without_gap_or_repetition(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.pages.listing.PAGE", 2)
    asked = {str(stage.ask().id) for _ in range(5)}
    bob, seen, path = reader(stage), [], f"{reader(stage).home}/queue"
    while path:
        queue = bob.client.get(path).context["queue"]
        assert queue.pages.total == 5
        seen += [row.id for row in queue.rows]
        path = queue.pages.next_href
    assert len(seen) == len(set(seen)) == 5
    assert set(seen) == asked


def test_pages_of_the_decided_follow_each_other(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.pages.listing.PAGE", 2)
    for _ in range(3):
        stage.answer(stage.ask())
    bob = reader(stage)
    first = bob.queue("?view=decided")
    rest = bob.client.get(first.pages.next_href).context["queue"]
    ids = [row.id for row in (*first.rows, *rest.rows)]
    assert len(ids) == len(set(ids)) == 3
    assert rest.pages.next_href == ""


@pytest.mark.parametrize(
    "query",
    ["?view=x&risk=y", "?after=nonsense", "?after=9+x+y", "?q=%00", "?after=1+2"],
)
def test_a_mistyped_address_shows_the_list(stage: Stage, query: str) -> None:
    stage.ask()
    assert reader(stage).get(f"queue{query}").status_code == 200


def test_requests_of_a_second_queue_stand_in_the_same_list(stage: Stage) -> None:
    by = stage.house.alice.id
    other = create_queue(tenant_id=stage.tenant_id, by=by, slug="other", name="Other")
    give_right(
        tenant_id=stage.tenant_id,
        by=by,
        queue_id=other.id,
        right="view",
        member_id=stage.bob.id,
    )
    stage.policy(queue="other")
    stage.ask()
    assert len(titles(stage)) == 1
    assert titles(stage, "?view=mine") == []  # he may see there, not decide


@pytest.mark.parametrize("target", ["list", "case"])
def test_htmx_gets_the_part_that_it_asked_for(stage: Stage, target: str) -> None:
    request = stage.ask()
    headers = {"HX-Request": "true", "HX-Target": target}
    response = reader(stage).get(f"queue/{request.id}", headers=headers)
    text = response.content.decode()
    assert "<!doctype" not in text
    assert (f'id="{target}"' in text, text.count("<section") > 0) == (True, True)
