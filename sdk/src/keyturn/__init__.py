"""Ask a person before an agent acts.

from keyturn import require_approval

@require_approval(tool="send_payment", risk="high")
def pay(payee: str, amount: str) -> str: ...
"""

from keyturn.acting import Action, current_effect, current_token
from keyturn.asks import Ask, Fact, Position, Precondition
from keyturn.client import AsyncClient, Client
from keyturn.documents import Approval, HandedEffect
from keyturn.errors import (
    Answered,
    ChangesRequested,
    Conflict,
    Delayed,
    DoneAlready,
    Expired,
    InDoubt,
    Invalid,
    KeyReused,
    KeyturnError,
    NotApproved,
    NotAuthenticated,
    NotConfigured,
    NotExact,
    NotFound,
    NothingDone,
    NotNow,
    NotPermitted,
    Paused,
    Refused,
    Rejected,
    TakenBack,
    Unintelligible,
    Unreachable,
    Unreported,
    VerificationRefused,
)
from keyturn.events import Event
from keyturn.gate import require_approval
from keyturn.work import AsyncRun, Run, current_run

__all__ = [
    "Action",
    "Answered",
    "Approval",
    "Ask",
    "AsyncClient",
    "AsyncRun",
    "ChangesRequested",
    "Client",
    "Conflict",
    "Delayed",
    "DoneAlready",
    "Event",
    "Expired",
    "Fact",
    "HandedEffect",
    "InDoubt",
    "Invalid",
    "KeyReused",
    "KeyturnError",
    "NotApproved",
    "NotAuthenticated",
    "NotConfigured",
    "NotExact",
    "NotFound",
    "NotNow",
    "NotPermitted",
    "NothingDone",
    "Paused",
    "Position",
    "Precondition",
    "Refused",
    "Rejected",
    "Run",
    "TakenBack",
    "Unintelligible",
    "Unreachable",
    "Unreported",
    "VerificationRefused",
    "current_effect",
    "current_run",
    "current_token",
    "require_approval",
]
