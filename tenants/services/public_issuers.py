"""Providers at which anybody at all makes an account: what they vouch for is no belonging.

Their people enter a tenant by links, each made for one of them.
"""

from typing import Final
from urllib.parse import urlsplit

# By host, or by host and first part of the path where a provider has tenants of its own.
# Microsoft's last one is the tenant of all personal accounts.
PUBLIC: Final = frozenset(
    {
        "accounts.google.com",
        "api.login.yahoo.com",
        "appleid.apple.com",
        "discord.com",
        "gitlab.com",
        "id.twitch.tv",
        "login.microsoftonline.com/common",
        "login.microsoftonline.com/consumers",
        "login.microsoftonline.com/organizations",
        "login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad",
        "login.salesforce.com",
        "login.yahoo.com",
        "slack.com",
        "www.facebook.com",
        "www.linkedin.com",
        "www.paypal.com",
    }
)


def is_public(issuer: str) -> bool:
    """Whether the issuer's people are everybody. For an address that was checked."""
    parts = urlsplit(issuer.lower())
    host = (parts.hostname or "").rstrip(".")
    first = parts.path.strip("/").partition("/")[0]
    return bool({host, f"{host}/{first}"} & PUBLIC)
