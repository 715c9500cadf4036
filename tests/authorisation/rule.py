"""Who may do what about a request, in a page: the oracle, which knows no code of ours.

seen        nobody finds what is on a queue that they do not see: owners, admins and
            auditors see all, others by the right `view`. Else: not_found.
rights      each act takes a right of its own on the queue, whatever the role; saying
            something takes none, and taking one's own answer back. Else: not_permitted.
own side    whoever is on the side that asks turns no key, edits nothing and breaks no
            glass, and does not look into one. Else: own_request.
for others  who answers for somebody is held to all of this for themselves; and whoever
            is away must be a member who decides there, and not on the side that asks.
            An edit is nobody's but one's own. Else: not_standing_in, not_eligible.
"""

from dataclasses import dataclass
from typing import Final

MAY: Final = "may"
HIDDEN: Final = "not_found"
FORBIDDEN: Final = "not_permitted"
OWN: Final = "own_request"
NOT_IN_PLACE: Final = "not_standing_in"
NOT_COUNTED: Final = "not_eligible"

ROLES: Final = ("owner", "admin", "auditor", "reviewer", "developer")
OVERSEERS: Final = frozenset({"owner", "admin", "auditor"})
RIGHTS: Final[dict[str, frozenset[str]]] = {
    "none": frozenset(),
    "view": frozenset({"view"}),
    "blind": frozenset({"decide", "edit_arguments", "resolve", "break_glass"}),
    "decide": frozenset({"view", "decide"}),
    "edit_arguments": frozenset({"view", "edit_arguments"}),
    "decide and edit": frozenset({"view", "decide", "edit_arguments"}),
    "resolve": frozenset({"view", "resolve"}),
    "break_glass": frozenset({"view", "break_glass"}),
}
# Of whom it is true when a request is asked, and of the author of its policy; whoever
# published a policy about it since stands there for what that policy would permit.
SIDE: Final = frozenset(
    {"owner", "former owner", "key creator", "editor", "policy author"}
)
RELATIONS: Final = ("stranger", *sorted(SIDE), "later author")

NEEDS: Final[dict[str, frozenset[str]]] = {
    "comment": frozenset(),
    "snooze": frozenset(),
    "bring back": frozenset(),
    "take back": frozenset(),
    "take": frozenset({"decide"}),
    "assign": frozenset({"decide"}),
    "release": frozenset({"decide"}),
    "reject": frozenset({"decide"}),
    "request changes": frozenset({"decide"}),
    "revoke": frozenset({"decide"}),
    "approve": frozenset({"decide"}),
    "respond": frozenset({"decide"}),
    "edit": frozenset({"decide", "edit_arguments"}),
    "resolve": frozenset({"resolve"}),
    "break glass": frozenset({"break_glass"}),
}
EXCLUDED: Final[dict[str, frozenset[str]]] = {
    "approve": SIDE,
    "respond": SIDE,
    "edit": SIDE - {"editor"},  # who may go on editing
    "break glass": SIDE | {"later author"},
    "look into a broken glass": SIDE,
}
VERBS: Final = (*NEEDS, "look into a broken glass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Who somebody is: `role` is '' for who is no active member."""

    role: str
    rights: str

    @property
    def held(self) -> frozenset[str]:
        return RIGHTS[self.rights]


STANDINGS: Final = (
    *(Standing(role=role, rights=rights) for role in ROLES for rights in RIGHTS),
    Standing(role="", rights="decide and edit"),
)


def expected(verb: str, who: Standing, relation: str) -> str:
    """What that person is answered."""
    if not who.role or not (who.role in OVERSEERS or "view" in who.held):
        return HIDDEN
    if not _has_right(verb, who):
        return FORBIDDEN
    return OWN if relation in EXCLUDED.get(verb, ()) else MAY


def expected_instead(verb: str, who: Standing, relation: str) -> str:
    """What a stranger is answered who may do all there, and answers for that person."""
    if not who.role or verb == "edit":
        return NOT_IN_PLACE
    if relation in SIDE:
        return OWN
    return MAY if "decide" in who.held else NOT_COUNTED


def expected_for(verb: str, who: Standing, relation: str) -> str:
    """What that person is answered, who answers for such a stranger."""
    own = expected(verb, who, relation)
    if own != MAY:
        return own
    if verb == "edit":
        return NOT_IN_PLACE
    return OWN if relation in SIDE else MAY


def _has_right(verb: str, who: Standing) -> bool:
    if verb == "look into a broken glass":
        return who.role in OVERSEERS or bool(who.held & {"decide", "break_glass"})
    return NEEDS[verb] <= who.held
