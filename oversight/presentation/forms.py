"""Forms of the administration, as they were typed."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """`errors` has a sentence by field; '' is about none of them alone.

    `act` names the form on a page of several; `ticked` has every value that was sent.
    """

    act: str = ""
    typed: Mapping[str, str] = field(default_factory=dict)
    ticked: frozenset[str] = frozenset()
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of a list: `value` is sent, `text` is read."""

    value: str
    text: str
    chosen: bool = False
