"""Signing in by a provider, step by step, as a browser does."""

from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from tenants.checks import Operator
from tenants.services.single_sign_on import configure
from tests.factories import House
from tests.oversight.sso.provider import CLIENT, SECRET, Provider


def set_up(house: House, provider: Provider, **more: Any) -> None:
    """The house's own provider; whoever is new becomes a member unless said otherwise."""
    configure(
        tenant_id=house.id,
        by=Operator.CONSOLE,
        **{
            "issuer": provider.issuer,
            "client_id": CLIENT,
            "secret": SECRET,
            "groups_claim": "groups",
            "admits": True,
            **more,
        },
    )


def address_of(house: House, rest: str = "") -> str:
    return f"/accounts/sso/{house.tenant.slug}{rest}"


def local(url: str) -> str:
    """The part of an address of ours that a test client asks for."""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def question(browser: Client, path: str) -> str:
    """Where the provider is asked."""
    answer = browser.get(path)
    assert answer.status_code == 302, answer.content.decode()
    return str(answer.headers["Location"])


def arrive(
    house: House,
    provider: Provider,
    browser: Client | None = None,
    rest: str = "",
) -> tuple[Client, Any]:
    """Sign in there as whoever the provider says; the browser, and our last answer."""
    browser = browser or Client()
    came_back = provider.answers(question(browser, address_of(house, rest)))
    return browser, browser.get(local(came_back))


def queue_of(house: House) -> str:
    return f"/t/{house.tenant.slug}/queue"
