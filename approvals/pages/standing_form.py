"""The form that makes a standing approval from one's own approval, and what it says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from approvals.pages.addresses import address, short_name
from approvals.pages.case import CaseRecord
from approvals.pages.selection import Selection
from approvals.pages.standing import bound_rows
from approvals.policy.beforehand import Bounds, Constraint, is_amount, leaves
from approvals.presentation.arguments import exact_text
from approvals.presentation.lengths import length_words, seconds_in
from approvals.presentation.standing import BoundField, MakeView
from approvals.services.case import Sight
from approvals.services.standing import Terms, bounds_for
from kernel.problems import Problem
from kernel.strict_json import parse

EXACTLY: Final = ("exactly", "Exactly as approved")
BETWEEN: Final = ("between", "From, to")
ONE_OF: Final = ("one_of", "One of these")
PREFIX: Final = ("prefix", "Begins with")
NAMES: Final = ("kind", "least", "most", "values", "prefix")
DEFAULT_SECONDS: Final = 7 * 86_400
DEFAULT_USES: Final = 10
NOT_USES: Final = "A whole number, please."


@dataclass(kw_only=True)
class Given:
    """What was typed, as terms; `errors` has a sentence by field or pointer."""

    terms: Terms | None = None
    post: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)


def offered(record: CaseRecord) -> tuple[Bounds | None, str]:
    """How far this person may agree beforehand, or why not at all."""
    if record.standing is None or not record.is_intact:
        return None, "What was asked cannot be read."
    sight = Sight(
        person=record.viewer.person,
        member=record.viewer.member,
        request=record.request,
        revision=record.revision,
        envelope=record.envelope,
        standing=record.standing,
        rights=record.rights,
        now=record.now,
    )
    try:
        return bounds_for(sight), ""
    except Problem as problem:
        return None, problem.detail


def make_view(record: CaseRecord, given: Given, selection: Selection) -> MakeView:
    """The form, with what was typed; or why there is none."""
    bounds, why_not = offered(record)
    request, post, query = record.request, given.post, selection.query
    requester = record.sealed.get("requester", {})
    arguments = leaves(record.envelope.action.arguments) if bounds else {}
    opened = [path for path in arguments if bounds and path in bounds.open]
    fixed = [
        Constraint(path, "exactly", {"value": value})
        for path, value in arguments.items()
        if path not in opened
    ]
    return MakeView(
        label=short_name("REQ", request.id),
        title=request.title,
        case_href=address("case", record.slug, request.id, query=query),
        action=address("standing_make", record.slug, request.id, query=query),
        digest=bytes(record.revision.digest).hex(),
        tool=request.tool.name,
        agent=request.agent.name,
        environment=requester.get("environment", ""),
        now=record.now,
        why_not=why_not,
        fixed=bound_rows(fixed),
        open=tuple(
            _field(at, path, arguments[path], given) for at, path in enumerate(opened)
        ),
        most_uses=bounds.uses if bounds else 1,
        longest=length_words(bounds.expires_within) if bounds else "",
        uses=post.get("uses", _usual_uses(bounds)),
        within=post.get("within", _usual_time(bounds)),
        reason=post.get("reason", ""),
        reason_required=record.obligation is not None
        and record.obligation.reason == "always",
        errors=given.errors,
    )


def read_terms(record: CaseRecord, post: Mapping[str, str]) -> Given:
    """What the form says; the verb judges it."""
    bounds, _ = offered(record)
    arguments = leaves(record.envelope.action.arguments) if bounds else {}
    opened = [path for path in arguments if bounds and path in bounds.open]
    errors: dict[str, str] = {}
    seconds = seconds_in(post.get("within", ""))
    if isinstance(seconds, str):
        errors["expires"], seconds = seconds, 0
    uses = post.get("uses", "").strip()
    if not (uses.isascii() and uses.isdecimal() and len(uses) < 6):
        errors["uses"], uses = NOT_USES, "0"
    bounded = []
    for at, path in enumerate(opened):
        typed = {name: post.get(f"{name}-{at}", "") for name in NAMES}
        try:
            bounded.append(_constraint(path, arguments[path], typed))
        except (Problem, ValueError):
            errors[f"arguments{path}"] = "Say it as it would stand in the action."
    terms = Terms(
        seconds=seconds,
        uses=int(uses),
        bounded=[one for one in bounded if not one.is_exact],
        reason=post.get("reason", "").replace("\r\n", "\n"),
    )
    return Given(terms=terms, post=post, errors=errors)


def _constraint(path: str, approved: Any, typed: Mapping[str, str]) -> Constraint:
    """Raises ValueError or `Problem` for what is no value of the argument's type."""
    kind = typed["kind"]
    if kind == "between":
        ends = {name: _like(approved, typed[name]) for name in ("least", "most")}
        return Constraint(path, kind, ends)
    if kind == "one_of":
        lines = [line for line in typed["values"].splitlines() if line.strip()]
        return Constraint(path, kind, {"values": [_like(approved, x) for x in lines]})
    if kind == "prefix":
        return Constraint(path, kind, {"prefix": typed["prefix"].strip()})
    return Constraint(path, "exactly", {"value": approved})


def _like(approved: Any, text: str) -> Any:
    """The text as a value of the same type: a text stays as it is, but for its ends."""
    if isinstance(approved, str):
        return text.strip()
    value = parse(text.strip().encode())
    if type(value) is bool or isinstance(value, str | dict | list):
        raise ValueError("another type")
    return value


def _field(at: int, path: str, approved: Any, given: Given) -> BoundField:
    typed = {name: given.post.get(f"{name}-{at}", "") for name in NAMES}
    usual = {"kind": "exactly", "values": exact_text(approved)}
    if is_amount(approved):
        usual |= {"least": "0", "most": exact_text(approved)}
    shown = typed if given.post else typed | usual
    return BoundField(
        at=at,
        pointer=path,
        approved=exact_text(approved),
        kinds=tuple(_kinds(approved)),
        error=given.errors.get(f"arguments{path}", ""),
        **{**shown, "kind": shown["kind"] or "exactly"},
    )


def _kinds(approved: Any) -> list[tuple[str, str]]:
    """What can be said of a value of this type."""
    if isinstance(approved, bool) or not isinstance(approved, str | int | float):
        return [EXACTLY]
    amount = [BETWEEN] if is_amount(approved) else []
    text = [PREFIX] if isinstance(approved, str) and not amount else []
    return [EXACTLY, *amount, ONE_OF, *text]


def _usual_uses(bounds: Bounds | None) -> str:
    return str(min(bounds.uses, DEFAULT_USES)) if bounds else ""


def _usual_time(bounds: Bounds | None) -> str:
    seconds = min(bounds.expires_within, DEFAULT_SECONDS) if bounds else 0
    return length_words(seconds)
