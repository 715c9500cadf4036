from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # models exist only once the settings are there
    from sessions.models import Run, Session
    from tenants.principal import Principal
    from tests.factories import House


@pytest.fixture
def house() -> "House":
    from tests.factories import fresh_house

    return fresh_house()


@pytest.fixture
def who(house: "House") -> "Principal":
    """The agent whose session and run the other fixtures are."""
    return house.robot.principal


@pytest.fixture
def strangers(house: "House") -> "dict[str, Principal]":
    """Those who must not learn that the agent's session and run exist."""
    from tests.factories import fresh_agent, fresh_house

    return {
        "another agent of the tenant": fresh_agent(house.alice, name="other").principal,
        "an agent of another tenant": fresh_house().robot.principal,
    }


@pytest.fixture
def session(who: "Principal") -> "Session":
    from sessions.services import open_session

    return open_session(who=who, subject="customer-7")


@pytest.fixture
def run(who: "Principal", session: "Session") -> "Run":
    from sessions.services import start_run

    return start_run(who=who, session_id=session.id)[0]
