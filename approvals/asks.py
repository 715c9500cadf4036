"""What an agent asks for, as it comes through any door. Frozen and not yet judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

VERDICTS: Final = ("approve", "edit", "reject", "respond", "request_changes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request for one action. Durations in seconds; they may only shorten.

    With `reviewed_only` a tool that people have not looked at is refused, not registered.
    """

    tool: str
    arguments: Mapping[str, Any]
    target: Any = None
    preconditions: tuple[dict[str, Any], ...] = ()
    explanation: str = ""
    tool_call_id: str | None = None
    context: bytes | None = None  # the digest of a recorded context
    risk: str | None = None
    allowed: Sequence[str] = VERDICTS
    response_schema: Mapping[str, Any] | None = None
    decide_within: int | None = None
    use_within: int | None = None
    reviewed_only: bool = False
