"""What an API key may be used for. A key without a scope is refused with 403.

Scopes narrow a key; none of them widens what its agent may see, and there is none
for deciding.
"""

from typing import Final

READ: Final = "read"
SESSIONS: Final = "sessions:write"
APPROVALS: Final = "approvals:write"
EFFECTS: Final = "effects:write"

SCOPES: Final = {
    READ: "Read what the agent itself opened: sessions, runs, checkpoints, approvals.",
    SESSIONS: "Open sessions and runs; write items, facts and checkpoints.",
    APPROVALS: "Ask for approval, revise or withdraw what was asked.",
    EFFECTS: "Redeem an approval and report what came of it.",
}
