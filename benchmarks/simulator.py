"""What it costs to try a policy on many requests, beside merely reading them."""

from collections.abc import Iterator
from itertools import batched
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Figure, measured

if TYPE_CHECKING:
    from tests.approvals.stage import Stage

REQUESTS = 10_000
BATCH = 1_000
SELECTORS = (
    "tool == 'pay' && double(arguments.amount) >= 1000.0",
    "risk in ['high', 'critical'] && environment == 'production'",
    "has(arguments.urgent) && arguments.urgent",
    "arguments.payee.startsWith('Halden') && double(arguments.amount) > 500.0",
    "has(facts.checked) && facts.checked == true",
)
DRAFT = {
    "verdict": "require_review",
    "selector": "double(arguments.amount) >= 5000.0",
    "rules": [{"approvals": 2}],
}


def simulator(stage: "Stage", count: int) -> list[Figure]:
    """Five policies in force and one draft, over all requests of a fresh tenant."""
    from kernel.scope import tenant_transaction

    _fill(stage)
    for number, selector in enumerate(SELECTORS):
        stage.policy(f"policy-{number}", selector=selector)

    def read(_: int) -> None:
        from approvals.trial import lately

        with tenant_transaction(stage.tenant_id):
            assert len(lately(REQUESTS)) == REQUESTS

    def try_out(_: int) -> None:
        from approvals.trial import lately, prepare, with_draft

        with tenant_transaction(stage.tenant_id):
            sets = with_draft("draft", DRAFT, None)
            prepared = prepare(stage.tenant_id, *sets, lately(REQUESTS))
        trial = prepared.judge()
        assert trial.complete
        assert trial.examined == REQUESTS

    return [
        measured(f"read {REQUESTS:,} requests", read, count=count),
        measured(f"simulate over {REQUESTS:,}", try_out, count=count),
    ]


def _fill(stage: "Stage") -> None:
    """One question that was asked, with others made after its likeness."""
    from approvals.models import Request, Revision
    from kernel.scope import tenant_transaction

    first = stage.ask()
    with tenant_transaction(stage.tenant_id):
        wording = Revision.objects.get(request=first)
    for numbers in batched(range(1, REQUESTS), BATCH, strict=False):
        pairs = [_alike(first, wording, number) for number in numbers]
        with tenant_transaction(stage.tenant_id):
            Request.objects.bulk_create(request for request, _ in pairs)
            Revision.objects.bulk_create(revision for _, revision in pairs)


def _alike(request: Any, revision: Any, number: int) -> tuple[Any, Any]:
    from kernel.ids import new_id

    other = type(request)(**_values(request))
    other.id = new_id()
    wording = type(revision)(**_values(revision))
    wording.id, wording.request_id = new_id(), other.id
    amount = b'"amount":"%d.00"' % number
    wording.envelope = bytes(revision.envelope).replace(b'"amount":"1240.00"', amount)
    return other, wording


def _values(row: Any) -> dict[str, Any]:
    return dict(_columns(row))


def _columns(row: Any) -> Iterator[tuple[str, Any]]:
    for field in row._meta.concrete_fields:
        if field.name != "created_at":
            yield field.attname, getattr(row, field.attname)
