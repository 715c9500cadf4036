"""A mark is an icon and a word; its tone only repeats in colour what both said."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """`icon` names a symbol of icons.svg; `tone` is '', open, ok, warn, bad or info."""

    icon: str
    word: str
    tone: str = ""


REQUEST: Mapping[str, Mark] = {
    "pending": Mark("pending", "Pending", "open"),
    "changes_requested": Mark("changes", "Changes requested"),
    "approved": Mark("key-turned", "Approved", "ok"),
    "rejected": Mark("reject", "Rejected", "bad"),
    "answered": Mark("answer", "Answered", "info"),
    "expired": Mark("expired", "Expired"),
    "cancelled": Mark("close", "Cancelled"),
    "superseded": Mark("arrow", "Superseded"),
    "consumed": Mark("pass", "Approval used", "ok"),
    "revoked": Mark("undo", "Revoked", "bad"),
    "lapsed": Mark("expired", "Lapsed"),
}

RUN: Mapping[str, Mark] = {
    "running": Mark("runs", "Running", "info"),
    "paused": Mark("pending", "Paused", "open"),
    "resuming": Mark("refresh", "Resuming", "info"),
    "completed": Mark("pass", "Completed", "ok"),
    "failed": Mark("fail", "Failed", "bad"),
    "cancelled": Mark("close", "Cancelled"),
    "needs_attention": Mark("warn", "Needs attention", "warn"),
}

EFFECT: Mapping[str, Mark] = {
    "intended": Mark("pending", "Intended"),
    "started": Mark("effect", "Started", "info"),
    "confirmed": Mark("pass", "Confirmed", "ok"),
    "failed": Mark("fail", "Failed", "bad"),
    "unknown": Mark("unknown", "Unknown", "warn"),
    "absent": Mark("close", "Absent"),
    "needs_attention": Mark("warn", "Needs attention", "warn"),
}

JOB: Mapping[str, Mark] = {
    "queued": Mark("pending", "Queued", "open"),
    "claimed": Mark("hand", "Claimed", "info"),
    "done": Mark("pass", "Done", "ok"),
    "retry": Mark("refresh", "Will retry", "warn"),
    "dead": Mark("fail", "Dead", "bad"),
}

PROVENANCE: Mapping[str, Mark] = {
    "user": Mark("from-user", "User", "claimed"),
    "system": Mark("from-system", "System"),
    "tool": Mark("from-tool", "Tool"),
    "reviewer": Mark("from-reviewer", "Reviewer"),
    "model": Mark("from-model", "Model", "untrusted"),
}

RISK: Mapping[str, Mark] = {
    "low": Mark("risk-low", "Low"),
    "medium": Mark("risk-medium", "Medium"),
    "high": Mark("risk-high", "High"),
    "critical": Mark("risk-critical", "Critical"),
}

VERDICT: Mapping[str, Mark] = {
    "approve": Mark("key-turned", "approved", "accent"),
    "edit": Mark("edit", "edited the arguments"),
    "reject": Mark("reject", "rejected", "bad"),
    "respond": Mark("answer", "answered", "accent"),
    "request_changes": Mark("changes", "asked for changes", "warn"),
}

BREAKING: Mapping[str, Mark] = {"broke_glass": Mark("warn", "broke the glass", "bad")}

DRILL: Mapping[str, Mark] = {
    "passed": Mark("pass", "Passed", "ok"),
    "failed": Mark("fail", "Failed", "bad"),
    "skipped": Mark("close", "Skipped"),
}

FINDING: Mapping[str, Mark] = {
    "ok": Mark("pass", "Well", "ok"),
    "warning": Mark("warn", "Look at it", "warn"),
    "failed": Mark("fail", "Failed", "bad"),
}

WEBHOOK: Mapping[str, Mark] = {
    "on": Mark("live", "On", "ok"),
    "failing": Mark("warn", "Failing", "warn"),
    "off": Mark("close", "Off"),
}

DELIVERY: Mapping[str, Mark] = {
    "queued": Mark("pending", "Queued", "open"),
    "retry": Mark("refresh", "Will retry", "warn"),
    "delivered": Mark("pass", "Delivered", "ok"),
    "dead": Mark("fail", "Given up", "bad"),
    "dropped": Mark("close", "Not sent: over"),
}

POLICY: Mapping[str, Mark] = {
    "deny": Mark("reject", "Denies", "bad"),
    "require_review": Mark("key-waiting", "Asks people", "open"),
    "allow": Mark("policy-pass", "Allows", "ok"),
    "on": Mark("pass", "In force", "ok"),
    "off": Mark("close", "Out of force"),
    "draft": Mark("edit", "Draft", "warn"),
}

SWITCH: Mapping[str, Mark] = {
    "on": Mark("live", "On", "ok"),
    "off": Mark("close", "Stopped", "bad"),
}

MEMBER: Mapping[str, Mark] = {
    "on": Mark("pass", "Active", "ok"),
    "off": Mark("close", "Inactive"),
    "barred": Mark("reject", "Cannot sign in", "bad"),
    "over": Mark("expired", "Time is over"),
}

INVITATION: Mapping[str, Mark] = {
    "open": Mark("clock", "Open"),
    "ended": Mark("expired", "Too old"),
    "void": Mark("close", "Its sender may not invite", "bad"),
}

KEY: Mapping[str, Mark] = {
    "live": Mark("pass", "Live", "ok"),
    "ending": Mark("clock", "Ends", "warn"),
    "expired": Mark("expired", "Expired"),
    "revoked": Mark("undo", "Revoked", "bad"),
}

STANDING: Mapping[str, Mark] = {
    "live": Mark("key-turned", "Stands", "ok"),
    "used_up": Mark("check", "Used up"),
    "expired": Mark("expired", "Expired"),
    "revoked": Mark("undo", "Revoked", "bad"),
    "erased": Mark("close", "Erased"),
}

KINDS: Mapping[str, Mapping[str, Mark]] = {
    "request": REQUEST,
    "run": RUN,
    "effect": EFFECT,
    "job": JOB,
    "provenance": PROVENANCE,
    "risk": RISK,
    "verdict": VERDICT,
    "breaking": BREAKING,
    "drill": DRILL,
    "finding": FINDING,
    "webhook": WEBHOOK,
    "delivery": DELIVERY,
    "policy": POLICY,
    "switch": SWITCH,
    "key": KEY,
    "member": MEMBER,
    "invitation": INVITATION,
    "standing": STANDING,
}


def mark(kind: str, word: str) -> Mark:
    """The mark of a status word. An unlisted word is shown as it is, never hidden."""
    unlisted = Mark("unknown", word.replace("_", " ").capitalize())
    return KINDS[kind].get(word, unlisted)
