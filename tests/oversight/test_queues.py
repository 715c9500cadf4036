"""The pages of queues: rights given and taken, and the default."""

from typing import Any

import pytest

from approvals.access import holders
from approvals.models import Queue, Request
from approvals.resume.work import work
from approvals.services.queues import RIGHTS, create_queue, make_default
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.test_resume import jobs_of
from tests.approvals.views.browsing import Reader, reader
from tests.chain import kinds_of
from tests.factories import Somebody, fresh_member
from tests.oversight.administering import HOSTILE, statements, text, turned_away
from tests.refusals import refused


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def alice(stage: Stage) -> Reader:
    return reader(stage, stage.house.alice)


def path(stage: Stage) -> str:
    return f"queues/{stage.queue.id}"


def holds(stage: Stage, who: Somebody, right: str) -> bool:
    with tenant_transaction(stage.tenant_id):
        return who.id in holders(
            tenant_id=stage.tenant_id, queue_id=stage.queue.id, permission=right
        )


def defaults(stage: Stage) -> list[str]:
    with tenant_transaction(stage.tenant_id):
        rows = Queue.objects.filter(default=True)
        return list(rows.values_list("slug", flat=True))


def test_each_is_listed_with_who_may_do_what(stage: Stage, alice: Reader) -> None:
    stage.ask()
    (row,) = alice.get("queues").context["queues"].rows
    assert (row.name, row.slug, row.default, row.waiting) == (
        "Payments",
        "payments",
        True,
        1,
    )
    assert [names for _, names in row.may] == [("Reviewers",)] * 4 + [()]
    counts = dict(alice.get(path(stage)).context["queue"].counts)
    assert list(counts.values()) == [2] * 4 + [0]  # Alice and Bob break no glass


def test_rights_are_given_and_taken(stage: Stage, alice: Reader) -> None:
    carol = fresh_member(stage.house.alice, "Carol")
    who = f"member:{carol.id}"
    given = {"act": "give", "holder": who, "rights": ["view", "decide"]}
    assert alice.post(path(stage), given).status_code == 303  # type: ignore[arg-type]
    assert [holds(stage, carol, right) for right in RIGHTS] == [
        True,
        True,
        False,
        False,
        False,
    ]
    rows = alice.get(path(stage)).context["queue"].holders
    row = next(row for row in rows if row.value == who)
    assert (row.name, [one.value for one in row.rights]) == (
        str(carol.user),
        ["view", "decide"],
    )
    alice.post(path(stage), {"act": "take", "holder": who, "right": "decide"})
    assert holds(stage, carol, "view")
    assert not holds(stage, carol, "decide")


def test_a_right_that_is_taken_is_missing_when_an_approval_is_used(
    stage: Stage, alice: Reader
) -> None:
    request = stage.ask()
    stage.answer(request)
    group = f"group:{stage.house.reviewers.id}"
    alice.post(path(stage), {"act": "take", "holder": group, "right": "decide"})
    (job,) = jobs_of(stage, request)
    assert work(job.id) == "authority.decider_not_eligible"
    assert stage.fresh(request).state == Request.State.PENDING


def test_a_queue_is_created_and_may_become_the_default(
    stage: Stage, alice: Reader
) -> None:
    made = alice.post("queues", {"slug": "support", "name": "Support"})
    assert made.status_code == 303
    assert defaults(stage) == ["payments"]
    where = made.headers["Location"].partition(f"{alice.home}/")[2]
    shown = alice.get(where).context["queue"]
    assert (shown.name, shown.holders) == ("Support", ())
    assert alice.post(where, {"act": "default"}).status_code == 303
    assert defaults(stage) == ["support"]
    alice.post("queues", {"slug": "third", "name": "Third", "default": "on"})
    assert defaults(stage) == ["third"]


