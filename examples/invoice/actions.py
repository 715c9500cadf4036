"""What the agent wants to do about an invoice, as exact arguments. Pure.

The texts stand in for a language model's: everything else is taken from documents
that were read and compared, so that a reviewer can check it against them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from examples.invoice.comparison import Comparison, Difference, Finding
from examples.invoice.documents import Invoice, Party

CORRECTION = "send_correction_request"
HOLD = "hold_payment"
MOST_LINES_IN_WORDS = 5
COMPANY = "Fjordline Group, Accounts payable"

type Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One call of a tool; `explanation` is the agent's account and proves nothing."""

    tool: str
    target: str
    arguments: Arguments
    explanation: str

    def fields(self) -> dict[str, Any]:
        return {
            "tool": self.tool,
            "target": self.target,
            "arguments": dict(self.arguments),
            "explanation": self.explanation,
        }


def choose_action(
    invoice: Invoice, comparison: Comparison, duplicate_of: str | None
) -> Action | None:
    """What this invoice calls for; None when it agrees with its order."""
    if duplicate_of:
        return _hold(invoice, duplicate_of)
    return _correction(invoice, comparison) if comparison.findings else None


def reworded(tool: str, arguments: Arguments) -> dict[str, Any] | None:
    """The same action in the agent's next best words, or None when it has none.

    Which wording comes next follows from the present one alone, so that an agent
    that lost its memory in between proposes the same again.
    """
    field, wordings = _WORDINGS[tool]
    texts = [wording(arguments) for wording in wordings]
    tried = texts.index(arguments[field]) if arguments[field] in texts else len(texts)
    left = texts[tried + 1 :]
    return {**arguments, field: left[0]} if left else None


def money(amount: Decimal) -> str:
    """Two decimals at least, and never a rounded one: `-1240.00`, `0.125`."""
    cents = amount.quantize(Decimal("0.01"))
    return str(cents if cents == amount else amount.normalize())


def _correction(invoice: Invoice, comparison: Comparison) -> Action:
    facts = {
        "invoice_id": invoice.id,
        "purchase_order": comparison.order_id,
        "supplier": _supplier(invoice.supplier),
        "lines": [_line(finding) for finding in comparison.findings],
        "currency": invoice.currency,
        "amount_delta": money(comparison.amount_delta),
        "reply_by": invoice.due.isoformat(),
    }
    return Action(
        tool=CORRECTION,
        target=invoice.supplier.email,
        arguments={**facts, "message": _brief_message(facts)},
        explanation=f"{len(comparison.findings)} of {comparison.lines} lines differ"
        f" from {comparison.order_id}. The supplier will probably agree.",
    )


def _hold(invoice: Invoice, duplicate_of: str) -> Action:
    facts = {
        "invoice_id": invoice.id,
        "duplicate_of": duplicate_of,
        "purchase_order": invoice.order_id,
        "supplier": _supplier(invoice.supplier),
        "amount": money(invoice.total),
        "currency": invoice.currency,
    }
    return Action(
        tool=HOLD,
        target=invoice.id,
        arguments={**facts, "reason": _brief_reason(facts)},
        explanation=f"{invoice.id} charges for the same lines as {duplicate_of}.",
    )


def _supplier(supplier: Party) -> dict[str, str]:
    return {"id": supplier.id, "name": supplier.name, "email": supplier.email}


def _line(finding: Finding) -> dict[str, Any]:
    line = {
        "line": finding.line,
        "item": finding.item,
        "quantity": _number(finding.invoiced_quantity),
        "ordered_unit_price": money(finding.ordered_unit_price),
        "invoiced_unit_price": money(finding.invoiced_unit_price),
    }
    if finding.differences == (Difference.PRICE,):
        return line
    return line | {"ordered_quantity": _number(finding.ordered_quantity)}


def _number(quantity: Decimal) -> int | float:
    # Four decimals and twelve digits at most: a double holds such a number exactly.
    return int(quantity) if quantity == int(quantity) else float(quantity)


def _brief_message(arguments: Arguments) -> str:
    return (
        f"Hello, please check invoice {arguments['invoice_id']} against our purchase"
        f" order {arguments['purchase_order']} and answer by {_day(arguments)}."
        f" Thank you, {COMPANY}"
    )


def _full_message(arguments: Arguments) -> str:
    named = arguments["lines"][:MOST_LINES_IN_WORDS]
    more = len(arguments["lines"]) - len(named)
    return (
        f"Hello, on invoice {arguments['invoice_id']}"
        f" {'; '.join(_in_words(line, arguments['currency']) for line in named)}."
        f"{f' {more} more lines differ.' if more else ''}"
        f" This is not what our purchase order {arguments['purchase_order']} says."
        f" Please send a corrected invoice{_or_credit(arguments)}"
        f" by {_day(arguments)}. Thank you, {COMPANY}"
    )


def _in_words(line: Arguments, currency: str) -> str:
    ordered = line.get("ordered_quantity", line["quantity"])
    return (
        f"line {line['line']} ({line['item']}) charges {line['quantity']} pieces at"
        f" {currency} {line['invoiced_unit_price']} each, ordered were {ordered}"
        f" at {currency} {line['ordered_unit_price']}"
    )


def _or_credit(arguments: Arguments) -> str:
    delta: str = arguments["amount_delta"]
    if not delta.startswith("-"):
        return ""
    return f", or a credit note over {arguments['currency']} {delta.lstrip('-')},"


def _brief_reason(arguments: Arguments) -> str:
    return f"Looks like a duplicate of {arguments['duplicate_of']}."


def _full_reason(arguments: Arguments) -> str:
    return (
        f"Same supplier ({arguments['supplier']['id']}), same purchase order"
        f" ({arguments['purchase_order']}), same items, quantities and prices as"
        f" {arguments['duplicate_of']}, which came first."
    )


def _day(arguments: Arguments) -> str:
    day = date.fromisoformat(arguments["reply_by"])
    return f"{day.day} {day:%B %Y}"


type _Wording = Callable[[Arguments], str]
_WORDINGS: dict[str, tuple[str, tuple[_Wording, ...]]] = {
    CORRECTION: ("message", (_brief_message, _full_message)),
    HOLD: ("reason", (_brief_reason, _full_reason)),
}
