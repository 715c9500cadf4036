"""The editor of a policy, as a form. Inside the tenant's scope."""

from collections.abc import Iterable, Mapping
from typing import Final

from approvals.pages.viewer import Viewer
from approvals.policy.selector import VARIABLES
from approvals.services.policy_drafts import standing
from approvals.trial import LIMITS
from oversight.pages.policies import (
    known_name,
    matching,
    open_draft,
    policy_place,
    standing_definition,
)
from oversight.pages.policy_names import policy_names
from oversight.presentation.policy import (
    Choice,
    PolicyForm,
    RuleForm,
    TimeField,
    TrialUnderWay,
    TrialView,
)
from oversight.presentation.policy_form import Typed, TypedRule
from oversight.presentation.policy_words import LABELS, Names
from tenants.models import Member

MOST_PEOPLE: Final = 200
VERDICTS: Final = (
    ("require_review", "People must agree"),
    ("deny", "Refuse at once"),
    ("allow", "Let through"),
)
REASONS: Final = (
    ("", "Not stated: to reject"),
    ("none", "Never"),
    ("on_reject", "To reject"),
    ("always", "For every answer"),
)
COUNTS: Final = (
    ("", "Not stated: for small things"),
    ("yes", "Counts as one who agrees"),
    ("no", "Never counts for the edit"),
)
TIMES: Final = (
    ("decide_within", "1 day", "Then it expires. The shortest of all policies holds."),
    ("use_within", "1 h", "Then the approval lapses. The shortest holds."),
    ("wait", "none", "Time to take an approval back. The longest holds."),
    ("reauthentication", "not asked", "How old a sign-in may be. The shortest holds."),
)
GLASS: Final = (
    ("", "Not stated: the same rules hold"),
    ("yes", "One person may break the glass"),
    ("no", "The same rules hold"),
)
MEANINGS: Final = {
    "tool": "its name",
    "arguments": "arguments.amount, arguments.payee …",
    "target": "whom or what it acts upon",
    "risk": "low, medium, high or critical",
    "environment": "that of the agent’s key",
    "agent": "its name",
    "session": "session.subject: the user served",
    "facts": "facts.checked …: what the run has established",
}


def policy_form(
    viewer: Viewer,
    name: str,
    *,
    typed: Typed | None = None,
    errors: Mapping[str, str] | None = None,
    limit: int = LIMITS[0],
    trial: TrialView | TrialUnderWay | None = None,
) -> PolicyForm:
    """What was typed; or the draft; or what is in force."""
    typed, errors = typed or _begin(name), errors or {}
    slug, names = viewer.slug, policy_names()
    known = bool(name) and known_name(name)
    new = policy_place("policy_new", slug)
    ids = _active()
    return PolicyForm(
        typed=typed,
        name=name,
        action=policy_place("policy_edit", slug, name) if name else new,
        back_href=policy_place("policy", slug, name)
        if known
        else policy_place("policies", slug),
        verdicts=_choices(VERDICTS, typed.verdict),
        queues=_queues(typed.queue, names),
        reasons=_choices(REASONS, typed.reason),
        counts=_choices(COUNTS, typed.editor_counts),
        glass=_choices(GLASS, typed.break_glass),
        limits=_choices(
            [(str(one), f"{one:,} requests") for one in LIMITS], str(limit)
        ),
        times=tuple(_time(*one, typed, errors) for one in TIMES),
        rules=tuple(
            _rule(at, one, names, ids, errors.get(f"rule-{at}", ""))
            for at, one in enumerate(typed.rules)
        ),
        variables=tuple((one, MEANINGS[one]) for one in VARIABLES),
        matching=matching(typed.selector or "true"),
        errors=errors,
        # A name that is given has no field of its own.
        error=errors.get("", errors.get("name", "") if name else ""),
        selector_error=errors.get("selector", ""),
        trial=trial,
    )


def _begin(name: str) -> Typed:
    if not name:
        return Typed()
    draft, definition = open_draft(name), standing_definition(name)
    note = draft.note if draft else ""
    if definition is None:
        return Typed(name=name, seen=standing(name), note=note)
    return Typed.of(definition, name=name, seen=standing(name), note=note)


def _choices(known: Iterable[tuple[str, str]], chosen: str) -> tuple[Choice, ...]:
    return tuple(
        Choice(value=value, label=label, chosen=value == chosen)
        for value, label in known
    )


def _queues(chosen: str, names: Names) -> tuple[Choice, ...]:
    """A queue that there is not any more stays to be seen."""
    known = [("", f"The tenant’s default ({names.default_queue})")]
    known += list(names.queues.items())
    if chosen and chosen not in names.queues:
        known.append((chosen, f"{chosen} (there is none)"))
    return _choices(known, chosen)


def _time(
    name: str, placeholder: str, hint: str, typed: Typed, errors: Mapping[str, str]
) -> TimeField:
    return TimeField(
        name=name,
        label=LABELS[name],
        value=getattr(typed, name),
        placeholder=placeholder,
        hint=hint,
        error=errors.get(name, ""),
    )


def _rule(
    at: int, rule: TypedRule, names: Names, active: frozenset[str], error: str
) -> RuleForm:
    groups = {str(id): name for id, name in names.groups.items()}
    people = {str(id): name for id, name in names.people.items()}
    offered = {id: name for id, name in people.items() if id in active}
    return RuleForm(
        at=at,
        approvals=rule.approvals,
        denials=rule.denials,
        groups=_ticks(groups, groups, rule.groups),
        members=_ticks(offered, people, rule.members),
        error=error,
    )


def _ticks(
    offered: Mapping[str, str], known: Mapping[str, str], chosen: frozenset[str]
) -> tuple[Choice, ...]:
    """Whom it names already is there too, also who has gone."""
    gone = sorted(chosen - set(offered))
    shown = dict(offered) | {
        id: f"{known.get(id, 'unknown')} (not active)" for id in gone
    }
    return tuple(
        Choice(value=id, label=name, chosen=id in chosen) for id, name in shown.items()
    )


def _active() -> frozenset[str]:
    rows = Member.objects.filter(active=True, user__is_active=True)
    ids = rows.order_by("name", "id").values_list("id", flat=True)
    return frozenset(map(str, ids[:MOST_PEOPLE]))
