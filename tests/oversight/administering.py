"""An administrator's browser, and what a page costs."""

from html import unescape
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from tenants.models import Role
from tests.approvals.views.browsing import Reader, reader
from tests.factories import fresh_member

HOSTILE = "<script>alert(1)</script>"
OUTSIDERS = (Role.REVIEWER, Role.AUDITOR, Role.DEVELOPER)


def text(answer: Any) -> str:
    return unescape(answer.content.decode())


def statements(who: Reader, path: str) -> int:
    """How many a page takes."""
    with CaptureQueriesContext(connection) as captured:
        assert who.get(path).status_code == 200
    return len(captured)


def turned_away(who: Reader, path: str, *acts: str) -> None:
    """Whoever does not administer the tenant reads nothing and changes nothing."""
    for role in OUTSIDERS:
        other = fresh_member(who.stage.house.alice, "Dora", role=role)
        client = reader(who.stage, other)
        assert client.get(path).status_code == 403
        for act in acts:
            assert client.post(path, {"act": act}).status_code == 403
