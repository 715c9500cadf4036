"""Problems: what a door tells its caller when it will not do what was asked.

A problem is RFC 9457's "problem details" as an exception. This module knows no
web framework; each door renders `Problem.document()` with `Problem.status`.
Every code is declared once, so that it means one thing and can be listed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

MOST_FLAWS: Final = 20
"""More flaws of one body than this are not listed."""

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

    @property
    def flaws(self) -> list[dict[str, str]]:
        """What is wrong, each with pointer, code and detail; the first is this itself."""
        own = {"pointer": self.pointer or "", "code": self.code, "detail": self.detail}
        return list(self.extra.get("errors", [own]))

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


def with_flaws(first: Problem, flaws: Iterable[dict[str, str]]) -> Problem:
    """The same refusal, with each of these flaws once in `errors`."""
    once = {(one["pointer"], one["detail"]): one for one in flaws}
    errors = list(once.values())[:MOST_FLAWS]
    extra = {**first.extra, "errors": errors}
    said = (first.status, first.title, first.detail, first.pointer)
    return Problem(first.code, *said, **extra)


def check_all(*checks: Callable[[], None]) -> None:
    """Refuse as the first of them that refuses, with what all of them found."""
    found = []
    for check in checks:
        try:
            check()
        except Problem as problem:
            found.append(problem)
    if found:
        raise with_flaws(found[0], [flaw for one in found for flaw in one.flaws])


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
