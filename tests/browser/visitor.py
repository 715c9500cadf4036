"""One person's browser: signed in or not, watched for what its console says."""

from django.conf import settings
from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page

from tests.factories import Somebody


class Visitor:
    """`broken` gathers script errors and violations of the content security policy."""

    def __init__(
        self, context: BrowserContext, url: str, somebody: Somebody | None
    ) -> None:
        self._context = context
        self.broken: list[str] = []
        if somebody is not None:
            self._sign_in(url, somebody)
        self.page = self.open_page()

    def open_page(self) -> Page:
        """One more tab of the same browser."""
        page = self._context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.broken.append(str(error)))
        page.on("dialog", self._dialog)
        return page

    def close(self) -> None:
        self._context.close()

    def _console(self, message: ConsoleMessage) -> None:
        """Failed loads are the tests' own 4xx; anything else that is an error is ours."""
        said = message.text
        if message.type == "error" and "Failed to load resource" not in said:
            self.broken.append(said)

    def _dialog(self, dialog: Dialog) -> None:
        """Nothing of ours opens one: a text of somebody else's ran as script."""
        self.broken.append(dialog.message)
        dialog.dismiss()

    def _sign_in(self, url: str, somebody: Somebody) -> None:
        """With a session of the server's own making; signing in has its own test."""
        session = somebody.browser().cookies[settings.SESSION_COOKIE_NAME]
        cookie = {"name": session.key, "value": session.value, "url": url}
        self._context.add_cookies([cookie])  # type: ignore[list-item]
