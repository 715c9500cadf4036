"""What policies call by id: groups, people and queues. Inside the tenant's scope."""

from approvals.models import Queue
from oversight.presentation.policy_words import Names
from tenants.models import Group, Member


def policy_names() -> Names:
    """In three statements. People of the same name are told apart by their address."""
    rows = Member.objects.select_related("user").order_by("user__name", "id")
    users = {one.id: one.user for one in rows}
    called = [str(user) for user in users.values()]
    queues = list(Queue.objects.order_by("name"))
    return Names(
        groups=dict(Group.objects.order_by("name").values_list("id", "name")),
        people={
            id: str(user) if called.count(str(user)) == 1 else f"{user} ({user.email})"
            for id, user in users.items()
        },
        queues={one.slug: one.name for one in queues},
        default_queue=next(
            (one.name for one in queues if one.default), Names().default_queue
        ),
    )
