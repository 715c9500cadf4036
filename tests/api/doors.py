"""Every door of the API: found in the URLconf, described here, and never unlisted.

`DOORS` says of each method at each address who may use it and what a full body looks
like. Tests go through all of them; `found_in_urlconf` is held against the list, so that
an address without a description fails.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.api.world import Named, World, action
from tests.approvals.stage import ARGUMENTS

PREFIX: Final = "api/v1"
DESCRIPTION: Final = ("api/v1/schema", "api/v1/docs")
STREAMS: Final = ("api/v1/events",)  # they do not end: tests.approvals.wait.test_events
METHODS: Final = ("get", "post", "put", "patch", "delete")

type Body = Callable[[World], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Door:
    """One method at one address.

    `place` has the world's names where the address has its parameters. `body` is one
    that is accepted, with every key that there is. `free` are the pointers below which
    any JSON is the caller's own; `nullable` those where null is an answer.
    """

    method: str
    route: str  # as the URLconf writes it
    place: str
    who: Literal["agent", "member"] = "agent"
    body: Body | None = None
    fence: Callable[[World], int] | None = None
    free: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()  # free, and kept as text: any JSON at all
    nullable: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    optional_body: bool = False
    shared: bool = False  # every agent of the tenant finds the same behind it
    repeatable: bool = False  # done once however often, and no answer is kept
    kind: str = "application/json"  # of the body
    file: bytes = b""  # the body, where it is no JSON
    gives_file: bool = False  # of whatever type was put there

    @property
    def name(self) -> str:
        return f"{self.method} {self.place}"

    def address(self, world: World, **instead: str) -> str:
        """Where it is in this world, or with other names for its things."""
        return f"/{PREFIX}/{self.place.format_map(Named(world, **instead))}"

    def client(self, world: World) -> Client:
        """Someone who may use it."""
        if self.who == "member":
            return world.house.bob.scripted()
        return world.house.robot.client()

    def call(
        self,
        world: World,
        client: Client | None = None,
        *,
        raw: bytes | None = None,
        kind: str | None = None,
        address: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Use it as somebody who may, with its own body and fence; or otherwise."""
        client = client or self.client(world)
        sent = {**self.fenced(world), **(headers or {})}
        place = self.address(world) if address is None else address
        if self.method == "get":
            return client.get(place, headers=sent)
        body = self.sample(world) if raw is None else raw
        return client.generic(
            self.method.upper(),
            place,
            body,
            content_type=self.kind if kind is None else kind,
            headers=sent,
        )

    def sample(self, world: World) -> bytes:
        """The accepted body as it is sent."""
        from tests.api.attacks import text

        if self.file:
            return self.file
        return text(self.body(world) if self.body else {}).encode()

    def fenced(self, world: World) -> dict[str, str]:
        if self.fence is None:
            return {}
        return {"Keyturn-Fence": str(self.fence(world))}


def found_in_urlconf() -> Iterator[tuple[str, str]]:
    """(method, route) of everything that is served under the API's prefix.

    But for the description of the API itself, which anybody may read.
    """
    for route, callback in patterns():
        if not route.startswith(PREFIX) or route in (*DESCRIPTION, *STREAMS):
            continue
        handlers = getattr(callback, "view_class", None)
        methods = ["get"] if handlers is None else _handled(handlers)
        yield from ((method, route.removeprefix(f"{PREFIX}/")) for method in methods)


def patterns() -> Iterator[tuple[str, Callable[..., Any]]]:
    """(route, view) of every address there is, the pages' too."""
    return _patterns(get_resolver())


def _handled(view: type) -> list[str]:
    return [method for method in METHODS if hasattr(view, method)]


def _patterns(
    inside: URLResolver, prefix: str = ""
) -> Iterator[tuple[str, Callable[..., Any]]]:
    for each in inside.url_patterns:
        route = prefix + str(each.pattern)
        if isinstance(each, URLPattern):
            yield route, each.callback
        else:
            yield from _patterns(each, route)


