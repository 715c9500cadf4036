"""The effect token, seen by a tool that checks it as the documentation says."""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography.exceptions import InvalidSignature
from django.conf import settings

from approvals.models import Request
from approvals.services.redeem import redeem
from audit.keys import signing_key
from tests.api import Api
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage

PAGE: Final = Path(settings.BASE_DIR, "docs/how-to/agent-tool.md")


@pytest.fixture(scope="module")
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture(scope="module")
def check() -> Callable[..., dict[str, Any]]:
    """The documented function, as a reader would copy it."""
    code = re.search(r"```python\n(import base64.*?)```", PAGE.read_text(), re.DOTALL)
    assert code is not None
    scope: dict[str, Any] = {}
    exec(code[1], scope)
    found: Callable[..., dict[str, Any]] = scope["check"]
    return found


def redeemed(stage: Stage) -> tuple[Request, str]:
    request = stage.ask()
    stage.answer(request)
    fence = stage.fresh(request.run).fence
    answer = Api.of(stage.house.robot).post(
        f"approvals/{request.id}/redeem", fence=fence
    )
    assert answer.status_code == 200, answer.content
    return request, answer.json()["token"]


def served(stage: Stage, **other: Any) -> dict[str, Any]:
    """What a tool of this stage's tenant expects, but for `other`."""
    return {
        "tenant": str(stage.tenant_id),
        "environment": "test",
        "tool": "pay",
        "arguments": ARGUMENTS,
        **other,
    }


def test_a_token_says_whose_approval_it_is(stage: Stage) -> None:
    request, token = redeemed(stage)
    said = json.loads(urlsafe_b64decode(token.split(".")[0] + "=="))
    names = ("tenant", "agent", "environment", "request")
    robot = stage.house.robot
    assert [said[name] for name in names] == [
        str(stage.tenant_id),
        str(robot.agent.id),
        "test",
        str(request.id),
    ]


def test_the_same_action_handed_over_again_has_the_same_token(stage: Stage) -> None:
    request, token = redeemed(stage)
    fence = stage.fresh(request.run).fence
    again = redeem(stage.house.robot.principal, request_id=request.id, fence=fence)
    assert again.envelope.record["tenant"] == str(stage.tenant_id)
    answer = Api.of(stage.house.robot).post(
        f"approvals/{request.id}/redeem", fence=fence
    )
    assert answer.json()["token"] == token


def test_the_documented_check_accepts_the_tools_own(
    stage: Stage, check: Callable[..., dict[str, Any]]
) -> None:
    request, token = redeemed(stage)
    effect = check(token, signing_key().private.public_key(), **served(stage))
    assert effect["request"] == str(request.id)


def test_the_documented_check_refuses_a_strangers(
    stage: Stage, check: Callable[..., dict[str, Any]]
) -> None:
    """It is signed by the same key, for the same tool, with the same arguments."""
    _, token = redeemed(fresh_stage())
    with pytest.raises(ValueError, match="another tenant"):
        check(token, signing_key().private.public_key(), **served(stage))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("environment", "production"),
        ("tool", "refund"),
        ("arguments", {**ARGUMENTS, "amount": "1240.01"}),
        ("request", "another"),
    ],
)
def test_the_documented_check_refuses_what_else_was_approved(
    name: str, value: Any, stage: Stage, check: Callable[..., dict[str, Any]]
) -> None:
    _, token = redeemed(stage)
    public = signing_key().private.public_key()
    with pytest.raises(ValueError, match=f"another {name}"):
        check(token, public, **served(stage, **{name: value}))


@pytest.mark.parametrize("name", ["tenant", "environment", "tool", "arguments"])
def test_the_documented_check_is_not_used_without(
    name: str, stage: Stage, check: Callable[..., dict[str, Any]]
) -> None:
    _, token = redeemed(stage)
    expected = served(stage)
    del expected[name]
    with pytest.raises(ValueError, match=f"not said.*{name}"):
        check(token, signing_key().private.public_key(), **expected)


def test_the_documented_check_refuses_altered_words(
    stage: Stage, check: Callable[..., dict[str, Any]]
) -> None:
    (_, one), (_, two) = redeemed(stage), redeemed(stage)
    mixed = f"{one.split('.')[0]}.{two.split('.')[1]}"
    with pytest.raises(InvalidSignature):
        check(mixed, signing_key().private.public_key(), **served(stage))
