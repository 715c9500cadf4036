"""What differs is found, with the numbers; what agrees is not."""

from dataclasses import replace
from decimal import Decimal

import pytest

from examples.invoice.comparison import Comparison, Difference, compare, duplicate_of
from examples.invoice.documents import DocumentFolder
from examples.invoice.validation import CHECKS, validate


def compared(folder: DocumentFolder, invoice_id: str) -> Comparison:
    invoice = folder.invoice(invoice_id)
    return compare(folder.order(invoice.order_id), invoice)


def test_a_matching_pair_has_no_findings(folder: DocumentFolder) -> None:
    comparison = compared(folder, "INV-1039")
    assert (comparison.findings, comparison.amount_delta) == ((), 0)


def test_a_price_mismatch_is_found(folder: DocumentFolder) -> None:
    comparison = compared(folder, "INV-1042")
    (finding,) = comparison.findings
    assert (finding.line, finding.differences) == (2, (Difference.PRICE,))
    assert finding.ordered_unit_price == Decimal("62.00")
    assert finding.invoiced_unit_price == Decimal("93.00")
    assert comparison.amount_delta == Decimal("-1240.00")


def test_a_quantity_mismatch_is_found(folder: DocumentFolder) -> None:
    comparison = compared(folder, "INV-1047")
    (finding,) = comparison.findings
    assert finding.differences == (Difference.QUANTITY,)
    assert (finding.ordered_quantity, finding.invoiced_quantity) == (24, 28)
    assert comparison.amount_delta == Decimal("-756.00")


def test_the_one_wrong_line_of_400_is_found(folder: DocumentFolder) -> None:
    comparison = compared(folder, "INV-1050")
    assert [finding.line for finding in comparison.findings] == [317]
    assert comparison.amount_delta == Decimal("-75.00")


def test_a_line_that_was_not_ordered_is_found(folder: DocumentFolder) -> None:
    order, invoice = folder.order("PO-7731"), folder.invoice("INV-1042")
    extra = replace(invoice.lines[0], number=4, order_line=None)
    comparison = compare(order, replace(invoice, lines=(*invoice.lines, extra)))
    assert comparison.findings[-1].differences == (Difference.NOT_ORDERED,)
    assert comparison.findings[-1].amount_delta == Decimal("-3720.00")


def test_citing_a_line_about_another_item_is_no_match(folder: DocumentFolder) -> None:
    order, invoice = folder.order("PO-7731"), folder.invoice("INV-1042")
    lying = replace(invoice.lines[1], order_line=3)
    comparison = compare(order, replace(invoice, lines=(lying,)))
    assert comparison.findings[0].differences == (Difference.NOT_ORDERED,)


@pytest.mark.parametrize(
    ("invoice_id", "expected"),
    [("INV-1044", "INV-1039"), ("INV-1039", None), ("INV-1042", None)],
)
def test_a_duplicate_is_the_later_one(
    folder: DocumentFolder, invoice_id: str, expected: str | None
) -> None:
    invoice = folder.invoice(invoice_id)
    assert duplicate_of(invoice, folder.invoices_before(invoice)) == expected


def test_another_supplier_quantity_or_order_makes_no_duplicate(
    folder: DocumentFolder,
) -> None:
    first, second = folder.invoice("INV-1039"), folder.invoice("INV-1044")
    line = replace(first.lines[0], quantity=first.lines[0].quantity + 1)
    for other in (
        replace(first, supplier=replace(first.supplier, id="SUP-9")),
        replace(first, order_id="PO-1"),
        replace(first, lines=(line, *first.lines[1:])),
    ):
        assert duplicate_of(second, [other]) is None
    shuffled = replace(first, lines=first.lines[::-1])
    assert duplicate_of(second, [shuffled]) == "INV-1039"


@pytest.mark.parametrize(
    "invoice_id", ["INV-1039", "INV-1042", "INV-1044", "INV-1047", "INV-1050"]
)
def test_validation_passes_what_is_sound(
    folder: DocumentFolder, invoice_id: str
) -> None:
    invoice = folder.invoice(invoice_id)
    validation = validate(folder.order(invoice.order_id), invoice)
    assert (validation.status, validation.failed) == ("passed", ())


@pytest.mark.parametrize("check", CHECKS)
def test_each_check_can_fail_alone(folder: DocumentFolder, check: str) -> None:
    order, invoice = folder.order("PO-7731"), folder.invoice("INV-1042")
    first, *others = invoice.lines
    broken = {
        "lines_add_up": (
            order,
            replace(
                invoice, lines=(replace(first, unit_price=Decimal("3.11")), *others)
            ),
        ),
        "totals_add_up": (order, replace(invoice, total=Decimal("8550.01"))),
        "numbers_are_positive": (
            order,
            replace(
                invoice,
                lines=(
                    replace(first, quantity=-first.quantity, amount=-first.amount),
                    *others,
                ),
                total=invoice.total - 2 * first.amount,
            ),
        ),
        "cites_this_order": (order, replace(invoice, order_id="PO-7732")),
        "comes_from_the_seller": (
            order,
            replace(invoice, supplier=replace(invoice.supplier, email="a@b.example")),
        ),
        "dates_follow": (order, replace(invoice, due=order.issued)),
        "cites_each_line_once": (
            order,
            replace(invoice, lines=(replace(first, order_line=2), *others)),
        ),
    }
    assert validate(*broken[check]).failed == (check,)
