"""Users are global sign-in identities; a member is that person in one tenant."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import Group as DjangoGroup
from django.contrib.auth.models import PermissionsMixin
from django.db import models

from kernel.clock import ClockTimestamp
from kernel.ids import new_id
from tenants.models.base import TenantModel


class UserManager(BaseUserManager["User"]):
    """Creates users by e-mail address, which is kept in lower case."""

    def create_user(
        self, email: str, password: str | None = None, **fields: Any
    ) -> "User":
        user = self.model(email=email.lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(
        self, email: str, password: str | None = None, **fields: Any
    ) -> "User":
        return self.create_user(
            email, password, is_staff=True, is_superuser=True, **fields
        )


class User(AbstractBaseUser, PermissionsMixin):
    """A person who can sign in. It grants nothing: members have rights."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=200)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(db_default=ClockTimestamp(), editable=False)

    objects: ClassVar[UserManager] = UserManager()

    EMAIL_FIELD = "email"
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name or self.email


class Role(models.TextChoices):
    OWNER = "owner"
    ADMIN = "admin"
    REVIEWER = "reviewer"
    AUDITOR = "auditor"
    DEVELOPER = "developer"


class Member(TenantModel):
    """A user in a tenant: a name, a role, and object permissions on queues.

    The name is the tenant's own: what the person is called elsewhere stays there.
    """

    name = models.CharField(max_length=200)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    role = models.CharField(max_length=16, choices=Role)
    active = models.BooleanField(default=True)
    until = models.DateTimeField(null=True)  # a guest's end; null: no guest

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "user"], name="member_once_per_tenant"
            ),
            models.CheckConstraint(
                condition=models.Q(until=None) | models.Q(role="auditor"),
                name="member_guest_audits",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.role})"


class Group(TenantModel):
    """A tenant's group, wrapping a Django group with an opaque name.

    Django's groups are global; a readable name there would tell other tenants
    what this one calls its teams.
    """

    name = models.CharField(max_length=100)
    django_group = models.OneToOneField(
        DjangoGroup, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "name"], name="group_name_per_tenant"
            )
        ]

    def __str__(self) -> str:
        return self.name
