"""Problems: what a door tells its caller when it will not do what was asked.

A problem is RFC 9457's "problem details" as an exception. This module knows no
web framework; each door renders `Problem.document()` with `Problem.status`.
Every code is declared once, so that it means one thing and can be listed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_declared: dict[str, "Kind"] = {}


class Problem(Exception):
    """A refusal that its caller can act upon.

    `code` is stable and for machines; `title` names the kind, `detail` this very
    occurrence, both in words. A declared code brings its status and title along.
    `pointer` is the RFC 6901 JSON Pointer of the place in the request body, where
    there is one. `extra` members join the document as they are and must be JSON.
    Raises LookupError if the code was not declared and no status and title are given.
    """

    def __init__(
        self,
        code: str,
        status: int | None = None,
        title: str | None = None,
        detail: str | None = None,
        pointer: str | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(code, detail, pointer)
        kind = _kind(code, status, title)
        self.code = code
        self.status = kind.status
        self.title = kind.title
        self.detail = detail or f"{kind.title}."
        self.pointer = pointer
        self.extra: Mapping[str, Any] = extra

    def __str__(self) -> str:
        place = f" at {self.pointer!r}" if self.pointer is not None else ""
        return f"{self.code}: {self.detail}{place}"

    def document(self) -> dict[str, Any]:
        """The members of the `application/problem+json` body."""
        place = {} if self.pointer is None else {"pointer": self.pointer}
        return {
            **self.extra,
            "type": f"urn:keyturn:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            **place,
        }


@dataclass(frozen=True, slots=True)
class Kind:
    """A declared code; calling it makes the problem, ready to be raised."""

    code: str
    status: int
    title: str

    def __call__(
        self, detail: str | None = None, pointer: str | None = None, **extra: Any
    ) -> Problem:
        return Problem(self.code, self.status, self.title, detail, pointer, **extra)


def declare(code: str, *, status: int, title: str) -> Kind:
    """Put a code on the list. Raises ValueError if its meaning would become two."""
    kind = Kind(code, status, title)
    if _declared.setdefault(code, kind) != kind:
        raise ValueError(f"The problem code {code!r} already means something else.")
    return kind


def declared() -> tuple[Kind, ...]:
    """Every code that has been declared so far, in alphabetical order."""
    return tuple(_declared[code] for code in sorted(_declared))


def _kind(code: str, status: int | None, title: str | None) -> Kind:
    if status is not None and title is not None:
        return Kind(code, status, title)
    known = _declared.get(code)
    if known is None:
        raise LookupError(f"The problem code {code!r} has not been declared.")
    return Kind(code, status or known.status, title or known.title)


# What any verb may meet; each app declares its own beside what raises them.
BUSY = declare("busy", status=503, title="Too much is happening at once: try again")
NOT_FOUND = declare("not_found", status=404, title="There is no such thing")
LOST_RACE = declare(
    "lost_race", status=409, title="This changed while you were working on it"
)
IDEMPOTENCY_IN_FLIGHT = declare(
    "idempotency_in_flight",
    status=409,
    title="The first request with this idempotency key is still being handled",
)
IDEMPOTENCY_MISMATCH = declare(
    "idempotency_mismatch",
    status=422,
    title="This idempotency key was used with another body",
)
SECRET_IN_ARGUMENTS = declare(
    "secret_in_arguments", status=422, title="The arguments contain a secret"
)
