"""The four answers together, and what follows from them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from approvals.checks.authority import check_authority
from approvals.checks.effects import check_effects
from approvals.checks.identity import check_identity
from approvals.checks.matter import Matter
from approvals.checks.position import check_position
from approvals.checks.recovery import check_recovery
from kernel.outcome import Outcome, Passed, Refused

SEVERITY: Final = {"stop": 0, "reopen": 1, "wait": 2}
CHECKS: Final[dict[str, Callable[[Matter], Outcome]]] = {
    "identity": check_identity,
    "position": check_position,
    "effects": check_effects,
    "authority": check_authority,
}
WAKING: Final = ("identity", "position")


@dataclass(frozen=True, slots=True)
class Verification:
    """The answer of every check, in order, by name."""

    answers: dict[str, Outcome]

    @property
    def refused(self) -> Refused | None:
        """The gravest refusal: what can never pass outweighs what may pass later."""
        refusals = [one for one in self.answers.values() if isinstance(one, Refused)]
        return min(refusals, key=lambda one: SEVERITY[one.klass], default=None)

    def as_json(self) -> list[dict[str, Any]]:
        """The stored form: [{"check", "passed", "code", "reason", "facts"}]."""
        return [_line(name, answer) for name, answer in self.answers.items()]


def verify(matter: Matter) -> Verification:
    """All four checks on live data."""
    return _run(matter, tuple(CHECKS))


def verify_to_wake(matter: Matter) -> Verification:
    """What waking an agent without an action needs: identity and position."""
    return _run(matter, WAKING)


def _run(matter: Matter, names: tuple[str, ...]) -> Verification:
    set_back = check_recovery(matter.tenant)
    if set_back is not None:
        return Verification({"authority": set_back})
    if not matter.envelope.is_intact(bytes(matter.revision.digest)):
        altered = Refused(
            "authority.digest_mismatch",
            "The stored action was altered: it is not what was approved.",
            "stop",
        )
        return Verification({"authority": altered})
    return Verification({name: CHECKS[name](matter) for name in names})


def _line(name: str, answer: Outcome) -> dict[str, Any]:
    if isinstance(answer, Passed):
        detail = dict(answer.detail)
        return {
            "check": name,
            "passed": True,
            "code": "",
            "reason": "",
            "facts": detail,
        }
    return {
        "check": name,
        "passed": False,
        "code": answer.code,
        "reason": answer.reason,
        "facts": dict(answer.detail),
    }
