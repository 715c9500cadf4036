"""Older checkpoints read as newer ones: ordered, pure steps, registered in code.

Nothing here knows rows. Stored bytes are never rewritten: a checkpoint is upgraded each
time that it is restored, and comes out with the same digest each time, in any process.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from kernel.canonical import canonical_bytes, digest
from kernel.json_schema import check_value
from kernel.problems import declare
from kernel.strict_json import Json, parse

CONTENT_DOMAIN: Final = "keyturn/checkpoint-content/v1"
MAX_PAYLOAD: Final = 8 * 1024 * 1024  # bytes
MAX_HEADER: Final = 256 * 1024  # bytes
MANY_STEPS: Final = 10_000

HEADER_INVALID: Final = declare(
    "header_invalid", status=422, title="The checkpoint's header has another form"
)
PAYLOAD_TOO_LARGE: Final = declare(
    "payload_too_large", status=413, title="The checkpoint's payload is too large"
)

_NAMES: Final = {
    "type": "array",
    "maxItems": MANY_STEPS,
    "items": {"type": "string"},
}
_HEADER: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "completed": _NAMES,
        "pending": _NAMES,
        "markers": {"type": "object"},
    },
}


class LadderBroken(ValueError):
    """The steps of a kind of work do not lead from version to version, one way."""


class StepFailed(Exception):
    """A step could not read what was saved, or gives another answer each time."""

    def __init__(self, step: "Step", why: str) -> None:
        super().__init__(f"{step.name} ({step.from_version} to {step.to_version})")
        self.step = step
        self.why = why


@dataclass(frozen=True, slots=True)
class Content:
    """What a step changes: the payload's bytes, and the typed header."""

    payload: bytes
    header: Mapping[str, Json]

    @property
    def digest(self) -> bytes:
        """32 bytes; of equal contents equal ones, whatever process asks."""
        payload = hashlib.sha256(self.payload).hexdigest()
        return digest(CONTENT_DOMAIN, {"header": self.header, "payload": payload})


type Change = Callable[[Content], Content]
"""Pure: what it returns depends on its argument alone. May raise anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From one schema version to the next one that there is."""

    from_version: int
    to_version: int
    name: str
    change: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A step that was taken, with the content's digests before and after it."""

    step: Step
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Registry:
    """The steps of every kind of work, oldest first."""

    _ladders: dict[str, tuple[Step, ...]] = field(default_factory=dict)

    def register(self, kind: str, *steps: Step) -> None:
        """Give a kind of work its whole ladder, once.

        Raises `LadderBroken` for no steps, a second ladder, a gap, or a way back.
        """
        if kind in self._ladders:
            raise LadderBroken(f"{kind!r} has its steps already")
        if not steps:
            raise LadderBroken(f"{kind!r} is given no steps")
        _check_order(kind, steps)
        self._ladders[kind] = steps

    def kinds(self) -> tuple[str, ...]:
        """The kinds of work that have steps, in alphabetical order."""
        return tuple(sorted(self._ladders))

    def steps(self, kind: str) -> tuple[Step, ...]:
        """All steps of a kind of work, oldest first."""
        return self._ladders.get(kind, ())

    def way(
        self, kind: str, found: int, known: Collection[int]
    ) -> tuple[Step, ...] | None:
        """The steps from a version to the newest of `known` that they reach.

        Never empty. None if they reach none, or if no step begins at that version.
        """
        ladder = self.steps(kind)
        following = [step for step in ladder if step.from_version >= found]
        if not following or following[0].from_version != found:
            return None
        ends = [at for at, step in enumerate(following) if step.to_version in known]
        return tuple(following[: ends[-1] + 1]) if ends else None


registry: Final = Registry()
"""The one that restoring asks; modules in `KEYTURN_UPGRADES` add to it at start."""


def upgrade(
    content: Content, steps: Collection[Step]
) -> tuple[Content, tuple[Applied, ...]]:
    """Take the steps in order. Raises `StepFailed`; `content` is left as it is."""
    taken = []
    for step in steps:
        before = content.digest
        content = _take(step, content)
        taken.append(Applied(step=step, before=before, after=content.digest))
    return content, tuple(taken)


def json_step(
    from_version: int,
    to_version: int,
    change: Callable[[dict[str, Any]], dict[str, Any]],
) -> Step:
    """A step on a payload that is a JSON object; its header stays.

    `change` may alter the object that it is given: it is nobody else's. The new payload
    is in canonical form.
    """

    def on_bytes(content: Content) -> Content:
        value: Any = parse(content.payload, limit=MAX_PAYLOAD)
        if not isinstance(value, dict):
            raise TypeError("the payload is no JSON object")
        return Content(canonical_bytes(change(value)), content.header)

    return Step(
        from_version=from_version,
        to_version=to_version,
        name=change.__name__,
        change=on_bytes,
    )


def check_content(content: Content, *, pointer: str = "") -> None:
    """Raises `payload_too_large` (413) or `header_invalid` (422).

    `pointer` leads to the position in the body.
    """
    if len(content.payload) > MAX_PAYLOAD:
        raise PAYLOAD_TOO_LARGE(f"At most {MAX_PAYLOAD} bytes.", f"{pointer}/payload")
    place = f"{pointer}/header"
    if len(canonical_bytes(content.header)) > MAX_HEADER:
        raise HEADER_INVALID(f"At most {MAX_HEADER} bytes.", place)
    check_value(_HEADER, content.header, pointer=place, kind=HEADER_INVALID)


def _check_order(kind: str, steps: tuple[Step, ...]) -> None:
    for step in steps:
        if not 1 <= step.from_version < step.to_version:
            raise LadderBroken(
                f"{kind!r}: {step.name} leads from {step.from_version} to"
                f" {step.to_version}, which is not onwards"
            )
    for one, following in pairwise(steps):
        if following.from_version != one.to_version:
            raise LadderBroken(
                f"{kind!r}: after {one.to_version} comes {following.name}, which begins"
                f" at {following.from_version}"
            )


def _take(step: Step, content: Content) -> Content:
    """Twice, each time from a copy: what is not pure shows, and changes nothing."""
    first, second = (_changed(step, content) for _ in range(2))
    if first.digest != second.digest:
        raise StepFailed(step, "it gives another result each time")
    return first


def _changed(step: Step, content: Content) -> Content:
    header: Any = parse(canonical_bytes(content.header), limit=MAX_HEADER)
    try:
        changed = step.change(Content(content.payload, header))
        check_content(changed)
        changed = Content(memoryview(changed.payload).tobytes(), changed.header)
    except Exception as error:
        # Its message may quote the payload; its type does not.
        raise StepFailed(step, f"it raised {type(error).__name__}") from error
    return changed
