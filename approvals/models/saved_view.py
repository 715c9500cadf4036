"""Named selections of the queue's list."""

from django.db import models

from tenants.models import Member, TenantForeignKey, TenantModel


class SavedView(TenantModel):
    """One person's view of the list; everybody's where it has no `owner`.

    `query` is the selection as an address has it, read anew each time: what it does not
    know any more narrows nothing. A person's own default goes before everybody's.
    """

    owner = TenantForeignKey(Member, null=True)
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1_000, blank=True)
    default = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "owner", "name"], name="saved_view_name_once"
            ),
            models.UniqueConstraint(
                fields=["tenant", "name"],
                condition=models.Q(owner=None),
                name="saved_view_shared_name_once",
            ),
            models.UniqueConstraint(
                fields=["tenant", "owner"],
                condition=models.Q(default=True),
                name="saved_view_one_default",
            ),
            models.UniqueConstraint(
                fields=["tenant"],
                condition=models.Q(default=True, owner=None),
                name="saved_view_one_shared_default",
            ),
        ]
