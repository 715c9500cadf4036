"""What can go wrong, each with a name of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keyturn.documents import Approval


class KeyturnError(Exception):
    """Everything that this package raises."""


# -- Before anything is sent ------------------------------------------------------------


class NotExact(KeyturnError, ValueError):
    """A value has no exact JSON form; `pointer` (RFC 6901) is its place."""

    def __init__(self, pointer: str, why: str) -> None:
        super().__init__(f"{pointer or 'the value'}: {why}")
        self.pointer = pointer


class NotConfigured(KeyturnError):
    """There is no address or no key to use."""


# -- What the server says ---------------------------------------------------------------


class Unreachable(KeyturnError):
    """The server stayed away for longer than the caller was willing to wait."""


class Unintelligible(KeyturnError):
    """The answer does not have the form that this version of the package reads."""


class Refused(KeyturnError):
    """The API refused. `code` is stable; `document` is the whole problem+json.

    `pointer` is the first place in the body that is wrong, or "".
    """

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        self.status = status
        self.document = document
        self.code = str(document.get("code", ""))
        self.pointer = str(document.get("pointer", ""))
        self.detail = str(document.get("detail", ""))
        place = f" at {self.pointer}" if self.pointer else ""
        super().__init__(f"{status} {self.code}{place}: {self.detail}")


class Invalid(Refused):
    """400, 413, 422, 428: what was sent is wrong, and sending it again will not help."""


class NotAuthenticated(Refused):
    """401: the key is unknown, expired or revoked, or its agent is disabled."""


class NotPermitted(Refused):
    """403: the key was not issued for that."""


class NotFound(Refused):
    """404: it does not exist, or not for this agent."""


class Conflict(Refused):
    """409: it is not, or no longer, in a state that allows this."""


class VerificationRefused(Conflict):
    """The action may not happen now: one of the four checks refused. Nothing was sent.

    `refusal_class` is `wait`, `reopen` or `stop`; `checks` has all four answers.
    """

    @property
    def refusal_class(self) -> str:
        return str(self.document.get("class", ""))

    @property
    def checks(self) -> Any:
        return self.document.get("checks")


_BY_STATUS: Mapping[int, type[Refused]] = {
    400: Invalid,
    401: NotAuthenticated,
    403: NotPermitted,
    404: NotFound,
    409: Conflict,
    413: Invalid,
    422: Invalid,
    428: Invalid,
}


def refusal(status: int, document: Any) -> Refused:
    """The exception for an answer that is no success."""
    told = document if isinstance(document, Mapping) else {}
    if status == 409 and told.get("class"):
        return VerificationRefused(status, told)
    return _BY_STATUS.get(status, Refused)(status, told)


# -- What people say --------------------------------------------------------------------


class NotNow(KeyturnError):
    """The action did not happen in this call; `approval` says where it stands."""

    def __init__(self, approval: Approval) -> None:
        super().__init__(self._say(approval))
        self.approval = approval

    @property
    def review_url(self) -> str:
        """Where a person finds it; the link authorises nothing."""
        return self.approval.review_url

    def _say(self, approval: Approval) -> str:
        reason = f": {approval.reason}" if approval.reason else ""
        return f"{approval.tool} is {approval.status}{reason}"


class Paused(NotNow):
    """Nobody has answered yet. The same call with the same key finds the question."""

    def _say(self, approval: Approval) -> str:
        return f"{approval.tool} waits for a person: {approval.review_url}"


class Delayed(Paused):
    """It was approved, and something stands in its way: the cause says what.

    Nothing was done. The same call with the same key goes on.
    """

    def _say(self, approval: Approval) -> str:
        return f"{approval.tool} is approved, and cannot happen yet"


class ChangesRequested(NotNow):
    """A reviewer wants it asked differently: `revise_approval`, or give it up."""


class Answered(NotNow):
    """A reviewer answered instead of letting it happen: `response`."""

    @property
    def response(self) -> Any:
        return self.approval.response


class NotApproved(NotNow):
    """It will not happen."""


class Rejected(NotApproved):
    """A person, or policy, said no; the approval's `reason` may say why."""


class Expired(NotApproved):
    """Nobody decided, or nobody used the approval, in time."""


class TakenBack(NotApproved):
    """It was withdrawn, or its approval was revoked."""


class KeyReused(NotNow):
    """The key, or the `tool_call_id`, already names another question of this run."""

    def _say(self, approval: Approval) -> str:
        return f"{approval.tool_call_id} names another call, of {approval.tool}"


class DoneAlready(NotNow):
    """The action has its outcome from an earlier call: `approval.effect`."""

    def _say(self, approval: Approval) -> str:
        effect = approval.effect
        if effect is None or effect.state != "confirmed":
            return f"{approval.tool} failed in an earlier call; ask with another key"
        named = f" as {effect.external_id}" if effect.external_id else ""
        return f"{approval.tool} was done before{named}; another one needs another key"


class InDoubt(NotNow):
    """An earlier process took this action up and never said what came of it.

    It may have happened. Nothing was done now; when the time to act is over, a person
    is asked to find out.
    """

    def _say(self, approval: Approval) -> str:
        return f"nobody knows what came of {approval.tool}: {approval.review_url}"


_BY_STATE: Mapping[str, type[NotApproved]] = {
    "rejected": Rejected,
    "expired": Expired,
    "lapsed": Expired,
    "cancelled": TakenBack,
    "revoked": TakenBack,
    "superseded": TakenBack,
}


def ending(approval: Approval) -> NotNow | None:
    """The exception for an approval that is not to be redeemed; None if it is."""
    if approval.next == "stop":
        return _BY_STATE.get(approval.status, NotApproved)(approval)
    kinds: Mapping[str, type[NotNow]] = {
        "wait": Paused,
        "revise": ChangesRequested,
        "use_answer": Answered,
        "done": DoneAlready,
    }
    kind = kinds.get(approval.next)
    return kind(approval) if kind else None


# -- What functions say -----------------------------------------------------------------


class NothingDone(KeyturnError):
    """For functions that act to raise: this failed, and certainly changed nothing."""


class Unreported(KeyturnError):
    """The function returned `result`, and the server could not be told so."""

    def __init__(self, approval: Approval, result: Any) -> None:
        super().__init__(f"{approval.tool} was done; its outcome could not be reported")
        self.approval = approval
        self.result = result
