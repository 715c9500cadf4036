"""The pages of policies as people use them: read, kept as a draft, acted on."""

from typing import Any

from approvals.models import PolicyRevision
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage
from tests.approvals.views.browsing import Reader

PAYMENTS: dict[str, str] = {
    "verdict": "require_review",
    "summary": "Large payments need two.",
    "selector": "tool == 'pay' && double(arguments.amount) >= 1000.0",
    "decide_within": "4 h",
    "reason": "always",
    "note": "As the board asked.",
    "rule": "0",
    "approvals-0": "2",
    "denials-0": "1",
}


def read(who: Reader, name: str = "payments") -> str:
    """What the forms of the policy's page, or of its editor, carry."""
    context = who.get(f"policies/{name}").context
    shown: str = context["policy"].seen if context and "policy" in context else ""
    return shown


def keep(who: Reader, name: str = "payments", **said: str) -> Any:
    typed = {**PAYMENTS, "seen": read(who, name), **said}
    return who.post(f"policies/{name}/edit", {"act": "keep", **typed})


def act(who: Reader, name: str, seen: str | None = None) -> Any:
    carried = read(who) if seen is None else seen
    return who.post("policies/payments/act", {"act": name, "seen": carried})


def publish(who: Reader, **said: str) -> None:
    assert keep(who, **said).status_code == 302
    assert act(who, "publish").status_code == 302


def stored(stage: Stage) -> list[dict[str, Any]]:
    with tenant_transaction(stage.tenant_id):
        rows = PolicyRevision.objects.order_by("created_at")
        return list(rows.values_list("definition", flat=True))
