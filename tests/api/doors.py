"""Every door of the API: found in the URLconf, described here, and never unlisted.

`DOORS` says of each method at each address who may use it and what a full body looks
like. Tests go through all of them; `found_in_urlconf` is held against the list, so that
an address without a description fails.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from django.urls import URLPattern, URLResolver, get_resolver

from tests.api.approval_doors import OF_APPROVALS, asked, free, nullable
from tests.api.door import PAGE, PREFIX, Door
from tests.api.world import World

DESCRIPTION: Final = ("api/v1/schema", "api/v1/docs")
STREAMS: Final = (  # written while they are sent, and tested by themselves
    "api/v1/events",  # tests.approvals.wait.test_events
    "api/v1/audit",  # tests.oversight.test_audit_stream
    "api/v1/runs/<uuid:id>/bundle",
)
METHODS: Final = ("get", "post", "put", "patch", "delete")


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
POSITION_NULLABLE: Final = ("/parent",)

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
            "requests": [asked(world)],
            "resume_when": "each",
        },
        free=("/checkpoint/header/markers", *free("/requests/0")),
        nullable=("/checkpoint/parent", *nullable("/requests/0")),
        fence=_run_fence,
    ),
    *OF_APPROVALS,
)

POSTING: Final = tuple(door for door in DOORS if door.method != "get")
WRITING: Final = tuple(door for door in POSTING if not door.file)
READING: Final = tuple(door for door in DOORS if door.method == "get")
