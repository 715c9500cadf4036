"""A person at a browser, as far as HTTP goes: signs in, looks, and decides.

It takes the doors that people take: the sign-in form with its token, the case's own
page, and the decision from the session with a token of its own.
"""

import re
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import httpx

from config.demo.record import SignIn

_TOKEN: Final = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
# Of a form that gives an answer: one that takes an answer back has a digest as well.
_DIGEST: Final = re.compile(
    r'name="verdict" value="[a-z_]+">\s*'
    r'<input type="hidden" name="digest" value="([0-9a-f]{64})"'
)
_COOKIE: Final = "keyturn_csrf"


class NotAllowedIn(Exception):
    """The sign-in form did not let this person in."""


@dataclass(slots=True)
class Reviewer:
    """One person's browser, in one tenant."""

    http: httpx.Client
    tenant: str

    @classmethod
    def at(cls, url: str, tenant: str) -> Self:
        """A browser that nobody has signed in with yet."""
        # No proxy of the environment's is asked to carry passwords to this machine.
        return cls(httpx.Client(base_url=url, trust_env=False, timeout=30), tenant)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.http.close()

    def sign_in(self, person: SignIn) -> Self:
        """Fill the sign-in form. Raises `NotAllowedIn`."""
        form = self.http.get("/accounts/login/")
        token = _TOKEN.search(form.text)
        if token is None:
            raise NotAllowedIn(f"no sign-in form: {form.status_code}")
        said = {"login": person.email, "password": person.password}
        answer = self.http.post(
            "/accounts/login/", data={**said, "csrfmiddlewaretoken": token[1]}
        )
        if answer.status_code != httpx.codes.FOUND:
            raise NotAllowedIn(f"{person.email}: {answer.status_code}")
        return self

    def digest_on_screen(self, request: str) -> str:
        """The digest that the case's page would send with a decision.

        Raises LookupError when the page offers nothing to decide.
        """
        page = self.http.get(f"/r/{request}", follow_redirects=True)
        shown = _DIGEST.search(page.text)
        if shown is None:
            raise LookupError(f"{page.url} offers no decision: {page.status_code}")
        return shown[1]

    def decide(
        self, request: str, verdict: str, *, digest: str, **more: Any
    ) -> httpx.Response:
        """Answer one revision: the one whose digest was on screen."""
        return self.http.post(
            f"/api/v1/approvals/{request}/decisions",
            json={"verdict": verdict, "digest": digest, **more},
            headers={
                "Keyturn-Tenant": self.tenant,
                "X-CSRFToken": self.http.cookies[_COOKIE],
                "Idempotency-Key": uuid4().hex,
            },
        )
