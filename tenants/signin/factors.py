"""What allauth asks of us about second factors."""

from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from django.utils.html import format_html
from django.utils.safestring import SafeString
from qrcode import QRCode
from qrcode.constants import ERROR_CORRECT_M

from tenants.factors import opened_factor, sealed_factor
from tenants.models import User


class FactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # is untyped
    """Named by the setting MFA_ADAPTER."""

    def encrypt(self, text: str) -> str:
        return sealed_factor(text)

    def decrypt(self, encrypted_text: str) -> str:
        return opened_factor(encrypted_text)

    def build_totp_svg(self, url: str) -> SafeString:
        """The QR code as an element of the page: no image from elsewhere, no style."""
        code = QRCode(error_correction=ERROR_CORRECT_M, border=4)
        code.add_data(url)
        rows = code.get_matrix()
        return format_html(
            '<svg class="qr" viewBox="0 0 {0} {0}" role="img" '
            'aria-label="QR code of the secret"><path d="{1}"/></svg>',
            len(rows),
            _path(rows),
        )

    def generate_authenticator_name(self, user: User, type: Any) -> str:
        return "Passkey"

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """What the browser says whose passkey it is."""
        return {**super().get_public_key_credential_rp_entity(), "name": "Keyturn"}


def _path(rows: list[list[bool]]) -> str:
    """One square for each dark module."""
    return "".join(
        f"M{x} {y}h1v1h-1z"
        for y, row in enumerate(rows)
        for x, dark in enumerate(row)
        if dark
    )
