"""What is wrong with a body, each flaw at its RFC 6901 pointer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rest_framework.exceptions import ErrorDetail
from rest_framework.settings import api_settings

from kernel.problems import MOST_FLAWS, Problem, declare
from kernel.strict_json import pointer_to

LONGEST: Final = 300

UNKNOWN_FIELD: Final = declare(
    "unknown_field", status=400, title="The body has a field that is not known here"
)
WRONG_TYPE: Final = declare(
    "wrong_type", status=400, title="A value is of another JSON type than expected"
)
INVALID_FIELD: Final = declare(
    "invalid_field", status=400, title="A value is missing or not acceptable"
)
INVALID_PARAMETER: Final = declare(
    "invalid_parameter", status=400, title="A parameter of the URL is not acceptable"
)
_KINDS: Final = {kind.code: kind for kind in (UNKNOWN_FIELD, WRONG_TYPE)}

type Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing wrong: where, what (for machines), and what (for people)."""

    path: Path
    code: str
    detail: str

    def document(self) -> dict[str, str]:
        return {
            "pointer": pointer_to(self.path),
            "code": self.code,
            "detail": self.detail,
        }


def invalid(flaws: Sequence[Flaw]) -> Problem:
    """The first flaw as the problem, with all of them in `errors`."""
    first = flaws[0]
    kind = _KINDS.get(first.code, INVALID_FIELD)
    errors = [flaw.document() for flaw in flaws[:MOST_FLAWS]]
    return kind(first.detail, pointer_to(first.path), errors=errors)


def invalid_parameter(name: str, detail: str) -> Problem:
    """A parameter of the URL, which no pointer can point at."""
    return INVALID_PARAMETER(f"{name}: {detail}", parameter=name)


def flaws_of(detail: Any, path: Path = ()) -> Iterator[Flaw]:
    """Read Django REST framework's nested error details as a flat list."""
    match detail:
        case dict():
            for key, inner in detail.items():
                here = key == api_settings.NON_FIELD_ERRORS_KEY
                yield from flaws_of(inner, path if here else (*path, key))
        case list() if any(isinstance(each, dict | list) for each in detail):
            for position, inner in enumerate(detail):
                yield from flaws_of(inner, (*path, position))
        case list():
            for inner in detail:
                yield from flaws_of(inner, path)
        case ErrorDetail():
            yield Flaw(path, detail.code or "invalid", _short(detail))
        case _:
            yield Flaw(path, "invalid", _short(detail))


def _short(detail: Any) -> str:
    """The words of a field may repeat what was sent: not at length."""
    text = str(detail)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