def _run_fence(world: World) -> int:
    return world.run.fence


def _line(world: World) -> dict[str, Any]:
    return {"run": str(world.run.id), "branch": 0}


def _position(**more: Any) -> dict[str, Any]:
    return {
        "parent": 1,
        "schema_version": 1,
        "payload": "e30=",
        "payload_encoding": "base64",
        "header": {"completed": ["read"], "pending": [], "markers": {"a": 1}},
        **more,
    }


def _asked(world: World | None = None, **more: Any) -> dict[str, Any]:
    return action(
        target={"account": "7"},
        preconditions=[{"field": "po_matched", "equals": True, "max_age": 600}],
        explanation="Because.",
        tool_call_id="call-1",
        **({} if world is None else {"context": world.context}),
        risk="low",
        allowed_decisions=["approve", "reject", "respond"],
        response_schema={"type": "string"},
        decide_within=600,
        use_within=600,
        **more,
    )


def _free(*prefixes: str) -> tuple[str, ...]:
    names = ("arguments", "target", "response_schema", "preconditions/0/equals")
    return tuple(f"{prefix}/{name}" for prefix in prefixes for name in names)


def _nullable(prefix: str) -> tuple[str, ...]:
    return (f"{prefix}/target", f"{prefix}/preconditions/0/equals")


def _fact(**more: Any) -> dict[str, Any]:
    return {
        "value": True,
        "provenance": "tool",
        "reference": "validate#4",
        "evidence_digest": "ab",
        **more,
    }


ARTIFACT: Final = "sessions/<uuid:id>/artifacts/<sha256:digest>"
AN_ARTIFACT: Final = "sessions/{session}/artifacts/{artifact}"
RUN: Final = "runs/<uuid:id>"
APPROVAL: Final = "approvals/<uuid:id>"
POSITION_NULLABLE: Final = ("/parent",)
PAGE: Final = ("cursor", "limit")

