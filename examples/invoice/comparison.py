"""Compare an invoice with the order it cites. Pure: values in, findings out."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from examples.invoice.documents import Invoice, Line, Order

NOTHING = Decimal(0)


class Difference(StrEnum):
    """How an invoice line departs from the order."""

    PRICE = "price"
    QUANTITY = "quantity"
    NOT_ORDERED = "not_ordered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One invoice line that differs, with what was ordered in its place.

    `amount_delta` is ordered minus invoiced: negative when too much was charged.
    """

    line: int
    item: str
    differences: tuple[Difference, ...]
    invoiced_quantity: Decimal
    ordered_quantity: Decimal
    invoiced_unit_price: Decimal
    ordered_unit_price: Decimal

    @property
    def amount_delta(self) -> Decimal:
        ordered = self.ordered_quantity * self.ordered_unit_price
        return ordered - self.invoiced_quantity * self.invoiced_unit_price


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the comparison of two documents found."""

    order_id: str
    invoice_id: str
    lines: int
    ordered_total: Decimal
    invoiced_total: Decimal
    findings: tuple[Finding, ...]

    @property
    def amount_delta(self) -> Decimal:
        return sum((finding.amount_delta for finding in self.findings), NOTHING)


def compare(order: Order, invoice: Invoice) -> Comparison:
    """Put each invoice line beside the order line it cites."""
    ordered = {line.number: line for line in order.lines}
    found = (_finding(line, _ordered(line, ordered)) for line in invoice.lines)
    return Comparison(
        order_id=order.id,
        invoice_id=invoice.id,
        lines=len(invoice.lines),
        ordered_total=order.total,
        invoiced_total=invoice.total,
        findings=tuple(finding for finding in found if finding.differences),
    )


def duplicate_of(invoice: Invoice, earlier: Iterable[Invoice]) -> str | None:
    """The id of the first earlier invoice that charges for the same delivery.

    The number does not count: a duplicate that came in by accident has a new one.
    """
    charged = _charge(invoice)
    return next((one.id for one in earlier if _charge(one) == charged), None)


def _charge(invoice: Invoice) -> object:
    lines = Counter(
        (line.item_id, line.quantity, line.unit_price) for line in invoice.lines
    )
    return invoice.supplier.id, invoice.order_id, invoice.currency, lines


def _ordered(line: Line, ordered: Mapping[int, Line]) -> Line | None:
    match = ordered.get(line.order_line) if line.order_line else None
    # A cited line about something else is no match: it would compare pears to apples.
    return match if match and match.item_id == line.item_id else None


def _finding(invoiced: Line, ordered: Line | None) -> Finding:
    return Finding(
        line=invoiced.number,
        # Our own order's words where there are any: the invoice's are a stranger's.
        item=(ordered or invoiced).description,
        differences=_differences(invoiced, ordered),
        invoiced_quantity=invoiced.quantity,
        ordered_quantity=ordered.quantity if ordered else NOTHING,
        invoiced_unit_price=invoiced.unit_price,
        ordered_unit_price=ordered.unit_price if ordered else NOTHING,
    )


def _differences(invoiced: Line, ordered: Line | None) -> tuple[Difference, ...]:
    if ordered is None:
        return (Difference.NOT_ORDERED,)
    differs = {
        Difference.PRICE: invoiced.unit_price != ordered.unit_price,
        Difference.QUANTITY: invoiced.quantity != ordered.quantity,
    }
    return tuple(difference for difference, found in differs.items() if found)
