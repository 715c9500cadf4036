"""What an API key may be used for. A key without a scope is refused with 403.

Scopes narrow a key; none of those of agents widens what its agent may see, and there is
none for deciding. One is for machines that watch over the tenant, and stands alone.
"""

from typing import Final

READ: Final = "read"
SESSIONS: Final = "sessions:write"
APPROVALS: Final = "approvals:write"
EFFECTS: Final = "effects:write"
AUDIT: Final = "audit:read"

SCOPES: Final = {
    READ: "Read what the agent itself opened: sessions, runs, checkpoints, approvals.",
    SESSIONS: "Open sessions and runs; write items, facts and checkpoints.",
    APPROVALS: "Ask for approval, revise or withdraw what was asked.",
    EFFECTS: "Redeem an approval and report what came of it.",
}
"""Those of agents."""

ALONE: Final = {
    AUDIT: "Read the whole audit log, whoever did it: for a SIEM, in a key of its own.",
}
"""Those that no key has beside another: whoever watches does nothing else."""