def test_making_it_the_default_twice_is_as_once(stage: Stage) -> None:
    said: Any = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
    queue = create_queue(**said, slug="support", name="Support")
    for _ in range(2):
        make_default(**said, queue_id=queue.id)
    kinds = kinds_of(stage.tenant_id, queue.id)
    assert kinds == ["queue.created", "queue.made_default"]
    with refused("not_permitted"):
        make_default(
            tenant_id=stage.tenant_id, by=stage.bob.id, queue_id=stage.queue.id
        )
    other = fresh_stage()
    with refused("not_found"):
        make_default(
            tenant_id=other.tenant_id, by=other.house.alice.id, queue_id=queue.id
        )
    assert defaults(other) == ["payments"]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"slug": "Not A Slug"}, "slug"),
        ({"slug": "payments"}, "slug"),
        ({"slug": ""}, "slug"),
        ({"name": "\u202egnp"}, "name"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    alice: Reader, said: dict[str, str], field: str
) -> None:
    typed = {"slug": "support", "name": "Support", "default": "on", **said}
    answer = alice.post("queues", typed)
    form = answer.context["queues"].form
    assert answer.status_code in {409, 422}
    assert (list(form.errors), form.typed["slug"]) == ([field], typed["slug"])
    assert f'id="create-{field}-error"' in text(answer)


@pytest.mark.parametrize(
    ("said", "field"), [({"rights": "view"}, "holder"), ({"holder": "bob"}, "rights")]
)
def test_a_gift_names_who_and_what(
    stage: Stage, alice: Reader, said: dict[str, str], field: str
) -> None:
    if "holder" in said:
        said = {"holder": f"member:{stage.bob.id}"}
    answer = alice.post(path(stage), {"act": "give", **said})
    assert answer.status_code == 422
    assert list(answer.context["queue"].form.errors) == [field]
    assert f'id="give-{field}-error"' in text(answer)
    chosen = [one.value for one in answer.context["queue"].people if one.chosen]
    assert chosen == ([said["holder"]] if "holder" in said else [])


def test_what_nobody_offered_does_not_exist(stage: Stage, alice: Reader) -> None:
    bob = f"member:{stage.bob.id}"
    for said in (
        {"act": "sing"},
        {"act": "give", "holder": f"member:{new_id()}", "rights": "view"},
        {"act": "give", "holder": f"group:{new_id()}", "rights": "view"},
        {"act": "take", "holder": bob, "right": "everything"},
        {"act": "take", "holder": "bob", "right": "view"},
    ):
        assert alice.post(path(stage), said).status_code == 404, said
    unknown = {"act": "give", "holder": bob, "rights": "everything"}
    assert alice.post(path(stage), unknown).status_code == 422
    assert alice.get(f"queues/{new_id()}").status_code == 404


def test_only_administrators_look(stage: Stage, alice: Reader) -> None:
    turned_away(alice, "queues", "")
    turned_away(alice, path(stage), "give", "take", "default")


def test_a_neighbour_gives_nothing_here_and_nobody_of_here_there(
    stage: Stage, alice: Reader
) -> None:
    other = fresh_stage()
    theirs = reader(other, other.house.alice)
    assert theirs.get(path(stage)).status_code == 404
    mine, yours = f"member:{other.bob.id}", f"member:{stage.bob.id}"
    gift = {"act": "give", "rights": "view"}
    assert theirs.post(path(stage), {**gift, "holder": mine}).status_code == 404
    assert theirs.post(path(other), {**gift, "holder": yours}).status_code == 404
    assert not holds(stage, other.bob, "view")


def test_names_are_inert(stage: Stage, alice: Reader) -> None:
    alice.post("queues", {"slug": "odd", "name": HOSTILE})
    rows = alice.get("queues").context["queues"].rows
    odd = next(row for row in rows if row.slug == "odd")
    for where in ("queues", odd.href.partition(f"{alice.home}/")[2]):
        assert HOSTILE not in alice.get(where).content.decode()


def test_many_cost_no_more_statements_than_one(stage: Stage, alice: Reader) -> None:
    own = {"act": "give", "holder": f"member:{stage.bob.id}", "rights": "view"}
    alice.post(path(stage), own)
    few = [statements(alice, where) for where in ("queues", path(stage))]
    for number in range(3):
        carol = fresh_member(stage.house.alice, "Carol")
        said = {"act": "give", "holder": f"member:{carol.id}", "rights": "view"}
        alice.post(path(stage), said)
        alice.post("queues", {"slug": f"q{number}", "name": "Q"})
    assert [statements(alice, where) for where in ("queues", path(stage))] == few
