"""The page of the time machine, from its answer; inside the tenant's scope."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from approvals.models import Policy, Request
from approvals.pages.addresses import address, short_name
from approvals.pages.viewer import Viewer
from kernel.clock import database_now
from kernel.problems import NOT_FOUND, Problem
from oversight.pages.moments import NO_TIME, read_moment
from oversight.pages.rights.answer import (
    Answer,
    Closed,
    closed,
    last_open,
    who_could_have,
)
from oversight.pages.rights.case import Owed, RuleThen
from oversight.pages.rights.turned import keys_told
from oversight.pages.rights.ways import StandingThen
from oversight.pages.trace.asked import policy_page
from oversight.presentation.rights import (
    AgreedRow,
    GlassRow,
    OwedThen,
    PersonThen,
    PolicyThen,
    RightsThenView,
    RuleRow,
)
from oversight.queries import visible_requests
from tenants.models import Group, Member

VERDICTS: Final = {
    "deny": "Refused by policy, whoever agreed",
    "require_review": "People had to agree",
    "allow": "Let through by policy alone",
}


def rights_view(viewer: Viewer, request_id: UUID, typed: str) -> RightsThenView:
    """Raises `not_found` for a request that is not seen."""
    request, now = _request(viewer, request_id), database_now()
    end = closed(request)
    at = read_moment(typed) if typed else _begin(request, end, now)
    shown = _frame(viewer, request, now, typed, at) | _ended(end, typed)
    if at is None:
        return RightsThenView(**shown, errors={"at": NO_TIME})
    try:
        answer = who_could_have(request, at)
    except Problem as problem:
        return RightsThenView(**shown, errors={"at": problem.detail})
    return RightsThenView(**shown, **_told(viewer, answer))


def rights_document(viewer: Viewer, request_id: UUID, typed: str) -> dict[str, Any]:
    """The same for programs, by ids. Raises `not_found` for what cannot be told too."""
    request = _request(viewer, request_id)
    at = read_moment(typed) if typed else database_now()
    if at is None:
        raise NOT_FOUND(NO_TIME)
    answer = who_could_have(request, at)
    return {
        "request": str(request.id),
        "at": at.isoformat(),
        "state": answer.state,
        "revision": answer.revision,
        "digest": answer.digest,
        "pinned": _owed_document(answer.pinned),
        "current": _owed_document(answer.current),
        "agreed_beforehand": [_agreed_document(one) for one in answer.standings],
        "break_glass": _glass_document(answer),
        "policies_spoilt": answer.spoilt,
        "entries": answer.then.entries,
        "unsigned": answer.then.unsigned,
    }


def _request(viewer: Viewer, request_id: UUID) -> Request:
    rows = visible_requests(viewer).select_related(
        "agent", "key", "session", "run__workflow", "run__session"
    )
    found = rows.filter(id=request_id).first()
    if found is None:
        raise NOT_FOUND("No such request.")
    return found


def _begin(request: Request, end: Closed | None, now: datetime) -> datetime:
    """What is decided is asked about as it was decided."""
    return last_open(request, end) if end else now


def _ended(end: Closed | None, typed: str) -> dict[str, Any]:
    if end is None:
        return {}
    became = end.state if end.state == "expired" else f"was {end.state}"
    return {"became": became, "ended_at": end.at, "just_before": not typed}


def _frame(
    viewer: Viewer, request: Request, now: datetime, typed: str, at: datetime | None
) -> dict[str, Any]:
    local = timezone.localtime(at or now)
    named = typed or (at.isoformat() if at and at != now else "")
    return {
        "now": now,
        "case_href": address("case", viewer.slug, request.id),
        "label": short_name("REQ", request.id),
        "title": request.title,
        "here": address("rights_then", viewer.slug, request.id),
        "json_href": address(
            "rights_then_json", viewer.slug, request.id, query={"at": named}
        ),
        "zone": local.tzname() or "",
        "typed": typed or local.strftime("%Y-%m-%dT%H:%M:%S"),
    }


def _told(viewer: Viewer, answer: Answer) -> dict[str, Any]:
    ids = answer.pinned.people | answer.current.people
    ids |= answer.pinned.excluded | answer.current.excluded | answer.glass.people
    ids |= {one.author for one in answer.standings if one.author}
    people = _people(viewer.slug, ids)
    return {
        "at": answer.then.at,
        "answer": _answer(answer, people),
        "revision": answer.revision,
        "digest": answer.digest,
        "pinned": _owed(viewer.slug, answer.pinned, people),
        "current": _owed(viewer.slug, answer.current, people),
        "agreed": tuple(_agreed(viewer.slug, one, people) for one in answer.standings),
        "glass": _glass(answer, people),
        "spoilt": answer.spoilt,
        "entries": answer.then.entries,
        "unsigned": answer.then.unsigned,
    }


def _people(slug: str, ids: Iterable[UUID]) -> Mapping[UUID, PersonThen]:
    rows = Member.objects.filter(id__in=list(ids))
    return {
        one.id: PersonThen(name=one.name, href=address("person_history", slug, one.id))
        for one in rows
    }


def _answer(answer: Answer, people: Mapping[UUID, PersonThen]) -> str:
    """A sentence or two for whoever asks."""
    if answer.state != "pending":
        return f"Nobody: it was {answer.state} by then."
    if answer.pinned.obligation.verdict == "deny":
        return "Nobody: policy refused it."
    if not answer.pinned.people:
        return "Nobody could have."

    def names(ids: Iterable[UUID]) -> list[str]:
        return [one.name for one in _named(ids, people)]

    return keys_told(answer.pinned, answer.turned, names)


def _agreed(
    slug: str, one: StandingThen, people: Mapping[UUID, PersonThen]
) -> AgreedRow:
    return AgreedRow(
        label=short_name("STA", one.id),
        href=address("standing_one", slug, one.id),
        author=_named([one.author], people)[0] if one.author else None,
        left=one.uses - one.used,
        uses=one.uses,
        expires_at=one.expires_at,
        why_not=one.doubt.reason if one.doubt else "",
    )


def _glass(answer: Answer, people: Mapping[UUID, PersonThen]) -> GlassRow:
    """Only what is still asked can be approved at all."""
    over = "" if answer.state == "pending" else f"It was {answer.state} by then."
    return GlassRow(
        people=() if over else _named(answer.glass.people, people),
        seconds=answer.glass.seconds,
        why_not=over or answer.glass.why_not,
    )


def _named(
    ids: Iterable[UUID], people: Mapping[UUID, PersonThen]
) -> tuple[PersonThen, ...]:
    found = (people.get(id, PersonThen(name=str(id), href="")) for id in ids)
    return tuple(sorted(found, key=lambda one: one.name))


def _owed(slug: str, owed: Owed, people: Mapping[UUID, PersonThen]) -> OwedThen:
    obligation = owed.obligation
    names = dict(
        Policy.objects.filter(
            id__in=[policy for policy, _, _ in obligation.policies]
        ).values_list("id", "name")
    )
    return OwedThen(
        verdict=VERDICTS[obligation.verdict.value],
        rules=tuple(_rule(one, people) for one in owed.rules),
        policies=tuple(
            PolicyThen(
                name=names.get(policy, str(policy)),
                revision=number,
                digest=digest[:12],
                href=policy_page(slug, names[policy]) if policy in names else "",
            )
            for policy, number, digest in obligation.policies
        ),
        excluded=_named(owed.excluded, people),
        short=owed.short,
    )


def _rule(one: RuleThen, people: Mapping[UUID, PersonThen]) -> RuleRow:
    return RuleRow(
        approvals=one.rule.approvals,
        wanted=_wanted(one),
        people=_named(one.people, people),
    )


def _wanted(one: RuleThen) -> str:
    who = one.rule.eligible
    groups = Group.objects.filter(id__in=list(who.groups)).order_by("name")
    names = ", ".join(groups.values_list("name", flat=True))
    among = f" in {names}" if names else ""
    named = " among those named" if who.members else ""
    return f"who may {who.permission.replace('_', ' ')} on its queue{among}{named}"


def _owed_document(owed: Owed) -> dict[str, Any]:
    return {
        "verdict": owed.obligation.verdict.value,
        "policies": [
            {"id": str(policy), "revision": number, "digest": digest}
            for policy, number, digest in owed.obligation.policies
        ],
        "rules": [
            {**one.rule.as_json(), "people": sorted(map(str, one.people))}
            for one in owed.rules
        ],
        "excluded": sorted(map(str, owed.excluded)),
        "people": sorted(map(str, owed.people)),
        "short": owed.short,
    }


def _agreed_document(one: StandingThen) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "author": str(one.author) if one.author else None,
        "used": one.used,
        "uses": one.uses,
        "expires_at": one.expires_at.isoformat(),
        "answers": one.doubt is None,
        "doubt": one.doubt.code if one.doubt else None,
    }


def _glass_document(answer: Answer) -> dict[str, Any]:
    told = _glass(answer, {})
    return {
        "people": sorted(map(str, answer.glass.people)) if not told.why_not else [],
        "seconds": told.seconds,
        "why_not": told.why_not,
    }
