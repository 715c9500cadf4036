"""The chain's rows. The app role may read them; only the ledger's functions write."""

from django.db import models

from kernel.ids import new_id


class Entry(models.Model):
    """One thing that happened, as canonical bytes and as a copy to be queried.

    `body`, `prev`, `hash` and `signature` are the evidence (`audit.chain`); the other
    columns repeat what `body` says and prove nothing. No foreign keys: the log
    outlives what it speaks of.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant_id = models.UUIDField()
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    kind = models.CharField(max_length=100)
    actor_type = models.CharField(max_length=40)
    actor_id = models.CharField(max_length=200)
    subject_type = models.CharField(max_length=40)
    subject_id = models.UUIDField(null=True)
    data = models.JSONField()
    body = models.BinaryField()
    prev = models.BinaryField()
    hash = models.BinaryField()
    signature = models.BinaryField()
    key_id = models.CharField(max_length=16)

    class Meta:
        db_table = "audit_entry"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant_id", "seq"], name="audit_entry_seq_unique"
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant_id", "subject_id", "kind"], name="audit_entry_subject"
            ),
            models.Index(fields=["tenant_id", "at"], name="audit_entry_at"),
            models.Index(fields=["tenant_id", "kind", "seq"], name="audit_entry_kind"),
            models.Index(
                fields=["tenant_id", "actor_id", "seq"], name="audit_entry_actor"
            ),
            models.Index(
                fields=["tenant_id", "actor_id", "kind", "seq"],
                name="audit_entry_actor_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.kind}"


class Head(models.Model):
    """The last entry of a tenant's chain; the one row that all its verbs lock."""

    tenant_id = models.UUIDField(primary_key=True)
    seq = models.BigIntegerField()
    hash = models.BinaryField()

    class Meta:
        db_table = "audit_head"

    def __str__(self) -> str:
        return f"{self.tenant_id} at {self.seq}"
