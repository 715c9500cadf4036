"""A tenant's groups by name and people by address, for files. Inside the scope."""

from collections.abc import Mapping
from typing import Any

from django.db.models import F

from approvals.management.policy_files import Definition, renamed
from approvals.models import PolicyRevision
from approvals.services.policies import POLICY_INVALID
from tenants.models import Group, Member


class TenantNames:
    """What its groups and members are called, both ways."""

    def __init__(self) -> None:
        members = Member.objects.values_list("user__email", "id")
        self._ids: Mapping[str, dict[str, str]] = {
            "groups": {n: str(id) for n, id in Group.objects.values_list("name", "id")},
            "members": {email: str(id) for email, id in members},
        }

    def id_of(self, kind: str, name: str) -> str:
        """Raises `policy.invalid` (422) for somebody whom there is not."""
        known = self._ids[kind].get(name if kind == "groups" else name.lower())
        if known is None:
            one = "group" if kind == "groups" else "member"
            raise POLICY_INVALID(f"There is no {one} {name}.", "/rules")
        return known

    def name_of(self, kind: str, id: str) -> str:
        """An id that nobody has any more stays as it is."""
        names = {known: name for name, known in self._ids[kind].items()}
        return names.get(id, id)


def exported() -> dict[str, Definition]:
    """The policies in force, with names."""
    names = TenantNames()
    return {
        name: renamed(definition, names.name_of)
        for name, definition in in_force_by_name().items()
    }


def in_force_by_name() -> dict[str, dict[str, Any]]:
    """What each policy in force says, with ids."""
    rows = PolicyRevision.objects.filter(number=F("policy__current"))
    return dict(rows.values_list("policy__name", "definition"))
