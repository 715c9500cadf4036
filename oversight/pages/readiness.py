"""What a tenant lacks for production, from rows; inside its scope.

A check looks at one thing and costs a few statements, whatever the tenant holds.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q

from approvals.access import how_many_hold
from approvals.models import Policy, Queue
from approvals.pages.addresses import address
from audit.anchors import newest_anchors
from checkpoints.models import Tool
from kernel.clock import database_now
from oversight.drills.report import last_report
from oversight.examination import Finding
from oversight.models import Verification
from oversight.pages.system import finding_row
from oversight.presentation.readiness import Area, Check, ReadinessView
from sessions.models import Retention
from tenants.access import ADMINISTRATORS, SECOND_FACTORS, Membership
from tenants.models import Agent, AgentOwner, ApiKey, Tenant
from tenants.queries import active_members, active_owners, password_members

FRESH: Final = timedelta(days=7)  # a verification
ANCHORED: Final = timedelta(hours=24)
DRILLED: Final = timedelta(days=90)
MOST_NAMES: Final = 5

type Look = Callable[[Membership, datetime], Check]


def readiness_view(member: Membership, found: Sequence[Finding]) -> ReadinessView:
    """`found` is what was looked at of the installation, before the scope opened."""
    now = database_now()
    areas = tuple(
        Area(name=name, told=told, checks=tuple(look(member, now) for look in looks))
        for name, told, looks in AREAS
    )
    if found:  # whoever may know how the installation is
        areas = (*areas, _installation())
    rows = tuple(map(finding_row, found))
    states = [one.state for area in areas for one in area.checks]
    states += [row.state for row in rows]
    grade, answer = _grade(states)
    return ReadinessView(
        now=now,
        grade=grade,
        answer=answer,
        areas=areas,
        findings=rows,
        system_href=address("system", member.slug),
    )


def _grade(states: Sequence[str]) -> tuple[str, str]:
    failed, warned = states.count("failed"), states.count("warning")
    if failed:
        return "not", f"Not ready: {failed} of {len(states)} checks failed."
    if warned:
        return "nearly", f"Nearly ready: {warned} of {len(states)} want attention."
    return "ready", f"Ready: all {len(states)} checks are well."


def _owners(member: Membership, now: datetime) -> Check:
    count = active_owners(member.tenant_id).count()
    return Check(
        name="Owners",
        state="ok" if count > 1 else "warning",
        found=f"{count} may give rights away",
        advice="Make a second person owner, so that nobody is locked out.",
        href=address("people", member.slug),
    )


def _solo(member: Membership, now: datetime) -> Check:
    alone = Tenant.objects.filter(id=member.tenant_id, solo=True).exists()
    return Check(
        name="Four eyes",
        state="failed" if alone else "ok",
        found="one person may own and approve" if alone else "nobody approves alone",
        advice="Add a second member: the waiver then ends for good.",
        href=address("people", member.slug),
    )


def _factors(member: Membership, now: datetime) -> Check:
    """Whoever may change rights by a password; who has no second factor is named.

    Whoever comes by the tenant's provider alone has theirs there, where we do not see it.
    """
    proofs = Authenticator.objects.filter(
        user_id=OuterRef("user_id"), type__in=SECOND_FACTORS
    )
    rows = password_members(member.tenant_id).filter(role__in=ADMINISTRATORS)
    without = rows.filter(~Exists(proofs)).select_related("user")
    names = [one.name for one in without.order_by("name")]
    return Check(
        name="Second factors",
        state="warning" if names else "ok",
        found=_listed(
            names, "without one: ", "whoever administers by password has one"
        ),
        advice="Each adds one under Security, in the menu of their name.",
        href=address("people", member.slug),
    )


def _second_admin(member: Membership, now: datetime) -> Check:
    asked = Tenant.objects.filter(id=member.tenant_id, second_admin=True).exists()
    return Check(
        name="Policies take two",
        state="ok" if asked else "warning",
        found="another admin publishes" if asked else "their author publishes alone",
        advice="An owner asks for a second admin on the page Policies.",
        href=address("policies", member.slug),
    )


def _deciders(member: Membership, now: datetime) -> Check:
    """Each queue needs somebody who decides, and rather two."""
    queues = list(Queue.objects.order_by("slug").values_list("id", "name"))
    held = how_many_hold(tenant_id=member.tenant_id, permission="decide")
    none = [name for id, name in queues if id not in held]
    one = [name for id, name in queues if held.get(id) == 1]
    if not queues:
        return _deciding(member, "warning", "no queue yet")
    if none:
        return _deciding(member, "failed", _listed(none, "nobody decides on ", ""))
    if one:
        return _deciding(member, "warning", _listed(one, "one person alone on ", ""))
    return _deciding(member, "ok", f"two or more on each of {len(queues)} queues")


def _deciding(member: Membership, state: str, found: str) -> Check:
    return Check(
        name="Deciders",
        state=state,
        found=found,
        advice="Give a group the right to decide, and put two people into it.",
        href=address("queues", member.slug),
    )


def _policies(member: Membership, now: datetime) -> Check:
    count = Policy.objects.exclude(current=None).count()
    return Check(
        name="Policies",
        state="ok" if count else "warning",
        found=f"{count} in force" if count else "none in force: one person for all",
        advice="Say who must agree to what; the page tries it on what was asked.",
        href=address("policies", member.slug),
    )


def _tools(member: Membership, now: datetime) -> Check:
    rows = Tool.objects.filter(reviewed=False, enabled=True).order_by("name")
    names = list(rows.values_list("name", flat=True)[: MOST_NAMES + 1])
    return Check(
        name="Tools",
        state="warning" if names else "ok",
        found=_listed(names, "nobody has reviewed ", "each was reviewed"),
        advice="Say what each takes and how risky it is.",
        href=address("tools", member.slug),
    )


def _agents(member: Membership, now: datetime) -> Check:
    """Each has somebody who may act and answers for it."""
    live = active_members(member.tenant_id).filter(id=OuterRef("member_id"))
    owned = AgentOwner.objects.filter(agent_id=OuterRef("id"), until=None)
    rows = Agent.objects.filter(enabled=True).exclude(
        Exists(owned.filter(Exists(live)))
    )
    names = list(rows.order_by("name").values_list("name", flat=True)[: MOST_NAMES + 1])
    return Check(
        name="Agents",
        state="failed" if names else "ok",
        found=_listed(names, "nobody answers for ", "somebody answers for each"),
        advice="Name an owner who is active.",
        href=address("agents", member.slug),
    )


def _keys(member: Membership, now: datetime) -> Check:
    rows = ApiKey.objects.filter(revoked_at=None, agent__enabled=True)
    said: dict[str, int] = rows.aggregate(
        live=Count("id", filter=Q(expires_at=None) | Q(expires_at__gt=now)),
        endless=Count("id", filter=Q(expires_at=None)),
    )
    return Check(
        name="Keys",
        state="warning" if said["endless"] else "ok",
        found=f"{said['endless']} of {said['live']} never end",
        advice="Rotate them to keys that end, and keep the rotation going.",
        href=address("agents", member.slug),
    )


def _verified(member: Membership, now: datetime) -> Check:
    last = Verification.objects.exclude(ended_at=None).order_by("-ended_at").first()
    state, found = "warning", "nobody has had it read yet"
    if last is not None and last.ended_at is not None:
        old = now - last.ended_at > FRESH
        broken = last.state == Verification.State.BROKEN
        state = "failed" if broken else "warning" if old else "ok"
        found = f"{last.state} on {last.ended_at:%Y-%m-%d}"
    return Check(
        name="Log verified",
        state=state,
        found=found,
        advice="Verify it each week, on the page Audit log or by verify_audit.",
        href=address("audit", member.slug),
    )


def _anchored(member: Membership, now: datetime) -> Check:
    last = next(iter(reversed(newest_anchors(member.tenant_id))), None)
    old = last is None or now - datetime.fromisoformat(last.at) > ANCHORED
    return Check(
        name="Log anchored",
        state="warning" if old else "ok",
        found=f"entry {last.seq:,} on {last.at[:10]}" if last else "never",
        advice="Let beat run, and copy anchors.ndjson off the machine.",
        href=address("audit", member.slug),
    )


def _retention(member: Membership, now: datetime) -> Check:
    kept = Retention.objects.exists()
    return Check(
        name="Retention",
        state="ok" if kept else "warning",
        found="terms are set" if kept else "what sessions hold is kept for ever",
        advice="Set terms: manage.py retention.",
    )


def _drilled(member: Membership, now: datetime) -> Check:
    report = last_report()
    failed = report.how_many("failed") if report else 0
    old = report is None or now - datetime.fromisoformat(report.at) > DRILLED
    return Check(
        name="Drill",
        state="failed" if failed else "warning" if old else "ok",
        found=f"{report.at[:10]}, {failed} failed" if report else "none was held yet",
        advice="Hold one, with a restored backup: manage.py drill.",
        href=address("drills", member.slug),
    )


AREAS: Final[tuple[tuple[str, str, tuple[Look, ...]], ...]] = (
    (
        "People",
        "Who may change rights, and who decides.",
        (_owners, _solo, _factors, _deciders),
    ),
    (
        "What is asked",
        "Policies, tools, and the agents that use them.",
        (_policies, _second_admin, _tools, _agents, _keys),
    ),
    (
        "The record",
        "That it can be relied on, and is kept no longer than it must be.",
        (_verified, _anchored, _retention, _drilled),
    ),
)


def _installation() -> Area:
    return Area(
        name="The installation",
        told="How it is reached, and where its data is.",
        checks=tuple(_settings()),
    )


def _settings() -> Iterator[Check]:
    parts: Any = urlsplit(settings.BASE_URL)
    secure = parts.scheme == "https"
    yield Check(
        name="HTTPS",
        state="ok" if secure else "failed",
        found=f"people come by {parts.scheme}",
        advice="Put a proxy with a certificate before it; set KEYTURN_BASE_URL.",
    )
    yield Check(
        name="Database of its own",
        state="warning" if settings.EMBEDDED else "ok",
        found="embedded" if settings.EMBEDDED else "by DATABASE_URL",
        advice="Use a server that is backed up and watched, by DATABASE_URL.",
    )


def _listed(names: Sequence[str], before: str, otherwise: str) -> str:
    """The first few of them by name."""
    if not names:
        return otherwise
    more = ", and more" if len(names) > MOST_NAMES else ""
    return f"{before}{', '.join(names[:MOST_NAMES])}{more}"
