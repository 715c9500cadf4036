"""The agent's steps, one function each: from progress to further progress.

A step may be run again from its beginning, by this process or the next one: what it
says and records has the same key each time, and it starts from what the last
checkpoint knows.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from examples.invoice.actions import CORRECTION, HOLD, Action, choose_action, money
from examples.invoice.comparison import Comparison, compare, duplicate_of
from examples.invoice.documents import DocumentFolder, Invoice, Order
from examples.invoice.progress import Outcome, Progress, Step
from examples.invoice.review import Review
from examples.invoice.safe_xml import DocumentRefused
from examples.invoice.task import Task
from examples.invoice.tool_definitions import VALIDATION_MAX_AGE
from examples.invoice.validation import Validation, validate
from keyturn import Ask, Fact, Precondition
from keyturn.asks import Provenance

type Json = dict[str, Any]

INSTRUCTION = (
    "Please check {invoice} against the order. If something is wrong, prepare the"
    " correction, but do not send it before approval."
)


@dataclass(frozen=True, slots=True)
class Desk:
    """What the steps work with."""

    folder: DocumentFolder
    task: Task
    review: Review

    def tell(self, text: str) -> None:
        self.review.tell(text)


def read(desk: Desk, progress: Progress) -> Progress:
    """Find the invoice and the order it cites; pin both by digest."""
    invoice = desk.folder.invoice(progress.invoice_id)
    order = desk.folder.order(invoice.order_id)
    instruction = INSTRUCTION.format(invoice=invoice.id)
    desk.task.say([_message(instruction), *_reading(invoice, order)], step="read")
    facts = {"instruction": _fact(instruction, "user", "item 1")}
    desk.task.record(facts, stage="comparing", reason=f"read {invoice.id}")
    desk.tell(f"read {invoice.id} and {order.id}, {len(invoice.lines)} lines")
    digests = {invoice.id: invoice.digest, order.id: order.digest}
    return replace(progress, step=Step.COMPARE, order_id=order.id, digests=digests)


def compare_lines(desk: Desk, progress: Progress) -> Progress:
    """Compare the invoice with the order, and with the invoices before it."""
    invoice, order = _documents(desk, progress)
    comparison = compare(order, invoice)
    duplicate = duplicate_of(invoice, desk.folder.invoices_before(invoice))
    result = _compared(comparison, duplicate)
    desk.task.say(
        _call("compare_lines", [invoice.id, order.id], result), step="compare"
    )
    proof = {"reference": f"compare_lines {order.id}", "digest": order.digest}
    facts = {name: _tool_fact(value, **proof) for name, value in result.items()}
    desk.task.record(facts, stage="validating", reason="compared line by line")
    desk.tell(f"{comparison.lines} lines, {len(comparison.findings)} differ")
    return replace(progress, step=Step.VALIDATE, duplicate_of=duplicate)


def validate_invoice(desk: Desk, progress: Progress) -> Progress:
    """Have the validation tool say whether the comparison can be relied on."""
    invoice, order = _documents(desk, progress)
    result = validate(order, invoice)
    said = {"status": result.status, "failed": list(result.failed)}
    desk.task.say(_call("validate_invoice", [invoice.id], said), step="validate")
    desk.task.record(
        _validated(result, invoice), stage="validated", reason=f"{result.checks} checks"
    )
    desk.tell(f"validation {result.status} {', '.join(result.failed)}".rstrip())
    return replace(progress, step=Step.PAUSE, validation_status=result.status)


def pause(desk: Desk, progress: Progress) -> Progress:
    """Ask for the one action that this invoice calls for, if it calls for any."""
    invoice, order = _documents(desk, progress)
    if progress.validation_status != "passed":
        return _ended(progress, Outcome(result="invalid"))
    comparison = compare(order, invoice)
    action = choose_action(invoice, comparison, progress.duplicate_of)
    if action is None:
        return _ended(progress, Outcome(result="matches"))
    facts = {
        _DONE_FACT[action.tool]: _tool_fact(False, reference="nothing sent yet"),
        "supplier_agrees": _fact("probably", "model", ""),
    }
    desk.task.record(facts, stage="awaiting_approval", reason=f"wants {action.tool}")
    asked = replace(progress, step=Step.ACT, action=action)
    desk.task.pause(asked, _request(desk, action))
    desk.tell(f"paused before {action.tool}")
    return asked


def act(desk: Desk, progress: Progress) -> Progress:
    """Wait for people, and let the action happen if they agree."""
    assert progress.action is not None
    outcome = desk.review.until_settled(
        _call_id(desk, progress.action), lambda: _keep_fresh(desk, progress)
    )
    desk.tell(f"{outcome.result} {outcome.external_id or outcome.detail}".rstrip())
    return _ended(progress, outcome)


def finish(desk: Desk, progress: Progress) -> Progress:
    """Record how it ended, and complete the run."""
    outcome = progress.outcome
    assert outcome is not None
    facts = {"outcome": _tool_fact(outcome.result, reference=progress.invoice_id)}
    if outcome.external_id and progress.action:
        facts |= {
            _DONE_FACT[progress.action.tool]: _tool_fact(
                True, reference=outcome.detail or progress.invoice_id
            ),
            "external_id": _tool_fact(
                outcome.external_id, reference=outcome.detail or progress.invoice_id
            ),
        }
    desk.task.record(facts, stage="done", reason=outcome.detail or outcome.result)
    desk.task.complete(outcome.fields())
    return progress


STEPS: dict[Step, Callable[[Desk, Progress], Progress]] = {
    Step.READ: read,
    Step.COMPARE: compare_lines,
    Step.VALIDATE: validate_invoice,
    Step.PAUSE: pause,
    Step.ACT: act,
    Step.FINISH: finish,
}

_DONE_FACT = {CORRECTION: "correction_sent", HOLD: "payment_held"}


def _documents(desk: Desk, progress: Progress) -> tuple[Invoice, Order]:
    """The same two documents that were read, or a refusal."""
    invoice = desk.folder.invoice(progress.invoice_id)
    order = desk.folder.order(progress.order_id)
    for document in (invoice, order):
        if document.digest != progress.digests[document.id]:
            raise DocumentRefused("changed", f"{document.id} changed while in work")
    return invoice, order


def _keep_fresh(desk: Desk, progress: Progress) -> None:
    """Validate again before the last time is too long ago to act on."""
    validated = desk.task.run().facts["validation_status"]
    if validated.age_seconds < VALIDATION_MAX_AGE / 2:
        return
    invoice, order = _documents(desk, progress)
    result = validate(order, invoice)
    desk.tell(f"validated again: {result.status}")
    desk.task.record(
        _validated(result, invoice),
        stage="awaiting_approval",
        reason="the last validation grows old",
        again=True,
    )


def _validated(result: Validation, invoice: Invoice) -> dict[str, Fact]:
    fact = _tool_fact(
        result.status, reference="validate_invoice", digest=invoice.digest
    )
    return {"validation_status": fact}


def _ended(progress: Progress, outcome: Outcome) -> Progress:
    return replace(progress, step=Step.FINISH, outcome=outcome)


def _request(desk: Desk, action: Action) -> Ask:
    validated = Precondition(
        field="validation_status", equals="passed", max_age=VALIDATION_MAX_AGE
    )
    return Ask(
        tool=action.tool,
        arguments=dict(action.arguments),
        target=action.target,
        preconditions=[validated],
        explanation=action.explanation,
        tool_call_id=_call_id(desk, action),
    )


def _call_id(desk: Desk, action: Action) -> str:
    return f"{desk.task.name}/{action.tool}"


def _compared(comparison: Comparison, duplicate: str | None) -> Json:
    result = {
        "po_matched": True,
        "lines_compared": comparison.lines,
        "lines_differing": len(comparison.findings),
        "ordered_total": money(comparison.ordered_total),
        "invoiced_total": money(comparison.invoiced_total),
    }
    return result | ({"duplicate_of": duplicate} if duplicate else {})


def _fact(value: Any, provenance: Provenance, reference: str) -> Fact:
    return Fact(value=value, provenance=provenance, reference=reference)


def _tool_fact(value: Any, *, reference: str, digest: str = "") -> Fact:
    evidence = json.dumps([reference, value], sort_keys=True).encode()
    digest = digest or hashlib.sha256(evidence).hexdigest()
    return replace(_fact(value, "tool", reference), evidence_digest=digest)


def _reading(invoice: Invoice, order: Order) -> list[Json]:
    # The sender's note goes into the conversation as what it is: text from outside.
    seen = {"digest": invoice.digest, "lines": len(invoice.lines)}
    seen |= {"supplier_note": invoice.note} if invoice.note else {}
    found = {"digest": order.digest, "lines": len(order.lines)}
    return [
        *_call("read_invoice", [invoice.id], seen),
        *_call("get_purchase_order", [order.id], found),
    ]


def _message(text: str) -> Json:
    return {"type": "message", "role": "user", "content": text}


def _call(tool: str, documents: list[str], output: Json) -> list[Json]:
    call_id = f"{tool}/{documents[0]}"
    arguments = json.dumps({"documents": documents})
    return [
        {
            "type": "function_call",
            "call_id": call_id,
            "name": tool,
            "arguments": arguments,
        },
        {
            "type": "function_call_output",
            "call_id": call_id,
            "output": json.dumps(output, sort_keys=True),
        },
    ]
