"""The list of policies, and one of them. All inside the tenant's scope."""

from collections.abc import Mapping
from typing import Any, Final

from django.db.models import FETCH_RAISE, QuerySet
from django.urls import reverse

from approvals.access import eligible_people
from approvals.models import Policy, PolicyDraft, PolicyRevision, Queue
from approvals.pages.viewer import Viewer
from approvals.policy import Rule
from approvals.policy.obligation import Verdict
from approvals.presentation.shell import Empty, Notice
from approvals.queries import queue_for
from approvals.services.policies import asks_for_second_admin
from approvals.services.policy_drafts import standing
from kernel.clock import database_now
from kernel.problems import NOT_FOUND
from oversight.pages.policy_names import policy_names
from oversight.presentation.lines import lines_between
from oversight.presentation.policy import (
    Comparison,
    Difference,
    Matching,
    PoliciesView,
    PolicyDraftBox,
    PolicyRow,
    PolicyView,
    RevisionRow,
    RuleRow,
    TrialUnderWay,
    TrialView,
)
from oversight.presentation.policy_words import (
    LABELS,
    Names,
    definition_words,
    rule_words,
)
from oversight.presentation.selector_words import selector_words
from tenants.models import Role

MOST: Final = 200
OPEN: Final = PolicyDraft.State.DRAFT
NONE: Final = Empty(
    title="No policy yet",
    sentence="Without one, one person must agree to every action.",
    icon="policy",
)
SAID_APART: Final = ("verdict", "rules")
ACTIONS: Final = "Which actions"


def policy_place(name: str, slug: str, policy: str = "", query: str = "") -> str:
    """The address of a policy's page."""
    named = {"name": policy} if policy else {}
    return reverse(name, kwargs={"slug": slug, **named}) + query


def policies_view(viewer: Viewer, *, notice: Notice | None = None) -> PoliciesView:
    """All of them, in a few statements however many there are."""
    newest = {
        one.policy_id: one
        for one in PolicyRevision.objects.order_by("policy_id", "-number")
        .distinct("policy_id")
        .select_related("author")
        .fetch_mode(FETCH_RAISE)
    }
    policies = {one.name: one for one in Policy.objects.order_by("name")[:MOST]}
    drafts = set(_open_drafts().values_list("name", flat=True))
    names = policy_names()
    rows = tuple(
        _row(viewer, name, policies.get(name), newest, names, drafted=name in drafts)
        for name in sorted({*policies, *drafts})
    )
    slug, asked = viewer.slug, asks_for_second_admin(viewer.membership.tenant_id)
    owns = viewer.membership.role == Role.OWNER
    return PoliciesView(
        rows=rows,
        now=database_now(),
        second_admin=asked,
        offers_href=policy_place("offers", slug),
        new_href=policy_place("policy_new", slug) if _writes(viewer) else "",
        ask_href=policy_place("policies", slug) if owns and not asked else "",
        empty=None if rows else NONE,
        notice=notice,
    )


def policy_view(
    viewer: Viewer,
    name: str,
    *,
    revision: str = "",
    against: str = "",
    notice: Notice | None = None,
    trial: TrialView | TrialUnderWay | None = None,
) -> PolicyView:
    """One policy: a revision of it, its history and its draft. Raises `not_found`."""
    policy = Policy.objects.filter(name=name).first()
    draft = open_draft(name)
    if policy is None and draft is None:
        raise NOT_FOUND()
    revisions = _revisions(policy) if policy else {}
    current = policy.current if policy else None
    usual = revisions.get(current or 0) or next(iter(revisions.values()), None)
    shown = _chosen(revisions, revision) or usual
    other, names = _chosen(revisions, against), policy_names()
    definition = shown.definition if shown else None
    in_force = revisions.get(current or 0)
    slug = viewer.slug
    return PolicyView(
        name=name,
        revision=shown.number if shown else None,
        state="on" if shown and shown.number == current else "off",
        verdict=definition["verdict"] if definition else "",
        summary=definition.get("summary", "") if definition else "",
        list_href=policy_place("policies", slug),
        href=policy_place("policy", slug, name),
        act_href=policy_place("policy_act", slug, name),
        now=database_now(),
        matching=_matching(definition) if definition else None,
        rules=_rules(definition, names) if definition else (),
        rest=_rest(definition, names) if definition else (),
        history=_history(viewer, name, revisions, shown, current),
        second_admin=asks_for_second_admin(viewer.membership.tenant_id),
        seen=standing(name),
        acts=_acts(viewer, in_force, draft),
        edit_href=policy_place("policy_edit", slug, name) if _writes(viewer) else "",
        draft=_draft(viewer, draft, in_force, names) if draft else None,
        comparison=_compared(other, shown, names) if other and shown else None,
        trial=trial,
        notice=notice,
    )


