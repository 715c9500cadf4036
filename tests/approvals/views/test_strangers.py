"""Every page's address, as the URL configuration has it: strangers find nothing there.

An address that is added and not registered here fails the last test.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from approvals.models import Request
from approvals.services.queues import take_right
from kernel.ids import new_id
from tests.approvals.stage import Stage, fresh_stage
from tests.factories import Somebody, fresh_member

DIGEST = "0" * 64


@dataclass(frozen=True, kw_only=True)
class Address:
    """How an address is called: `of` says whose id it takes, `form` what is posted."""

    of: str = ""
    methods: tuple[str, ...] = ("GET", "HEAD")
    form: dict[str, str] = field(default_factory=dict)


# Each address below `/t/{slug}/`, by its name.
PAGES = {
    "tenant": Address(),
    "queue": Address(),
    "case": Address(of="request"),
    "views": Address(
        methods=("GET", "HEAD", "POST"), form={"act": "save", "name": "Mine"}
    ),
    "together": Address(methods=("GET", "HEAD", "POST")),
    "decide": Address(
        of="request",
        methods=("POST",),
        form={"verdict": "approve", "digest": DIGEST},
    ),
    "ahead": Address(of="request"),
    "edit": Address(of="request", methods=("GET", "POST")),
    "context": Address(of="request"),
    "comment": Address(of="request", methods=("POST",), form={"text": "Hm."}),
    "take": Address(of="request", methods=("POST",), form={"act": "take"}),
    "snooze": Address(
        of="request", methods=("POST",), form={"act": "snooze", "length": "1h"}
    ),
    "leave": Address(methods=("GET", "HEAD", "POST"), form={"act": "away"}),
    "take_back": Address(of="request", methods=("POST",), form={"digest": DIGEST}),
    "revoke": Address(of="request", methods=("POST",), form={"reason": "No."}),
    "break_glass": Address(
        of="request",
        methods=("GET", "POST"),
        form={"reason": "Now.", "digest": DIGEST, "confirm": "1"},
    ),
    "broken_glass": Address(),
    "post_review": Address(
        methods=("GET", "POST"), form={"review": "objected", "words": "No."}
    ),
    "resolve": Address(
        of="request",
        methods=("POST",),
        form={"outcome": "confirmed", "evidence": "Seen."},
    ),
    "standing": Address(),
    "standing_one": Address(
        of="standing", methods=("GET", "POST"), form={"reason": "No more."}
    ),
    "standing_make": Address(
        of="request", methods=("GET", "POST"), form={"uses": "1", "within": "1 day"}
    ),
    "stream": Address(),
    "runs": Address(),
    "drills": Address(),
    "insights": Address(),
    "system": Address(),
    "readiness": Address(),
    "trace": Address(of="run"),
    "trace_json": Address(of="run"),
    "trace_agentack": Address(of="run"),
    "person_history": Address(of="member"),
    "rights_then": Address(of="request"),
    "rights_then_json": Address(of="request"),
    "run_bundle": Address(of="run", methods=("POST",)),
    "verify_bundle": Address(),
    "audit": Address(),
    "audit_verify": Address(methods=("POST",)),
    "audit_export": Address(methods=("POST",), form={"form": "csv"}),
    "verify_export": Address(),
    "audit_keys": Address(),
    "audit_anchors": Address(),
    "run": Address(of="run"),
    "run_state": Address(of="run"),
    "workflows": Address(),
    "workflow": Address(),
    "workflow_new": Address(methods=("GET", "POST")),
    "workflow_edit": Address(methods=("GET", "POST"), form={"definition": "{}"}),
    "workflow_draft": Address(methods=("POST",), form={"act": "publish"}),
    "workflow_export": Address(),
    "offers": Address(methods=("GET", "HEAD", "POST"), form={"act": "dismiss"}),
    "policies": Address(methods=("GET", "HEAD", "POST")),
    "policy": Address(),
    "policy_new": Address(methods=("GET", "POST")),
    "policy_edit": Address(methods=("GET", "POST"), form={"verdict": "deny"}),
    "policy_act": Address(methods=("POST",), form={"act": "publish"}),
    "agents": Address(methods=("GET", "HEAD", "POST")),
    "agent": Address(of="agent", methods=("GET", "POST"), form={"act": "issue"}),
    "agent_stop": Address(of="agent", methods=("GET", "POST"), form={"act": "stop"}),
    "people": Address(methods=("GET", "HEAD", "POST")),
    "person": Address(of="member", methods=("GET", "POST"), form={"act": "deactivate"}),
    "single_sign_on": Address(
        methods=("GET", "HEAD", "POST"), form={"act": "configure"}
    ),
    "groups": Address(methods=("GET", "HEAD", "POST")),
    "group": Address(of="group", methods=("GET", "POST"), form={"act": "add"}),
    "queues": Address(methods=("GET", "HEAD", "POST")),
    "queue_rights": Address(of="queue", methods=("GET", "POST"), form={"act": "give"}),
    "tools": Address(),
    "tool": Address(of="tool"),
    "tool_new": Address(methods=("GET", "POST"), form={"act": "keep"}),
    "tool_edit": Address(of="tool", methods=("GET", "POST"), form={"act": "keep"}),
    "tool_stop": Address(of="tool", methods=("GET", "POST"), form={"act": "stop"}),
    "tenant_stop": Address(methods=("GET", "POST"), form={"act": "stop"}),
    "notifications": Address(methods=("GET", "HEAD", "POST")),
    "retention": Address(
        methods=("GET", "HEAD", "POST"), form={"act": "term", "days": "30"}
    ),
    "letters": Address(methods=("GET", "HEAD", "POST"), form={"letter": str(new_id())}),
    "webhooks": Address(methods=("GET", "HEAD", "POST")),
    "webhook": Address(of="webhook", methods=("GET", "POST"), form={"act": "ping"}),
    "delivery": Address(of="delivery", methods=("GET", "POST")),
    "session": Address(of="run"),
    "file": Address(of="run"),
    "hold": Address(of="run", methods=("POST",), form={"reason": "Dispute."}),
    "lift_hold": Address(
        of="run", methods=("POST",), form={"hold": str(new_id()), "reason": "Over."}
    ),
    "attend": Address(
        of="run", methods=("POST",), form={"choice": "release", "reason": "Looked."}
    ),
}
OF_REQUESTS = [n for n, page in PAGES.items() if page.of in {"request", "run"}]
CALLS = [(name, method) for name, page in PAGES.items() for method in page.methods]


@pytest.fixture(scope="module")
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture(scope="module")
def asked(stage: Stage) -> Request:
    return stage.ask()


@pytest.fixture(scope="module")
def blind(stage: Stage, asked: Request) -> Somebody:
    """A member of the same tenant who sees no queue."""
    return fresh_member(stage.house.alice, "Dora")


def call(
    somebody: Somebody, name: str, method: str, *, slug: str, id: object = None
) -> Any:
    """The answer to one call, with a token where one is needed."""
    client = Client()  # CSRF is tested with the deciding forms
    client.force_login(somebody.user)
    path = PATHS[name].replace("<slug:slug>", slug).replace("<uuid:id>", str(id))
    return client.generic(
        method,
        f"/{path}",
        data="&".join(f"{k}={v}" for k, v in PAGES[name].form.items()),
        content_type="application/x-www-form-urlencoded",
    )


def id_for(name: str, asked: Request) -> object:
    known = {"request": asked.id, "run": asked.run_id}  # others have their own tests
    return known.get(PAGES[name].of, new_id())


@pytest.mark.parametrize(("name", "method"), CALLS)
def test_a_tenant_is_as_if_it_did_not_exist_for_strangers(
    stage: Stage, asked: Request, name: str, method: str
) -> None:
    stranger, id = stage.house.charlie, id_for(name, asked)
    real = call(stranger, name, method, slug=stage.house.tenant.slug, id=id)
    none = call(stranger, name, method, slug="no-such-tenant", id=new_id())
    assert (real.status_code, none.status_code) == (404, 404)
    assert real.content == none.content
    assert unnamed(real) == unnamed(none)


@pytest.mark.parametrize(("name", "method"), [c for c in CALLS if c[0] in OF_REQUESTS])
def test_what_a_member_may_not_see_is_as_if_it_did_not_exist(
    stage: Stage, asked: Request, blind: Somebody, name: str, method: str
) -> None:
    slug = stage.house.tenant.slug
    real = call(blind, name, method, slug=slug, id=id_for(name, asked))
    none = call(blind, name, method, slug=slug, id=new_id())
    assert (real.status_code, none.status_code) == (404, 404)
    assert real.content == none.content


@pytest.mark.parametrize(("name", "method"), [c for c in CALLS if c[0] in OF_REQUESTS])
def test_another_tenants_row_is_not_found_under_ones_own(
    stage: Stage, asked: Request, name: str, method: str
) -> None:
    """Charlie owns a tenant, and asks there for what is Alice's."""
    own = stage.house.charlie
    slug = slug_of(own)
    found = call(own, name, method, slug=slug, id=id_for(name, asked))
    assert found.status_code == 404


