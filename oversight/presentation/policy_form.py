"""The editor's form: from a definition to texts, and back with what is wrong."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from django.http import QueryDict

from approvals.presentation.lengths import length_words, seconds_in

TIMES: Final = ("decide_within", "use_within", "wait", "reauthentication")
PLAIN: Final = ("summary", "selector", "verdict", "queue", "reason")
NOT_A_NUMBER: Final = "A number from 1 to 20, please."
MOST_RULES: Final = 10
MOST_PEOPLE: Final = 20
CHOICES: Final = ("editor_counts", "break_glass")
CHOSEN: Final = {"": None, "yes": True, "no": False}
STANDING: Final = ("standing_uses", "standing_within", "standing_open")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRule:
    """One rule as it is on the screen; ids as texts."""

    approvals: str = "1"
    denials: str = "1"
    groups: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()

    @classmethod
    def of(cls, rule: Mapping[str, Any]) -> Self:
        eligible = rule.get("eligible", {})
        return cls(
            approvals=str(rule.get("approvals", 1)),
            denials=str(rule.get("denials", 1)),
            groups=frozenset(eligible.get("groups", ())),
            members=frozenset(eligible.get("members", ())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """The whole form as texts. `seen` is the digest of the draft it began with."""

    name: str = ""
    note: str = ""
    seen: str = ""
    summary: str = ""
    selector: str = ""
    verdict: str = "require_review"
    queue: str = ""
    reason: str = ""
    editor_counts: str = ""
    break_glass: str = ""
    decide_within: str = ""
    use_within: str = ""
    wait: str = ""
    reauthentication: str = ""
    standing_uses: str = ""
    standing_within: str = ""
    standing_open: str = ""
    rules: tuple[TypedRule, ...] = ()

    @classmethod
    def of(cls, definition: Mapping[str, Any], **more: str) -> Self:
        """As the form shows a definition; `more` is what stands beside it."""
        said = {True: "yes", False: "no"}
        chosen = {n: said.get(definition.get(n, ""), "") for n in CHOICES}
        times = {n: length_words(definition[n]) for n in TIMES if n in definition}
        texts = {n: str(definition[n]) for n in PLAIN if n in definition}
        return cls(
            **more,
            **texts,
            **times,
            **chosen,
            **_typed_standing(definition.get("standing")),
            rules=tuple(map(TypedRule.of, definition.get("rules", ()))),
        )

    @classmethod
    def read(cls, post: QueryDict) -> Self:
        """What was sent, as it was typed."""
        names = ("name", "note", "seen", *PLAIN, *TIMES, *CHOICES, *STANDING)
        return cls(
            **{name: str(post.get(name, "")).replace("\r\n", "\n") for name in names},
            rules=tuple(_rule(post, at) for at in post.getlist("rule")[:MOST_RULES]),
        )

    def with_another_rule(self) -> Self:
        return replace(self, rules=(*self.rules, TypedRule())[:MOST_RULES])

    def without_rule(self, place: str) -> Self:
        kept = (one for at, one in enumerate(self.rules) if str(at) != place)
        return replace(self, rules=tuple(kept))


@dataclass(kw_only=True)
class Read:
    """A definition, and a sentence for each field that is none."""

    definition: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


def read_definition(typed: Typed) -> Read:
    """What is left empty is not stated. The verb judges the rest."""
    read = Read()
    for name in PLAIN:
        if text := getattr(typed, name).strip():
            read.definition[name] = text
    for name in TIMES:
        _read_length(read, name, getattr(typed, name).strip())
    _read_standing(read, typed)
    rules = [_read_rule(read, at, one) for at, one in enumerate(typed.rules)]
    if rules:
        read.definition["rules"] = rules
    for name in CHOICES:
        chosen = CHOSEN.get(getattr(typed, name))
        if chosen is not None:
            read.definition[name] = chosen
    return read


def field_of(pointer: str | None) -> str:
    """The field that a refusal points at: '/rules/1/approvals' is 'rule-1'."""
    parts = (pointer or "").split("/")[1:]
    if parts[:1] == ["rules"]:
        return f"rule-{parts[1]}" if len(parts) > 1 else "rules"
    return parts[0] if parts else ""


def _rule(post: QueryDict, at: Any) -> TypedRule:
    return TypedRule(
        approvals=str(post.get(f"approvals-{at}", "")),
        denials=str(post.get(f"denials-{at}", "")),
        groups=frozenset(map(str, post.getlist(f"groups-{at}"))),
        members=frozenset(map(str, post.getlist(f"members-{at}"))),
    )


def _read_rule(read: Read, at: int, typed: TypedRule) -> dict[str, Any]:
    rule: dict[str, Any] = {}
    eligible = {"groups": sorted(typed.groups), "members": sorted(typed.members)}
    named = {kind: ids for kind, ids in eligible.items() if ids}
    if named:
        rule["eligible"] = named
    for name in ("approvals", "denials"):
        text = getattr(typed, name).strip()
        if not (re.fullmatch(r"[0-9]{1,2}", text) and 1 <= int(text) <= MOST_PEOPLE):
            read.errors[f"rule-{at}"] = NOT_A_NUMBER
        elif name == "approvals" or text != "1":
            rule[name] = int(text)
    return rule


def _read_length(read: Read, name: str, text: str) -> None:
    if not text:
        return
    if text.lower() in {"none", "0"}:
        read.definition[name] = 0
        return
    seconds = seconds_in(text)
    if isinstance(seconds, str):
        read.errors[name] = seconds
    else:
        read.definition[name] = seconds


def _typed_standing(said: Mapping[str, Any] | None) -> dict[str, str]:
    if not said:
        return {}
    return {
        "standing_uses": str(said["uses"]),
        "standing_within": length_words(said["expires_within"]),
        "standing_open": "\n".join(said.get("open", ())),
    }


def _read_standing(read: Read, typed: Typed) -> None:
    """Nothing typed: nobody agrees beforehand. Half of it is a flaw."""
    uses, within = typed.standing_uses.strip(), typed.standing_within.strip()
    paths = sorted(set(typed.standing_open.split()))
    if not (uses or within or paths):
        return
    seconds = seconds_in(within)
    if not re.fullmatch(r"[1-9][0-9]{0,3}", uses):
        read.errors["standing"] = "Say how many uses at most, from 1 to 1,000."
    elif isinstance(seconds, str):
        read.errors["standing"] = seconds
    else:
        said: dict[str, Any] = {"uses": int(uses), "expires_within": seconds}
        read.definition["standing"] = said | ({"open": paths} if paths else {})
