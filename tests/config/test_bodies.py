"""Bodies that no door would read are not taken, announced or not."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from config.bodies import bounded


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Reads its whole body, as Django does, and says how much there was."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message["body"])
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def answer(parts: list[bytes], headers: list[tuple[bytes, bytes]]) -> list[Any]:
    """What is sent back, and how many parts were read for it."""
    arriving: Iterator[tuple[int, bytes]] = iter(enumerate(parts, start=1))
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        number, body = next(arriving)
        return {
            "type": "http.request",
            "body": body,
            "more_body": number < len(parts),
        }

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": headers}
    asyncio.run(bounded(echo, most=10)(scope, receive, send))
    return [sent[0]["status"], sent[1]["body"], len(list(arriving))]


def test_what_fits_passes_untouched() -> None:
    assert answer([b"12345", b"67890"], [])[:2] == [200, b"10"]


@pytest.mark.parametrize(
    ("headers", "left"), [([(b"content-length", b"11")], 3), ([], 0)]
)
def test_what_does_not_fit_is_refused(
    headers: list[tuple[bytes, bytes]], left: int
) -> None:
    """Announced, nothing is read at all; unannounced, nothing beyond the bound."""
    status, body, unread = answer([b"12345", b"67890", b"1"], headers)
    assert (status, unread) == (413, left)
    assert b"body_too_large" in body