@pytest.mark.parametrize(("name", "method"), CALLS)
def test_nobody_signed_in_is_told_nothing(
    stage: Stage, asked: Request, name: str, method: str
) -> None:
    slug = stage.house.tenant.slug
    path = PATHS[name].replace("<slug:slug>", slug)
    path = path.replace("<uuid:id>", str(id_for(name, asked)))
    response = Client().generic(method, f"/{path}")
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/accounts/login/")


def test_context_is_assembled_for_nobody_who_may_not_see_it(
    stage: Stage, asked: Request, blind: Somebody, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Authorisation fails before anything else of the request is read."""
    read: list[str] = []
    for part in ("_wordings", "_decisions", "_reports"):
        monkeypatch.setattr(
            f"approvals.pages.case.record.{part}",
            lambda *args, part=part: read.append(part),
        )
    call(blind, "case", "GET", slug=stage.house.tenant.slug, id=asked.id)
    assert read == []


def test_a_right_that_was_taken_is_gone_with_the_next_page() -> None:
    own = fresh_stage()
    request, slug = own.ask(), own.house.tenant.slug
    seen = call(own.bob, "case", "GET", slug=slug, id=request.id)
    take_right(
        tenant_id=own.tenant_id,
        by=own.house.alice.id,
        queue_id=own.queue.id,
        right="view",
        group_id=own.house.reviewers.id,
    )
    gone = call(own.bob, "case", "GET", slug=slug, id=request.id)
    assert (seen.status_code, gone.status_code) == (200, 404)


def test_every_address_below_a_tenant_is_registered_here() -> None:
    assert set(PATHS) == set(PAGES)


def slug_of(somebody: Somebody) -> str:
    from tenants.access import memberships

    return memberships(somebody.user)[0].slug


def unnamed(response: Any) -> dict[str, str]:
    """The headers, without the name that each request has of its own."""
    return {k: v for k, v in response.headers.items() if k != "X-Request-ID"}


def addresses(
    patterns: list[URLPattern | URLResolver], before: str = ""
) -> dict[str, str]:
    """Every route of the configuration, by its name."""
    found = {}
    for one in patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            found |= addresses(one.url_patterns, route)
        else:
            found[one.name or route] = route
    return found


PATHS = {
    name: route.replace("<slug:kind>", "default")
    .replace("<slug:name>", "default")
    .replace("<sha256:digest>", DIGEST)
    for name, route in addresses(get_resolver().url_patterns).items()
    if route.startswith("t/")
}