def open_draft(name: str) -> PolicyDraft | None:
    """What is being written of that policy, with its author."""
    return _open_drafts().filter(name=name).select_related("author").first()


def known_name(name: str) -> bool:
    """Whether there is such a policy, or a draft of one."""
    return Policy.objects.filter(name=name).exists() or open_draft(name) is not None


def standing_definition(name: str) -> Mapping[str, Any] | None:
    """What is being written, else what is in force, else what was said last."""
    draft = open_draft(name)
    if draft is not None and draft.definition is not None:
        return dict(draft.definition)
    rows = PolicyRevision.objects.filter(policy__name=name).select_related("policy")
    revisions = list(rows.order_by("-number")[:MOST])
    chosen = [one for one in revisions if one.number == one.policy.current]
    return dict((chosen or revisions)[0].definition) if revisions else None


def comparison(
    title: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    names: Names,
) -> Comparison:
    """Two definitions, in words and line by line; None is no policy."""
    return Comparison(
        title=title,
        differences=differences(_in_words(before, names), _in_words(after, names)),
        lines=lines_between(before or {}, after or {}),
    )


def differences(
    before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[Difference, ...]:
    """Where two sayings differ, in the order of the labels."""
    order = dict.fromkeys([*before, *after])
    return tuple(
        Difference(
            label=LABELS.get(name, name),
            before=before.get(name, ""),
            after=after.get(name, ""),
            is_code=name == ACTIONS,
        )
        for name in order
        if before.get(name, "") != after.get(name, "")
    )


def _in_words(definition: Mapping[str, Any] | None, names: Names) -> dict[str, str]:
    if definition is None:
        return {}
    code = _matching(definition).code
    about = {"In a sentence": definition.get("summary", ""), ACTIONS: code}
    return about | definition_words(definition, names)


def _writes(viewer: Viewer) -> bool:
    return viewer.membership.administers


def _open_drafts() -> QuerySet[PolicyDraft]:
    return PolicyDraft.objects.filter(state=OPEN)


def _row(
    viewer: Viewer,
    name: str,
    policy: Policy | None,
    newest: Mapping[Any, PolicyRevision],
    names: Names,
    *,
    drafted: bool,
) -> PolicyRow:
    last = newest.get(policy.id) if policy else None
    definition = last.definition if last else None
    return PolicyRow(
        name=name,
        href=policy_place("policy", viewer.slug, name),
        summary=definition.get("summary", "") if definition else "",
        matching=_matching(definition) if definition else None,
        verdict=definition["verdict"] if definition else "",
        who=definition_words(definition, names).get("rules", "") if definition else "",
        state="on" if policy and policy.current else "off",
        revision=last.number if last else None,
        at=last.created_at if last else None,
        by=_author(last) if last else "",
        draft=drafted,
    )


def matching(code: str) -> Matching:
    """A selector in words, where it has some, and as it is."""
    return Matching(words=selector_words(code), code=code)


def _matching(definition: Mapping[str, Any]) -> Matching:
    return matching(definition.get("selector", "true"))


def _author(revision: PolicyRevision) -> str:
    return revision.author.name if revision.author else "the console"


def _revisions(policy: Policy) -> dict[int, PolicyRevision]:
    rows = PolicyRevision.objects.filter(policy=policy).order_by("-number")
    people = rows.select_related("author", "cosigned_by")
    return {one.number: one for one in people.fetch_mode(FETCH_RAISE)[:MOST]}


def _chosen(
    revisions: Mapping[int, PolicyRevision], text: str
) -> PolicyRevision | None:
    known = text.isdecimal() and len(text) < 10
    return revisions.get(int(text)) if known else None


def _rules(definition: Mapping[str, Any], names: Names) -> tuple[RuleRow, ...]:
    """The rules, with the people who could answer on the policy's queue now."""
    rules = [Rule.from_json(one) for one in definition.get("rules", ())]
    if not rules and definition["verdict"] == Verdict.REQUIRE_REVIEW:
        rules = [Rule()]
    if not rules or not Queue.objects.exists():
        return ()
    queue = queue_for(definition.get("queue"))
    return tuple(_rule(rule, queue, names) for rule in rules)


def _rule(rule: Rule, queue: Queue, names: Names) -> RuleRow:
    able = len(eligible_people(rule.eligible, queue))
    return RuleRow(
        words=rule_words(rule, names, queue.name),
        able=able,
        enough=able >= rule.approvals,
    )


def _rest(definition: Mapping[str, Any], names: Names) -> tuple[tuple[str, str], ...]:
    said = definition_words(definition, names)
    return tuple(
        (LABELS[name], words) for name, words in said.items() if name not in SAID_APART
    )


def _history(
    viewer: Viewer,
    name: str,
    revisions: Mapping[int, PolicyRevision],
    shown: PolicyRevision | None,
    current: int | None,
) -> tuple[RevisionRow, ...]:
    drafts = PolicyDraft.objects.filter(name=name, revision__isnull=False)
    notes = dict(drafts.values_list("revision", "note"))
    href = policy_place("policy", viewer.slug, name)
    return tuple(
        RevisionRow(
            number=number,
            href=f"{href}?revision={number}",
            at=one.created_at,
            author=_author(one),
            cosigned_by=one.cosigned_by.name if one.cosigned_by else "",
            note=notes.get(number, ""),
            shown=one is shown,
            in_force=number == current,
            diff_href=f"{href}?revision={number}&against={number - 1}"
            if number - 1 in revisions
            else "",
        )
        for number, one in revisions.items()
    )


def _acts(
    viewer: Viewer, in_force: PolicyRevision | None, draft: PolicyDraft | None
) -> tuple[tuple[str, str], ...]:
    if in_force is None or not _writes(viewer):
        return ()
    alone = in_force.author_id in {None, viewer.id} or in_force.cosigned_by_id
    cosign = () if alone else (("cosign", "Cosign"),)
    retire = () if draft else (("retire", "Take out of force"),)
    return (*cosign, *retire)


def _draft(
    viewer: Viewer,
    draft: PolicyDraft,
    in_force: PolicyRevision | None,
    names: Names,
) -> PolicyDraftBox:
    alone = draft.author_id == viewer.id and asks_for_second_admin(
        viewer.membership.tenant_id
    )
    acts = (("publish", "Publish"), ("withdraw", "Withdraw")) if _writes(viewer) else ()
    slug, name = viewer.slug, draft.name
    before = in_force.definition if in_force else None
    return PolicyDraftBox(
        author=draft.author.name if draft.author else "the console",
        note=draft.note,
        retires=draft.definition is None,
        edit_href=policy_place("policy_edit", slug, name) if _writes(viewer) else "",
        try_href=policy_place("policy", slug, name, "?try=500#trial"),
        comparison=comparison("", before, draft.definition, names),
        acts=acts[1:] if alone else acts,
        why_not="Another admin has to publish what you wrote." if alone else "",
    )


def _compared(other: PolicyRevision, shown: PolicyRevision, names: Names) -> Comparison:
    title = f"From revision {other.number} to {shown.number}"
    return comparison(title, other.definition, shown.definition, names)