DOORS: Final = (
    Door(
        method="get",
        route="sessions",
        place="sessions",
        query=("external_id", *PAGE),
    ),
    Door(
        method="post",
        route="sessions",
        place="sessions",
        body=lambda _: {"subject": "s", "title": "t", "external_id": "e"},
        nullable=("/external_id",),
    ),
    Door(method="get", route="sessions/<uuid:id>", place="sessions/{session}"),
    Door(
        method="get",
        route="sessions/<uuid:id>/items",
        place="sessions/{session}/items",
        query=("limit", "branch", "before"),
    ),
    Door(
        method="post",
        route="sessions/<uuid:id>/items",
        place="sessions/{session}/items",
        body=lambda world: {"items": [{"a": 1}], **_line(world)},
        raw=("/items",),
        nullable=("/run",),
        fence=_run_fence,
    ),
    Door(
        method="post",
        route="sessions/<uuid:id>/items/pop",
        place="sessions/{session}/items/pop",
        body=lambda world: _line(world),
        fence=_run_fence,
        optional_body=True,
    ),
    Door(
        method="post",
        route="sessions/<uuid:id>/items/clear",
        place="sessions/{session}/items/clear",
        body=lambda world: {**_line(world), "reason": "asked for"},
        fence=_run_fence,
        optional_body=True,
    ),
    Door(
        method="post",
        route="sessions/<uuid:id>/items/replace",
        place="sessions/{session}/items/replace",
        body=lambda world: {
            **_line(world),
            "items": [{"a": 1}],
            "expected_last": 0,
            "reason": "compacted",
        },
        raw=("/items",),
        fence=_run_fence,
    ),
    Door(
        method="get",
        route="sessions/<uuid:id>/branches",
        place="sessions/{session}/branches",
        query=PAGE,
    ),
    Door(
        method="post",
        route="sessions/<uuid:id>/branches",
        place="sessions/{session}/branches",
        body=lambda _: {"origin": 0, "at": 0},
        nullable=("/at",),
        optional_body=True,
    ),
    Door(
        method="get",
        route="sessions/<uuid:id>/artifacts",
        place="sessions/{session}/artifacts",
        query=PAGE,
    ),
    Door(
        method="post",
        route="sessions/<uuid:id>/artifacts",
        place="sessions/{session}/artifacts",
        kind="text/plain",
        file=b"12.50 EUR",
    ),
    Door(method="get", route=ARTIFACT, place=AN_ARTIFACT),
    Door(
        method="get",
        route=f"{ARTIFACT}/content",
        place=f"{AN_ARTIFACT}/content",
        gives_file=True,
    ),
    Door(
        method="post",
        route=f"{ARTIFACT}/remove",
        place=f"{AN_ARTIFACT}/remove",
        body=lambda _: {},
        optional_body=True,
    ),
    Door(
        method="post",
        route="sessions/<uuid:id>/runs",
        place="sessions/{session}/runs",
        body=lambda world: {
            "workflow": "default",
            "branch": world.free_branch,
            "external_id": "x",
            "lease_seconds": 60,
        },
        nullable=("/external_id",),
        optional_body=True,
    ),
    Door(
        method="get", route="runs", place="runs", query=("state", "external_id", *PAGE)
    ),
    Door(method="get", route=RUN, place="runs/{run}"),
    Door(
        method="post",
        route=f"{RUN}/claim",
        place="runs/{run}/claim",
        body=lambda _: {"lease_seconds": 60},
        optional_body=True,
    ),
    Door(
        method="post",
        route=f"{RUN}/heartbeat",
        place="runs/{run}/heartbeat",
        body=lambda _: {"lease_seconds": 60},
        fence=_run_fence,
        optional_body=True,
    ),
    Door(
        method="post",
        route=f"{RUN}/complete",
        place="runs/{run}/complete",
        body=lambda _: {"result": {"external_id": "CR-771"}},
        free=("/result",),
        nullable=("/result",),
        fence=_run_fence,
        optional_body=True,
    ),
    *(
        Door(
            method="post",
            route=f"{RUN}/{verb}",
            place=f"runs/{{run}}/{verb}",
            body=lambda _: {"reason": "not wanted"},
            fence=_run_fence,
        )
        for verb in ("fail", "cancel")
    ),
    Door(
        method="get",
        route=f"{RUN}/context",
        place="runs/{run}/context",
        query=("max_tokens", "shape"),
    ),
    Door(
        method="post",
        route=f"{RUN}/context",
        place="runs/{run}/context",
        body=lambda _: {"max_tokens": 8000, "shape": "openai"},
        optional_body=True,
        repeatable=True,
    ),
    Door(
        method="post",
        route="sessions/<uuid:id>/summaries",
        place="sessions/{said}/summaries",
        body=lambda _: {"first": 1, "last": 1, "branch": 0, "text": "They."},
    ),
    Door(
        method="get",
        route=f"{RUN}/state",
        place="runs/{run}/state",
        query=("version", "at"),
    ),
    Door(method="get", route="workflows", place="workflows", query=PAGE, shared=True),
    Door(
        method="get",
        route="workflows/<slug:name>",
        place="workflows/default",
        shared=True,
        query=("version",),
    ),
    Door(
        method="get",
        route=f"{RUN}/state/diff",
        place="runs/{run}/state/diff",
        query=("before", "after"),
    ),
    Door(
        method="get",
        route=f"{RUN}/transitions",
        place="runs/{run}/transitions",
        query=PAGE,
    ),
    Door(
        method="post",
        route=f"{RUN}/transitions",
        place="runs/{run}/transitions",
        body=lambda _: {
            "expected_version": 0,
            "stage": "checked",
            "facts": {"po_matched": _fact()},
            "reason": "compared",
        },
        free=("/facts/po_matched/value",),
        nullable=("/facts/po_matched/value",),
        fence=_run_fence,
    ),
    Door(
        method="post",
        route=f"{RUN}/checkpoints",
        place="runs/{run}/checkpoints",
        body=lambda _: _position(),
        free=("/header/markers",),
        nullable=POSITION_NULLABLE,
        fence=_run_fence,
    ),
    Door(
        method="get",
        route=f"{RUN}/checkpoints/head",
        place="runs/{run}/checkpoints/head",
    ),
    Door(
        method="get",
        route=f"{RUN}/checkpoints/<positive:number>",
        place="runs/{run}/checkpoints/1",
    ),
    Door(
        method="post",
        route=f"{RUN}/checkpoints/head/restore",
        place="runs/{run}/checkpoints/head/restore",
        body=lambda _: {},
        optional_body=True,
        repeatable=True,
    ),
    Door(
        method="post",
        route=f"{RUN}/checkpoints/<positive:number>/restore",
        place="runs/{run}/checkpoints/1/restore",
        body=lambda _: {},
        optional_body=True,
        repeatable=True,
    ),
    Door(
        method="post",
        route=f"{RUN}/checkpoints/<positive:number>/fork",
        place="runs/{run}/checkpoints/1/fork",
        body=lambda _: {"reason": "another way", "lease_seconds": 60},
        optional_body=True,
    ),
    Door(
        method="post",
        route=f"{RUN}/pause",
        place="runs/{run}/pause",
        body=lambda world: {
            "checkpoint": _position(),
            "requests": [_asked(world)],
            "resume_when": "each",
        },
        free=("/checkpoint/header/markers", *_free("/requests/0")),
        nullable=("/checkpoint/parent", *_nullable("/requests/0")),
        fence=_run_fence,
    ),
    Door(
        method="get",
        route="approvals",
        place="approvals",
        query=("status", "run", *PAGE),
    ),
    Door(
        method="post",
        route="approvals",
        place="approvals",
        body=lambda _: _asked(subject="customer-7"),
        free=_free(""),
        nullable=_nullable(""),
    ),
    Door(
        method="get",
        route=APPROVAL,
        place="approvals/{pending}",
        query=("wait", "until"),
    ),
    Door(
        method="post",
        route=f"{APPROVAL}/withdraw",
        place="approvals/{pending}/withdraw",
        body=lambda _: {"reason": "not wanted"},
    ),
    Door(
        method="post",
        route=f"{APPROVAL}/revise",
        place="approvals/{unclear}/revise",
        body=lambda _: {
            "arguments": {**ARGUMENTS, "amount": "1.00"},
            "explanation": "Less.",
        },
        free=("/arguments",),
    ),
    Door(
        method="post",
        route=f"{APPROVAL}/redeem",
        place="approvals/{approved}/redeem",
        body=lambda _: {},
        fence=lambda world: world.approved.run.fence,
        optional_body=True,
    ),
    Door(
        method="post",
        route=f"{APPROVAL}/decisions",
        place="approvals/{pending}/decisions",
        who="member",
        body=lambda world: {
            "verdict": "respond",
            "digest": world.stage.digest(world.pending).hex(),
            "reason": "Ask them.",
            "response": "later",
        },
        free=("/response",),
    ),
    Door(
        method="post",
        route=f"{APPROVAL}/revoke",
        place="approvals/{approved}/revoke",
        who="member",
        body=lambda _: {"reason": "a mistake"},
    ),
    Door(
        method="get",
        route="effects/<uuid:id>",
        place="effects/{effect}",
    ),
    Door(
        method="post",
        route="effects/<uuid:id>/report",
        place="effects/{effect}/report",
        body=lambda _: {
            "attempt": 1,
            "outcome": "confirmed",
            "external_id": "CR-771",
            "evidence": {"status": 200},
        },
        free=("/evidence",),
        fence=lambda world: world.redeemed.run.fence,
    ),
)

POSTING: Final = tuple(door for door in DOORS if door.method != "get")
WRITING: Final = tuple(door for door in POSTING if not door.file)
READING: Final = tuple(door for door in DOORS if door.method == "get")
