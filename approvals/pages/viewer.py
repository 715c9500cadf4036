"""Who looks at a page, and what they may do: read once, for all parts of the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from approvals.access import rights, tenant_groups, visible_queues
from tenants.access import Membership
from tenants.models import Member
from tenants.principal import Person


@dataclass(frozen=True)
class Viewer:
    """A member and their rights as of now; inside the tenant's scope only."""

    membership: Membership
    person: Person

    @property
    def id(self) -> UUID:
        return self.membership.member_id

    @property
    def slug(self) -> str:
        return self.membership.slug

    @cached_property
    def member(self) -> Member:
        return Member.objects.get(id=self.id)

    @cached_property
    def sees(self) -> list[UUID]:
        """The queues whose requests the member may see."""
        if self.membership.oversees:
            return visible_queues(self.member)
        return list(self.rights.get("view", ()))

    @cached_property
    def rights(self) -> Mapping[str, frozenset[UUID]]:
        """The queues on which each right is held."""
        return rights(self.membership)

    @cached_property
    def groups(self) -> list[UUID]:
        return tenant_groups(self.membership)

    def rights_on(self, queue_id: UUID) -> frozenset[str]:
        return frozenset(right for right, on in self.rights.items() if queue_id in on)
