"""What policies call by id: groups, people and queues. Inside the tenant's scope."""

from approvals.models import Queue
from oversight.presentation.policy_words import Names
from tenants.models import Group, Member
from tenants.queries import addresses_of


def policy_names() -> Names:
    """In three statements, or four. People of the same name are told apart by their address."""
    people = list(Member.objects.select_related("user").order_by("name", "id"))
    addresses = addresses_of(people)
    called = [one.name for one in people]
    queues = list(Queue.objects.order_by("name"))
    return Names(
        groups=dict(Group.objects.order_by("name").values_list("id", "name")),
        people={
            one.id: one.name
            if called.count(one.name) == 1
            else f"{one.name} ({addresses[one.id]})"
            for one in people
        },
        queues={one.slug: one.name for one in queues},
        default_queue=next(
            (one.name for one in queues if one.default), Names().default_queue
        ),
    )
