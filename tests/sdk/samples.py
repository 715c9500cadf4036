"""Documents as the server sends them."""

from typing import Any

AT = "2030-01-01T00:00:00+00:00"


def approval(**members: Any) -> dict[str, Any]:
    """A pending one."""
    return {
        "id": "a",
        "run": "r",
        "session": "s",
        "pause": "p",
        "queue": "default",
        "tool": "pay",
        "mode": "agent",
        "tool_call_id": None,
        "status": "pending",
        "resolved": False,
        "next": "wait",
        "revision": 1,
        "digest": "d",
        "arguments": {},
        "target": None,
        "title": "Pay",
        "explanation": "",
        "risk": "high",
        "reason": "",
        "response": None,
        "effect": None,
        "verification": None,
        "decisions": [],
        "review_url": "https://keyturn.test/r/a",
        "decide_by": AT,
        "use_until": None,
        "created_at": AT,
        "context": None,
        **members,
    }
