"""What people answered, and the single-use authority that follows."""

from django.db import models

from approvals.models.delegation import Delegation
from approvals.models.request import Request, Revision
from approvals.models.standing import StandingApproval
from tenants.models import Member, TenantForeignKey, TenantModel

VERDICTS = ["approve", "edit", "reject", "respond", "request_changes"]


class Decision(TenantModel):
    """One person's answer to one revision; without a member, a policy's.

    Given on behalf of somebody else, it is still this person's: they are who may, or may
    not, decide. Dismissed decisions stay, with the reason, and count no more. An approval
    that broke the glass stands for all keys, beside what its person may have answered
    before; `review` is what a second person said of it afterwards. With `standing`, it was
    given beforehand: by that approval's author, the member. What `taken_back_by` somebody
    is dismissed as well, and alone makes room for another answer to the same revision.
    """

    class Verdict(models.TextChoices):
        APPROVE = "approve"
        EDIT = "edit"
        REJECT = "reject"
        RESPOND = "respond"
        REQUEST_CHANGES = "request_changes"

    class Review(models.TextChoices):
        ACKNOWLEDGED = "acknowledged"
        OBJECTED = "objected"

    request = TenantForeignKey(Request, db_index=False)
    revision = TenantForeignKey(Revision, db_index=False)
    member = TenantForeignKey(Member, null=True)
    on_behalf_of = TenantForeignKey(Member, null=True, db_index=False)
    delegation = TenantForeignKey(Delegation, null=True, db_index=False)
    verdict = models.CharField(max_length=16, choices=Verdict)
    digest = models.BinaryField(max_length=32)
    reason = models.TextField(blank=True)
    response = models.JSONField(null=True)
    standing = TenantForeignKey(StandingApproval, null=True)
    waived_solo = models.BooleanField(default=False)
    authentication = models.JSONField(default=dict)
    dismissed_at = models.DateTimeField(null=True)
    dismissed_reason = models.TextField(blank=True)
    taken_back_by = TenantForeignKey(Member, null=True, db_index=False)
    broke_glass = models.BooleanField(default=False)
    review = models.CharField(max_length=12, choices=Review, blank=True)
    reviewed_by = TenantForeignKey(Member, null=True, db_index=False)
    reviewed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "revision", "member", "broke_glass"],
                condition=models.Q(taken_back_by=None),
                name="decision_once_per_person",
            ),
            models.UniqueConstraint(
                fields=["tenant", "revision", "on_behalf_of"],
                condition=models.Q(taken_back_by=None),
                name="decision_once_on_behalf",
            ),
            models.CheckConstraint(
                condition=models.Q(taken_back_by=None)
                | models.Q(
                    models.Q(member__isnull=False, taken_back_by=models.F("member"))
                    | models.Q(
                        on_behalf_of__isnull=False,
                        taken_back_by=models.F("on_behalf_of"),
                    ),
                    dismissed_at__isnull=False,
                    broke_glass=False,
                    standing=None,
                ),
                name="decision_taken_back_by_its_own",
            ),
            models.CheckConstraint(
                condition=models.Q(on_behalf_of=None, delegation=None)
                | models.Q(
                    on_behalf_of__isnull=False,
                    delegation__isnull=False,
                    member__isnull=False,
                )
                & ~models.Q(on_behalf_of=models.F("member")),
                name="decision_behalf_of_another",
            ),
            models.CheckConstraint(
                condition=models.Q(broke_glass=False)
                | models.Q(verdict="approve", member__isnull=False),
                name="decision_glass_is_a_persons",
            ),
            models.CheckConstraint(
                condition=models.Q(review="", reviewed_by=None, reviewed_at=None)
                | models.Q(
                    broke_glass=True,
                    review__in=["acknowledged", "objected"],
                    reviewed_by__isnull=False,
                    reviewed_at__isnull=False,
                )
                & ~models.Q(reviewed_by=models.F("member")),
                name="decision_reviewed_by_another",
            ),
            models.CheckConstraint(
                condition=models.Q(verdict__in=VERDICTS),
                name="decision_verdict_known",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "request"], name="decision_of_request"),
            models.Index(fields=["tenant", "revision"], name="decision_of_revision"),
            models.Index(
                fields=["tenant", "created_at"],
                condition=models.Q(broke_glass=True),
                name="decision_broke_glass",
            ),
        ]


class Grant(TenantModel):
    """The single-use authority to carry out one revision."""

    class State(models.TextChoices):
        LIVE = "live"
        CONSUMED = "consumed"
        REVOKED = "revoked"
        LAPSED = "lapsed"

    request = TenantForeignKey(Request, db_index=False)
    revision = TenantForeignKey(Revision, db_index=False)
    digest = models.BinaryField(max_length=32)
    state = models.CharField(max_length=8, choices=State, default=State.LIVE)
    not_before = models.DateTimeField()
    expires_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)  # expires_at while live
    ended_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "revision"], name="grant_once_per_revision"
            ),
            models.UniqueConstraint(
                fields=["tenant", "request"],
                condition=models.Q(state="live"),
                name="grant_one_live_per_request",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["live", "consumed", "revoked", "lapsed"]),
                name="grant_state_known",
            ),
            models.CheckConstraint(
                condition=models.Q(expires_at__gt=models.F("not_before")),
                name="grant_can_be_used",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(due_at__isnull=False),
                name="grant_due",
            ),
            models.Index(fields=["tenant", "request"], name="grant_of_request"),
        ]
