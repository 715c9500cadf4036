"""A copy is what the verbs would have made, and nothing of it is anybody else's."""

import re

import pytest
from django.db.models import Model

from audit.verify import verify_tenant
from tenants.authentication import authenticate_key
from tests.approvals.stage import Stage, fresh_stage, staged
from tests.copies import TIME, Original
from tests.factories import fresh_agent, made_house


def by_the_verbs(**definition: str) -> Stage:
    return staged(made_house("robot"), **definition)


def parts_of(stage: Stage) -> list[str]:
    """Everything in the database, by turns what is alike and what is its own."""
    key = stage.house.robot.text
    return Original(stage, tenant_id=stage.tenant_id, key=key).parts


def shape(stage: Stage) -> list[str | int]:
    """The same with its own numbered as it first appears; two may be of one moment."""
    parts = ["" if re.fullmatch(TIME, part) else part for part in parts_of(stage)]
    own = list(dict.fromkeys(parts[1::2]))
    return [own.index(part) if at % 2 else part for at, part in enumerate(parts)]


def rows(stage: Stage) -> list[Model]:
    house = stage.house
    people = [row for one in (house.alice, house.bob) for row in (one.user, one.member)]
    made = [house.tenant, house.reviewers, house.robot.agent, house.robot.key]
    return [*made, *people, stage.queue, stage.tool]


def values(row: Model) -> dict[str, object]:
    return {one.attname: getattr(row, one.attname) for one in row._meta.concrete_fields}


@pytest.mark.parametrize("title", [{}, {"title": "Pay"}])
@pytest.mark.parametrize("made", [fresh_stage, by_the_verbs])
def test_it_has_every_row_and_entry_that_the_verbs_make(made, title) -> None:
    assert shape(made(**title)) == shape(by_the_verbs(**title))


def test_one_row_more_would_be_noticed() -> None:
    stage = fresh_stage()
    fresh_agent(stage.house.alice, name="another")
    assert shape(stage) != shape(by_the_verbs())


def test_what_is_returned_is_what_is_stored() -> None:
    stage = fresh_stage()
    for row in rows(stage):
        assert values(row) == values(stage.fresh(row)), row


def test_it_shares_nothing_with_another() -> None:
    one, other = fresh_stage(), fresh_stage()
    marks = {"1987654321", "{digest}"}
    assert set(parts_of(one)[1::2]) & set(parts_of(other)[1::2]) == marks
    ours = {id(row) for row in rows(one)}
    assert not ours & {id(row) for row in rows(other)}


def test_its_log_is_signed_and_its_key_is_one() -> None:
    stage = fresh_stage()
    assert verify_tenant(stage.tenant_id).intact
    robot = stage.house.robot
    assert authenticate_key(f"Bearer {robot.text}") == robot.principal
