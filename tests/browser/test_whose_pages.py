"""Every page of the gallery by every role: who is shown it, and who is told what instead.

The gallery has every address (see test_accessibility.py), so a page that is added and not
listed in one of these groups fails.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from django.test import Client
from django.urls import resolve

from approvals.services.queues import RIGHTS
from tenants.models import Role
from tests.approvals.glass_stage import give
from tests.browser.gallery import Gallery
from tests.factories import Somebody, fresh_member

OWNERS: Final = frozenset({"owner"})
ADMINISTRATORS: Final = frozenset({"owner", "admin"})
OVERSEERS: Final = frozenset({"owner", "admin", "auditor"})
EVERYBODYS: Final = frozenset(
    {"broken_glass", "leave", "notifications", "queue", "runs", "standing"}
    | {"together", "views", "workflow", "workflows"}
)
# Not found by whoever does not see the queue: overseers do, others by the right `view`.
OF_QUEUES: Final = frozenset(
    {"case", "context", "post_review", "run", "run_state", "session"}
    | {"standing_make", "standing_one", "trace"}
)
BY_RIGHT: Final = frozenset({"break_glass", "edit"})  # on top of that
OVERSEEN: Final = frozenset(
    {"audit", "drills", "insights", "offers", "person_history", "policies", "policy"}
    | {"retention"}
)
ADMINISTERED: Final = frozenset(
    {"agent", "agent_stop", "agents", "delivery", "group", "groups", "letters"}
    | {"people", "person", "policy_edit", "policy_new", "queue_rights", "queues"}
    | {"readiness", "single_sign_on", "system", "tool", "tool_edit", "tool_new"}
    | {"tool_stop", "tools", "webhook", "webhooks", "workflow_edit", "workflow_new"}
)
OWNED: Final = frozenset({"tenant_stop"})


def expected(name: str, role: str, *, rights: bool) -> int:
    """The status that whoever has this role, and all or none of the rights, is given."""
    sees = rights or role in OVERSEERS
    if name in EVERYBODYS:
        return 200
    if name in OF_QUEUES:
        return 200 if sees else 404
    if name in BY_RIGHT:
        return 200 if rights else 403 if sees else 404
    if name == "rights_then":  # of a request, and for those who oversee
        return 200 if role in OVERSEERS else 403 if sees else 404
    for names, roles in WHOSE:
        if name in names:
            return 200 if role in roles else 403
    raise AssertionError(f"{name} is in no group")


WHOSE: Final = (
    (OVERSEEN, OVERSEERS),
    (ADMINISTERED, ADMINISTRATORS),
    (OWNED, OWNERS),
)


def addresses(gallery: Gallery) -> dict[str, str]:
    """One of each page."""
    shown = {**gallery.pages, **gallery.owned}
    shown.pop("rights-then-wrong")
    return {str(resolve(urlsplit(path).path).url_name): path for path in shown.values()}


def people(gallery: Gallery) -> Iterator[tuple[Somebody, str, bool]]:
    alice = gallery.stage.house.alice
    for role in Role:
        yield fresh_member(alice, role.value, role=role), role.value, False
    for role in (Role.REVIEWER, Role.ADMIN):
        somebody = fresh_member(alice, f"{role.value}-with-all", role=role)
        give(gallery.stage, somebody, *RIGHTS)
        yield somebody, role.value, True


def test_each_page_is_shown_to_whom_it_is_for(gallery: Gallery) -> None:
    wrong = []
    for somebody, role, rights in people(gallery):
        client = Client()
        client.force_login(somebody.user)
        for name, path in addresses(gallery).items():
            was, right = (
                client.get(path).status_code,
                expected(name, role, rights=rights),
            )
            if was != right:
                wrong.append(f"{name} by {role}, {rights=}: {was}, and not {right}")
    assert wrong == []
