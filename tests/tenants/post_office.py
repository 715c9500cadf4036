"""A real SMTP server on this machine, which keeps what it was given."""

import logging
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, Self

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

logging.getLogger("mail.log").setLevel(logging.WARNING)


class _AnyPort(Controller):
    """On whichever port is free; it is known once somebody listens there."""

    def _trigger_server(self) -> None:
        server: Any = self.server
        self.port = server.sockets[0].getsockname()[1]
        super()._trigger_server()


@dataclass
class PostOffice:
    """`answer` is what it says of each message; what it does not take it forgets."""

    answer: str = "250 OK"
    letters: list[EmailMessage] = field(default_factory=list)
    tried: int = 0
    _closed: bool = False

    async def handle_DATA(self, server: SMTP, session: Session, one: Envelope) -> str:
        self.tried += 1
        if self.answer.startswith("250"):
            content = one.original_content or b""
            letter = message_from_bytes(content, policy=policy.default)
            assert isinstance(letter, EmailMessage)
            letter["Envelope-To"] = ", ".join(one.rcpt_tos)
            self.letters.append(letter)
        return self.answer

    def __enter__(self) -> Self:
        self._controller = _AnyPort(self, hostname="127.0.0.1", port=0)
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Be away from now on."""
        if not self._closed:
            self._controller.stop()
        self._closed = True

    @property
    def port(self) -> int:
        port: int = self._controller.port
        return port

    @property
    def mailers(self) -> dict[str, Any]:
        """For the setting MAILERS."""
        backend = "django.core.mail.backends.smtp.EmailBackend"
        options = {"host": "127.0.0.1", "port": self.port, "timeout": 10}
        return {"default": {"BACKEND": backend, "OPTIONS": options}}

    def to(self, address: str) -> list[EmailMessage]:
        return [one for one in self.letters if one["To"] == address]


def text_of(letter: EmailMessage) -> str:
    return _part(letter, "plain")


def html_of(letter: EmailMessage) -> str:
    return _part(letter, "html")


def _part(letter: EmailMessage, kind: str) -> str:
    part = letter.get_body((kind,))
    assert part is not None
    content: str = part.get_content()
    return content
