"""Signing in with a tenant's own provider: what it may vouch for, and whom it did."""

from django.db import models

from tenants.models.base import TenantForeignKey, TenantModel
from tenants.models.people import Group, Member, Role


class SingleSignOn(TenantModel):
    """A tenant's one OpenID provider. No row: nobody enters that way.

    `sealed` is the client's secret, bound to the issuer: given to another it does not
    open. `admits`: whoever the provider knows becomes a member, with `role`.
    """

    issuer = models.CharField(max_length=500)
    client_id = models.CharField(max_length=255)
    sealed = models.BinaryField()
    groups_claim = models.CharField(max_length=100, blank=True)
    admits = models.BooleanField(default=False)
    role = models.CharField(max_length=16, choices=Role, default=Role.REVIEWER)
    refuses_passwords = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant"], name="single_sign_on_per_tenant")
        ]


class GroupMapping(TenantModel):
    """Whoever the provider says has `value` is in the group, and nobody else is."""

    value = models.CharField(max_length=255)
    group = TenantForeignKey(Group)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "value", "group"], name="group_mapping_once"
            )
        ]


class ExternalIdentity(TenantModel):
    """A person as an issuer names them, who is one member here and nobody elsewhere.

    `email` is what the provider said last. It is for reading, and links nothing.
    `ended_at`: since when it leads to nobody. Such a row stays, so that whoever was
    disconnected is nobody new; connecting them again takes it up.
    """

    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    member = TenantForeignKey(Member)
    email = models.CharField(max_length=254, blank=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "issuer", "subject"],
                condition=models.Q(ended_at=None),
                name="external_identity_once",
            ),
            models.UniqueConstraint(
                fields=["tenant", "member", "issuer"],
                condition=models.Q(ended_at=None),
                name="external_identity_per_member",
            ),
        ]


class JoinLink(TenantModel):
    """A link by which one unknown identity may become one new member, once."""

    digest = models.BinaryField(max_length=32)
    name = models.CharField(max_length=200)
    role = models.CharField(max_length=16, choices=Role)
    created_by = TenantForeignKey(Member, null=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
