"""From the turned key to the outcome: steps, the four pins, what came of it."""

from dataclasses import dataclass
from datetime import datetime

CHECKS = ("identity", "position", "effects", "authority")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the track. `state` is done, now, bad or '' (not reached)."""

    label: str
    state: str = ""
    at: datetime | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLine:
    """One thing that a check looked at; `held` is None while it is not known."""

    text: str
    held: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPin:
    """One of the four checks. `state` is set, moving, blocked or idle."""

    name: str
    state: str
    lines: tuple[CheckLine, ...] = ()
    sentence: str = ""

    @property
    def word(self) -> str:
        words = {"set": "Passed", "moving": "Checking", "blocked": "Refused"}
        return words.get(self.state, "Not reached")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """One numbered attempt of an effect, or a state it went through."""

    state: str
    at: datetime
    by: str
    recorded: str
    number: int | None = None
    external_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThenNow:
    """A condition as it was when approved and when checked."""

    condition: str
    then: str
    now: str
    holds: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """One thing that happens next, or somebody who was told."""

    icon: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """In the context as `case.progress`.

    `state` is queued, verifying, acting, confirmed, failed, refused, unknown or
    needs_attention. `headline` and `sentence` say what happened and what did not;
    `code` and `refusal_class` (wait, reopen, stop) are set when refused.
    `waits_until` is when the policy's waiting time ends, while it lasts.
    `revoke_href` is set while the grant can still be revoked, `resolve_href` where this
    person may say what came of it; `settled` ends the
    polling that stands in for a lost event stream.
    """

    state: str
    headline: str
    sentence: str
    steps: tuple[Step, ...]
    pins: tuple[CheckPin, ...] = ()
    turn: str = ""
    code: str = ""
    refusal_class: str = ""
    external_id: str = ""
    effect_id: str = ""
    attempts: tuple[AttemptRow, ...] = ()
    then_now: tuple[ThenNow, ...] = ()
    coming: tuple[Next, ...] = ()
    revoke_href: str = ""
    resolve_href: str = ""
    usable_until: datetime | None = None
    waits_until: datetime | None = None
    review_again_href: str = ""

    @property
    def settled(self) -> bool:
        return self.state not in {"queued", "verifying", "acting"}

    @property
    def tone(self) -> str:
        """'' for good, wait while moving, bad when refused or failed, warn otherwise."""
        tones = {"confirmed": "", "failed": "bad", "refused": "bad"}
        return tones.get(self.state, "warn" if self.settled else "wait")
