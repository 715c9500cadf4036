"""What people say to each other about a request, without deciding on it."""

from django.db import models

from approvals.models.request import Request
from tenants.models import Member, TenantForeignKey, TenantModel


class Comment(TenantModel):
    """One remark. It never changes, and no agent is shown it."""

    request = TenantForeignKey(Request, db_index=False)
    member = TenantForeignKey(Member)
    text = models.TextField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(text=""), name="comment_says_something"
            )
        ]
        indexes = [
            models.Index(
                fields=["tenant", "request", "created_at"], name="comment_of_request"
            )
        ]
