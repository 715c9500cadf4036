"""The answer of a check: a value to be stored and shown, never an exception.

A refusal must commit (it is audited and revokes things), so nothing is raised.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

type RefusalClass = Literal["wait", "reopen", "stop"]
"""What follows from a refusal.

`wait`: nothing changes, try again later. `reopen`: the grant is revoked and the
question is asked anew. `stop`: this can never pass.
"""


@dataclass(frozen=True, slots=True)
class Passed:
    """The check holds. `detail` is the JSON evidence of what was looked at."""

    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refused:
    """The check does not hold.

    `code` is stable and for machines, `reason` one sentence for people, `detail` the
    JSON evidence (what was expected, what was found).
    """

    code: str
    reason: str
    klass: RefusalClass
    detail: Mapping[str, Any] = field(default_factory=dict)


type Outcome = Passed | Refused
