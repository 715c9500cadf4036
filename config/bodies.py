"""No more of a body is taken than any door would read, whoever sends it.

Django keeps a whole body before a view can say that it is not wanted. This stands
before everything, so that strangers cannot fill the disk.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type Application = Callable[[Message, Receive, Send], Awaitable[None]]

MOST: Final = 13 * 1024 * 1024  # bytes: a checkpoint in base64, and what is around it
REFUSAL: Final = (
    b'{"type":"urn:keyturn:problem:body_too_large","title":"The body is too large",'
    b'"status":413,"detail":"No door reads so much.","code":"body_too_large"}'
)


class TooLarge(Exception):
    """More arrived than was announced, or than is taken."""


def bounded(application: Application, *, most: int = MOST) -> Application:
    """The ASGI application, without the bodies that no view would read."""

    async def guarded(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await application(scope, receive, send)
        if announced(scope) > most:
            return await refuse(send)
        try:
            await application(scope, counted(receive, most), send)
        except TooLarge:
            await refuse(send)

    return guarded


def announced(scope: Message) -> int:
    """What `Content-Length` says; 0 where it says nothing that can be understood."""
    told = dict(scope["headers"]).get(b"content-length", b"0")
    return int(told) if told.isdigit() and len(told) < 20 else 0


def counted(receive: Receive, most: int) -> Receive:
    """The same messages, for as long as they are not too many bytes together."""
    taken = 0

    async def counting() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most:
            raise TooLarge
        return message

    return counting


async def refuse(send: Send) -> None:
    """413, and no more reading."""
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(REFUSAL)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": REFUSAL})
