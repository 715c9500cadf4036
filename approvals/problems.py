"""The codes with which this app refuses, declared once each."""

from kernel.problems import NOT_FOUND, SECRET_IN_ARGUMENTS, declare

__all__ = ["NOT_FOUND", "SECRET_IN_ARGUMENTS"]

NOT_PENDING = declare(
    "already_decided", status=409, title="This has been decided already"
)
DIGEST_CHANGED = declare(
    "digest_changed", status=409, title="This changed while you were reading"
)
MOVED_ON = declare("moved_on", status=409, title="This changed while you were reading")
EXPIRED = declare("expired", status=409, title="The time to decide is over")
NO_RIGHT = declare("not_permitted", status=403, title="You have no right to do this")
OWN_REQUEST = declare(
    "own_request", status=403, title="Nobody approves their own request"
)
NOT_ELIGIBLE = declare("not_eligible", status=403, title="No rule counts your decision")
NOT_STANDING_IN = declare(
    "not_standing_in", status=403, title="You do not stand in for this person here"
)
DELEGATION_INVALID = declare(
    "delegation_invalid", status=422, title="Nobody can stand in like this"
)
SNOOZE_INVALID = declare(
    "snooze_invalid", status=422, title="This cannot be put aside for so long"
)
NUDGE_INVALID = declare(
    "nudge_invalid", status=422, title="People cannot be reminded like this"
)
ANSWERED_BEFORE = declare(
    "answered_before", status=409, title="You have answered this revision already"
)
NOT_ANSWERED = declare(
    "not_answered", status=409, title="There is no answer of yours to take back"
)
TAKEN_BACK = declare(
    "taken_back", status=409, title="This answer has been taken back already"
)
VERDICT_NOT_ALLOWED = declare(
    "verdict_not_allowed", status=422, title="This answer is not offered here"
)
REASON_NEEDED = declare("reason_needed", status=422, title="A reason is needed")
EVIDENCE_NEEDED = declare(
    "evidence_needed", status=422, title="An outcome needs its proof"
)
REAUTHENTICATE = declare(
    "reauthentication_needed", status=403, title="Sign in again to decide this"
)
RESPONSE_INVALID = declare(
    "response_invalid", status=422, title="The answer does not fit what was asked"
)
ARGUMENTS_UNCHANGED = declare(
    "arguments_unchanged", status=422, title="The arguments are as they were"
)
TOOL_DISABLED = declare("tool_disabled", status=409, title="The tool is switched off")
TOOL_NOT_REVIEWED = declare(
    "tool_not_reviewed", status=409, title="Nobody has reviewed this tool"
)
TOOL_CALL_REPEATED = declare(
    "tool_call_repeated", status=409, title="This tool call was asked about already"
)
RUN_NOT_RUNNING = declare(
    "run_not_running", status=409, title="The run cannot pause now"
)
EFFECT_IN_FLIGHT = declare(
    "effect_in_flight", status=409, title="What an action came to is not known yet"
)
RESOLUTION_UNKNOWN = declare(
    "resolution_unknown", status=422, title="An outcome is confirmed, failed or absent"
)
TOO_LATE = declare("too_late", status=409, title="Too late: executed")
ENVIRONMENT_DIFFERS = declare(
    "environment_differs",
    status=409,
    title="This was asked with a key of another environment",
)
STANDING_REFUSED = declare(
    "standing_refused", status=409, title="Nobody may agree to this beforehand"
)
STANDING_TOO_WIDE = declare(
    "standing_too_wide", status=422, title="This is wider than may be agreed beforehand"
)
TAKEN = declare("taken", status=409, title="Somebody else is on it")
CANNOT_BE_GIVEN = declare(
    "cannot_be_given", status=422, title="They do not decide on this queue"
)
TOO_MANY_VIEWS = declare(
    "too_many_views", status=409, title="There are too many saved views"
)
VIEW_INVALID = declare(
    "view_invalid", status=422, title="This list cannot be saved as a view"
)
COMMENT_INVALID = declare(
    "comment_invalid", status=422, title="A comment has 1 to 4,000 characters"
)
NOT_TOGETHER = declare(
    "not_together", status=422, title="This is decided by itself only"
)
GLASS_SEALED = declare("glass_sealed", status=403, title="No glass can be broken here")
REVIEW_UNKNOWN = declare(
    "review_unknown", status=422, title="It is acknowledged or objected to"
)
REVIEWED_BEFORE = declare(
    "reviewed_before", status=409, title="Somebody has looked into this already"
)
NOT_APPROVED = declare("not_approved", status=409, title="This is not approved")
PAUSE_UNDECIDED = declare(
    "pause_undecided", status=409, title="Other questions of the pause are still open"
)
NOT_REVISABLE = declare(
    "not_revisable", status=409, title="Nobody asked for changes to this"
)
WRONG_MODE = declare(
    "tool_is_managed", status=409, title="Keyturn carries this tool out itself"
)
REFUSED = declare(
    "verification_refused", status=409, title="The action may not happen now"
)
