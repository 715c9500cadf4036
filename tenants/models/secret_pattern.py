"""What else looks like a credential in this tenant."""

from django.db import models

from tenants.models.base import TenantModel


class SecretPattern(TenantModel):
    """A fixed beginning and, after it, `least` to `most` characters of one alphabet.

    No expression: nobody can write one that takes for ever.
    """

    class Alphabet(models.TextChoices):
        DIGITS = "digits"
        HEX = "hex"
        UPPER = "upper"
        LOWER = "lower"
        ALNUM = "alnum"
        BASE64 = "base64"
        BASE64URL = "base64url"

    kind = models.CharField(max_length=43)
    prefix = models.CharField(max_length=32)
    alphabet = models.CharField(max_length=9, choices=Alphabet)
    least = models.PositiveSmallIntegerField()
    most = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "kind"], name="secret_pattern_once_per_kind"
            ),
            models.CheckConstraint(
                condition=models.Q(least__gte=8, most__gte=models.F("least"))
                & models.Q(most__lte=256),
                name="secret_pattern_is_bounded",
            ),
        ]
