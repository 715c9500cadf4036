"""The validation tool: is this a sound invoice, whatever it charges?

A failed check means that a comparison would prove nothing: the agent then asks for
no correction and leaves the invoice to a person.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from examples.invoice.documents import Invoice, Line, Order

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The tool's result; `failed` names the checks that did not hold."""

    status: Literal["passed", "failed"]
    checks: int
    failed: tuple[str, ...]


def validate(order: Order, invoice: Invoice) -> Validation:
    """Run every check on an invoice and the order it cites."""
    failed = tuple(name for name, holds in CHECKS.items() if not holds(order, invoice))
    status: Literal["passed", "failed"] = "failed" if failed else "passed"
    return Validation(status=status, checks=len(CHECKS), failed=failed)


def _lines_add_up(order: Order, invoice: Invoice) -> bool:
    return all(
        (line.quantity * line.unit_price).quantize(CENT) == line.amount
        for line in (*order.lines, *invoice.lines)
    )


def _totals_add_up(order: Order, invoice: Invoice) -> bool:
    return _sum(order.lines) == order.total and _sum(invoice.lines) == invoice.total


def _numbers_are_positive(order: Order, invoice: Invoice) -> bool:
    lines = (*order.lines, *invoice.lines)
    return all(line.quantity > 0 and line.unit_price >= 0 for line in lines)


def _cites_this_order(order: Order, invoice: Invoice) -> bool:
    return invoice.order_id == order.id and invoice.currency == order.currency


def _comes_from_the_seller(order: Order, invoice: Invoice) -> bool:
    # Name and address count too: a changed contact is how payments are diverted.
    return invoice.supplier == order.supplier


def _dates_follow(order: Order, invoice: Invoice) -> bool:
    return order.issued <= invoice.issued <= invoice.due


def _cites_each_line_once(order: Order, invoice: Invoice) -> bool:
    cited = [line.order_line for line in invoice.lines if line.order_line]
    numbers = [line.number for line in invoice.lines]
    ordered = [line.number for line in order.lines]
    return all(len(set(one)) == len(one) for one in (cited, numbers, ordered))


def _sum(lines: Iterable[Line]) -> Decimal:
    return sum((line.amount for line in lines), Decimal(0))


CHECKS: dict[str, Callable[[Order, Invoice], bool]] = {
    "lines_add_up": _lines_add_up,
    "totals_add_up": _totals_add_up,
    "numbers_are_positive": _numbers_are_positive,
    "cites_this_order": _cites_this_order,
    "comes_from_the_seller": _comes_from_the_seller,
    "dates_follow": _dates_follow,
    "cites_each_line_once": _cites_each_line_once,
}
