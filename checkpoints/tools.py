"""Carrying a managed tool out: call it once, and ask it what came of a key.

What is not certain is `unknown`. Only an answer that arrived whole confirms or denies,
and only what never left this process is `absent`.
"""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal
from uuid import UUID

from checkpoints.definition import KEY_PLACE, Terms
from checkpoints.models import Tool
from checkpoints.outbound import Answer, NotSent, Unanswered, send
from checkpoints.secrets import NO_VALUE, Values, Withheld, values_for
from kernel.canonical import canonical_bytes
from kernel.json_schema import check_formats, check_value
from kernel.problems import Problem, declare
from kernel.strict_json import Json, parse

ARGUMENTS_INVALID: Final = declare(
    "arguments_invalid", status=422, title="The arguments do not fit the tool"
)

# The tool did not say no to the action: it may have happened, or may still.
NO_ANSWER: Final = frozenset({408, 409, 425, 429})
EXCERPT: Final = 2_000  # characters of an answer kept as evidence
MAX_EXTERNAL_ID: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What one attempt came to. `evidence` is small JSON about how that is known."""

    state: Literal["confirmed", "failed", "unknown", "absent"]
    external_id: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStatus:
    """What the tool says came of a key.

    `absent` proves nothing before it has settled, counted at `asked` (this process's
    monotonic clock, before the question was sent); nor if it was asked `at` another
    address than when the key was sent; `unproved` proves nothing at all.
    """

    state: Literal["confirmed", "failed", "absent", "unproved"]
    external_id: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    asked: float = field(default_factory=time.monotonic)
    at: bytes | None = None  # `Terms.status_digest`


def check_arguments(
    tool: Tool, arguments: Json, *, pointer: str = "/arguments"
) -> None:
    """Raises `arguments_invalid` (422) with the place that does not fit the schema."""
    schema = Terms.of(tool).schema
    if schema:
        check_value(schema, arguments, pointer=pointer, kind=ARGUMENTS_INVALID)


def check_typed(
    tool: Tool, arguments: Json, before: Json, *, pointer: str = "/arguments"
) -> None:
    """Refuse a text that a person wrote in another form than the schema names.

    Raises as `check_arguments`; what stood in `before` is nobody's typing.
    """
    schema = Terms.of(tool).schema
    if schema:
        check_formats(
            schema, arguments, before, pointer=pointer, kind=ARGUMENTS_INVALID
        )


def fits(tool: Tool, arguments: Json) -> bool:
    """Whether the arguments satisfy the schema that the tool has now."""
    try:
        check_arguments(tool, arguments)
    except Problem:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A request as `call` would send it, but that secrets stand in it by name."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def draft_of(tool: Tool, arguments: Mapping[str, Json]) -> Draft:
    """What a managed tool would be sent, with marks for what only a call has."""
    terms = Terms.of(tool)
    ours = _headers("{key}", "{effect}", "{attempt}", "{fence}", "{moment}")
    body = canonical_bytes(arguments)
    return Draft(url=terms.url, headers={**terms.headers, **ours}, body=body)


def call(
    tool: Tool,
    *,
    key: bytes,
    effect_id: UUID,
    attempt: int,
    fence: int,
    not_after: datetime,
    arguments: Mapping[str, Json],
    start_by: float = float("inf"),
) -> ToolOutcome:
    """Ask a managed tool to act, outside any transaction.

    `not_after` is told to the tool; `start_by` is the same moment by this process's
    monotonic clock, after which nothing is sent. Secrets are filled in here, and cut
    out of the answer.
    """
    terms = Terms.of(tool)
    headers = _headers(key.hex(), effect_id, attempt, fence, _moment(not_after))
    values = Values()
    try:
        values = values_for(tool, terms.url, arguments)
        answer = send(
            "POST",
            terms.url,
            headers=values.in_headers(terms.headers) | headers,
            body=canonical_bytes(values.in_arguments(arguments)),
            within=terms.timeout,
            start_by=start_by,
        )
    except Withheld as error:
        return _withheld(error)
    except NotSent as error:
        evidence = {"sent": False, **_why(error, values)}
        return ToolOutcome(state="absent", evidence=evidence)
    except Unanswered as error:
        evidence = {"sent": True, **_why(error, values)}
        return ToolOutcome(state="unknown", evidence=evidence)
    return _outcome(values.cut_out_of(answer))


def ask_status(tool: Tool, *, key: bytes) -> ToolStatus:
    """Ask a tool what came of a key, outside any transaction."""
    terms = Terms.of(tool)
    if terms.status_url is None:
        return ToolStatus(state="unproved", evidence={"code": "no_status_url"})
    url = terms.status_url.replace(KEY_PLACE, key.hex())
    values, asked = Values(), time.monotonic()
    try:
        values = values_for(tool, url)
        headers = values.in_headers(terms.headers) | {"Accept": "application/json"}
        answer = send("GET", url, headers=headers, within=terms.timeout)
    except Withheld as error:
        return ToolStatus(state="unproved", evidence=_without(error))
    except (NotSent, Unanswered) as error:
        return ToolStatus(state="unproved", evidence=_why(error, values))
    said = _status(values.cut_out_of(answer))
    return replace(said, asked=asked, at=terms.status_digest)


def _headers(
    key: str, effect: object, attempt: object, fence: object, moment: str
) -> dict[str, str]:
    return {
        "Accept": "application/json",
        "Content-Type": "application/json",
        "Idempotency-Key": key,
        "Keyturn-Effect": str(effect),
        "Keyturn-Attempt": str(attempt),
        "Keyturn-Fence": str(fence),
        "Keyturn-Not-After": moment,
    }


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _outcome(answer: Answer) -> ToolOutcome:
    evidence = {"sent": True, **_seen(answer)}
    if 200 <= answer.status < 300:
        said = _external_id(_members(answer))
        return ToolOutcome(state="confirmed", external_id=said, evidence=evidence)
    if 400 <= answer.status < 500 and answer.status not in NO_ANSWER:
        return ToolOutcome(state="failed", evidence=evidence)
    return ToolOutcome(state="unknown", evidence=evidence)


def _status(answer: Answer) -> ToolStatus:
    evidence, members = _seen(answer), _members(answer)
    said = _external_id(members)
    if answer.status == 404:
        return ToolStatus(state="absent", evidence=evidence)
    match answer.status, members.get("state"):
        case 200, "confirmed":
            return ToolStatus(state="confirmed", external_id=said, evidence=evidence)
        case 200, "failed":
            return ToolStatus(state="failed", external_id=said, evidence=evidence)
    return ToolStatus(state="unproved", evidence=evidence)


def _members(answer: Answer) -> Mapping[str, Json]:
    try:
        body = parse(answer.body, limit=len(answer.body))
    except Problem:
        return {}
    return body if isinstance(body, Mapping) else {}


def _external_id(members: Mapping[str, Json]) -> str:
    said = members.get("external_id")
    if isinstance(said, bool) or not isinstance(said, str | int):
        return ""
    return str(said)[:MAX_EXTERNAL_ID]


def _seen(answer: Answer) -> dict[str, Any]:
    text = answer.body.decode(errors="replace").replace("\x00", "\ufffd")
    return {
        "status": answer.status,
        "address": answer.address,
        "body": text[:EXCERPT],
        "body_sha256": hashlib.sha256(answer.body).hexdigest(),
    }


def _why(error: NotSent | Unanswered, values: Values) -> dict[str, str]:
    detail = values.cut_out(error.detail.encode(errors="replace")).decode()
    return {"code": error.code, "detail": detail[:EXCERPT]}


def _withheld(error: Withheld) -> ToolOutcome:
    """Nothing left us. What has no value here may have one later; a right is lost."""
    missing = error.code == NO_VALUE
    evidence = {"sent": False, **_without(error)}
    return ToolOutcome(state="absent" if missing else "failed", evidence=evidence)


def _without(error: Withheld) -> dict[str, str]:
    return {"code": error.code, "secret": error.name[:MAX_EXTERNAL_ID]}
